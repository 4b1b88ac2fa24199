"""Who may do less than before is cut off: streams of theirs end at once, in words; others' go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from openboxd.api import server
from openboxd.api.calls import Calls
from openboxd.api.door import Context
from openboxd.api.ports import NewMachine, Service
from openboxd.control import accounts
from openboxd.model import MIB, Caller
from openboxd.wire import openboxd_host_pb2 as host_pb
from openboxd.wire.openboxd_host_pb2_grpc import HostStub
from tests.worker.world import LIMIT, OWNER, World


@dataclass
class Shared:
    """Machine `web`, shared with organization `team`, in which bob is; and both users' keys."""

    world: World
    host: Any
    keys: dict[str, str]

    async def watching(self, who: str = "", host: Any = None) -> asyncio.Task[str]:
        """Watch the machine; the task ends with what the stream ended with. It is under way when this returns."""
        metadata = (("authorization", f"Bearer {self.keys[who]}"),) if who else ()
        call = (host or self.host).WatchMachine(host_pb.WatchMachineRequest(ref="web"), metadata=metadata)
        seen = asyncio.Event()

        async def watch() -> str:
            try:
                async for _ in call:
                    seen.set()
            except grpc.aio.AioRpcError as error:
                return f"{error.code().name}: {error.details()}"
            return "ended"

        task = asyncio.create_task(watch())
        async with asyncio.timeout(LIMIT):
            while not seen.is_set():
                await self.world.control.reboot_machine(OWNER, "web")
        return task

    @asynccontextmanager
    async def speaking(self, name: str, who: str) -> AsyncIterator[Any]:
        """The service as a new machine of this user's reaches it, from inside."""
        owner = self.world.control.authenticate(self.keys[who])
        new = NewMachine(name, vcpu=1, memory_bytes=512 * MIB)
        machine = await self.world.control.create_machine(owner, new)

        async def admit(service: Service, context: Context) -> Caller:
            return Caller(owner.user_id, "", machine.id)

        calls, socket = Calls(), f"unix:{self.world.home}/{name}.sock"
        self.world.control.on_revoked(calls.revoke)
        listening = server.build_server(self.world.control, calls, admit)
        listening.add_insecure_port(socket)
        await listening.start()
        try:
            async with grpc.aio.insecure_channel(socket) as channel:
                yield HostStub(channel)
        finally:
            await listening.stop(0)


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Shared]:
    world, key = World(tmp_path), accounts.new_key()
    control = await world.start()
    await accounts.add_api_key(world.store, OWNER.user_id, "owner", key)
    _, bobs = await control.add_user(OWNER, "bob")
    await control.create_org(OWNER, "team")
    _, token = await control.invite(OWNER, "team", "bob", "member")
    await control.accept_invite(control.authenticate(bobs), token)
    await world.image()
    await control.create_machine(OWNER, NewMachine("web", vcpu=1, memory_bytes=512 * MIB, org="team", shared=True))
    await world.settled("web")
    async with server.serve(control, "127.0.0.1:0") as address, grpc.aio.insecure_channel(address) as channel:
        yield Shared(world, HostStub(channel), {"ada": key, "bob": bobs})
    await world.close()


async def test_a_machine_is_not_shared_any_more(shared: Shared) -> None:
    bob, ada = await shared.watching("bob"), await shared.watching("ada")
    await shared.world.control.unshare(OWNER, "web")
    async with asyncio.timeout(LIMIT):
        assert await bob == "ABORTED: WatchMachine was ended: machine 'web' is not shared any more"
    assert not ada.done()
    ada.cancel()


async def test_a_member_was_removed(shared: Shared) -> None:
    bob = await shared.watching("bob")
    await shared.world.control.remove_member(OWNER, "team", "bob")
    async with asyncio.timeout(LIMIT):
        assert await bob == "ABORTED: WatchMachine was ended: its user left organization 'team'"


async def test_a_user_was_removed(shared: Shared) -> None:
    bob = await shared.watching("bob")
    await shared.world.control.remove_user(OWNER, "bob", machines=False)
    async with asyncio.timeout(LIMIT):
        assert await bob == "ABORTED: WatchMachine was ended: user 'bob' was removed"


async def test_a_machine_that_speaks_is_cut_off_with_its_user(shared: Shared) -> None:
    """No key came with its calls, and they reach what its owner may reach."""
    async with shared.speaking("bobs", "bob") as inside:
        watching = await shared.watching(host=inside)
        await shared.world.control.unshare(OWNER, "web")
        async with asyncio.timeout(LIMIT):
            assert await watching == "ABORTED: WatchMachine was ended: machine 'web' is not shared any more"


async def test_an_organization_was_removed(shared: Shared) -> None:
    bob = await shared.watching("bob")
    await shared.world.control.remove_org(OWNER, "team")
    async with asyncio.timeout(LIMIT):
        assert await bob == "ABORTED: WatchMachine was ended: organization 'team' was removed"


async def test_the_owner_of_a_shared_machine_left(shared: Shared) -> None:
    """Whoever stays may not use it any more."""
    await shared.world.control.set_member_role(OWNER, "team", "bob", "owner")
    bob = await shared.watching("bob")
    await shared.world.control.remove_member(OWNER, "team", "")
    async with asyncio.timeout(LIMIT):
        assert await bob == "ABORTED: WatchMachine was ended: machine 'web' is not shared any more"
