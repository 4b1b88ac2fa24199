"""A client that vanishes at any byte of what it has to say: afterwards all is as if it had not come, or as if it had
stayed, and nothing of it is left.

Real conversations of our client with the real API server, over fake guests, are recorded; then each is said again up
to every single byte, where the connection ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from openboxd.api.server import serve
from openboxd.client.client import Client, open_client
from openboxd.client.endpoint import Endpoint, parse_url
from openboxd.control.accounts import create_owner
from openboxd.errors import BoxdError
from openboxd.model import CheckpointStatus, ExecRequest, MachineStatus
from tests.worker.world import LIMIT, OWNER, World

LAST = 100
"""Bytes at the end of what is said after which a client also stays for a moment: the request is under way there."""

STAY = 0.04
"""Seconds, at most: about as long as an operation takes here."""

KEY = "bxd_" + "k" * 40

CONTENT = b"the new content of a file"
AS_BEFORE = "new\nold"
"""What `get v; read file` prints in the guest."""

Conversation = Callable[[Client], Awaitable[object]]


async def _save(client: Client) -> None:
    await client.save("web", "cut")
    await client.checkpoint_done("web", "cut")


async def _exec(client: Client) -> None:
    execution = await client.exec("web", ExecRequest("cat"))
    await execution.write(b"something")
    await execution.write_eof()
    async for _ in execution.output():
        pass


async def _upload(client: Client) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield CONTENT[:10]
        yield CONTENT[10:]

    await client.upload("web", "file", len(CONTENT), content())


CONVERSATIONS: dict[str, Conversation] = {
    "save": _save,
    "restore": lambda client: client.restore("web", "good"),
    "remove": lambda client: client.remove_checkpoint("web", "spare"),
    "exec": _exec,
    "upload": _upload,
}


@contextlib.asynccontextmanager
async def recorder(address: str, said: bytearray) -> AsyncIterator[str]:
    """An address behind which the server is; what one client says is kept."""
    host, _, port = address.rpartition(":")

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, keep: bytearray | None) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if keep is not None:
                    keep += data
                writer.write(data)
                await writer.drain()
        writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = await asyncio.open_connection(host, int(port))
        await asyncio.gather(copy(reader, server[1], said), copy(server[0], writer, None))

    relaying = await asyncio.start_server(relay, "127.0.0.1", 0)
    async with relaying:
        yield f"127.0.0.1:{relaying.sockets[0].getsockname()[1]}"


async def say(address: str, words: bytes, stay: float = 0.0) -> None:
    """Say `words`, stay for some seconds, and hang up; returns when the server has heard all and hung up as well."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    with contextlib.suppress(ConnectionError):
        writer.write(words)
        await asyncio.sleep(stay)  # the moment is arbitrary on purpose: whatever it hits must end well
        writer.write_eof()
        async with asyncio.timeout(LIMIT):
            await reader.read()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


class Listening:
    """A world with its API: machine `web` with checkpoints `good` (v=old) and `spare`, and v=new now."""

    def __init__(self, world: World, address: str) -> None:
        self.world, self.address = world, address

    async def record(self, conversation: Conversation) -> bytes:
        """What a client says in a conversation that is carried to its end."""
        said = bytearray()
        async with (
            recorder(self.address, said) as address,
            open_client(Endpoint(parse_url(f"http://{address}"), KEY)) as client,
        ):
            await conversation(client)
        return bytes(said)

    async def in_order(self, told: object) -> bool:
        """As before, or as after, which is what it tells; then made as before."""
        world = self.world
        machine = await world.settled()
        assert machine.status is MachineStatus.RUNNING, told
        assert world.leftovers() == [], told
        found = {view.checkpoint.name: view.checkpoint for view in await world.control.checkpoints(OWNER, "web")}
        assert {each.status for each in found.values()} == {CheckpointStatus.READY}, told
        assert {"good"} <= found.keys() <= {"good", "spare", "cut"}, told
        state = await world.sh("get v; read file")
        assert state in (AS_BEFORE, "old\nold", f"new\n{CONTENT.decode()}"), told
        if state != AS_BEFORE:
            await world.sh("set v new; write file old")
        if "cut" in found:
            await world.control.remove_checkpoint(OWNER, "web", "cut")
        if "spare" not in found:
            await world.save("spare")
        return state != AS_BEFORE or found.keys() != {"good", "spare"}

    def counts(self) -> dict[str, int]:
        """What a vanished client could leave in this process."""
        gc.collect()
        return {
            "descriptors": len(list(Path("/proc/self/fd").iterdir())),
            "tasks": len(asyncio.all_tasks()),
            "watchers": len(self.world.control.team.worker(self.world.control.machine(OWNER, "web").id).watchers),
            "processes": len(self.world.host.alive()),
        }


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[Listening]:
    world = World(tmp_path / "home")
    control = await world.start()
    await create_owner(world.store, "ada", KEY)
    await world.machine()
    await world.sh("set v old; write file old")
    await world.save("good")
    await world.sh("set v new")
    await world.save("spare")
    async with serve(control, "127.0.0.1:0") as address:
        yield Listening(world, address)
    await world.close()


async def _settled_counts(listening: Listening, wanted: dict[str, int]) -> dict[str, int]:
    """The counts, once they are not above `wanted` any more: the server ends what is cut a moment later."""
    for _ in range(int(LIMIT / 0.05)):
        found = listening.counts()
        if all(found[name] <= wanted[name] for name in wanted):
            break
        await asyncio.sleep(0.05)
    return found


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_at_every_byte(listening: Listening, name: str) -> None:
    before = listening.counts()
    words = await listening.record(CONVERSATIONS[name])
    assert await listening.in_order("after the recording") == (name != "exec")
    done = 0
    for length in range(len(words)):
        await say(listening.address, words[:length])
        done += await listening.in_order((name, length))
    for length in range(len(words) - LAST, len(words)):
        await say(listening.address, words[:length], random.uniform(0, STAY))
        done += await listening.in_order((name, length, "later"))
    assert done > 0 or name == "exec", "none of what was cut came as far as the operation"
    after = await _settled_counts(listening, before)
    print(f"{name}: cut at {len(words)} bytes, carried out {done} times; {before}, {after}")
    assert all(after[key] <= before[key] for key in before), (before, after)
    with contextlib.suppress(BoxdError):
        await listening.record(CONVERSATIONS[name])  # the next client is served
    await listening.in_order("at the end")
