"""What clients that do nothing cost the server, which is a process of its own here."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest

from openboxd.host.ca import open_authority
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.api.conftest import WithKey
from tests.api.sockets import LIMIT, connect, until

CONNECTIONS = 200
MOST = 50 << 20

SERVER = """
import asyncio, sys
from pathlib import Path
from openboxd.api.server import serve
from openboxd.api.tls import kept_tls
from openboxd.host.ca import open_authority
from tests.fakes.service_accounts import open_service

async def main():
    root = Path(sys.argv[1])
    leaf = open_authority(root / "tls").issue("server", ["localhost", "127.0.0.1"])
    service = await open_service(root / "fake")
    async with kept_tls(lambda: (leaf, leaf)) as tls, serve(service, "127.0.0.1:0", tls=tls) as address:
        print(address, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await service.close()

asyncio.run(main())
"""


@pytest.fixture
async def server(tmp_path):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SERVER,
        tmp_path,
        cwd=Path(__file__).parents[2],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    address = (await asyncio.wait_for(process.stdout.readline(), LIMIT)).decode().strip()
    yield process.pid, address
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), LIMIT) == 0


def resident(pid: int) -> int:
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) << 10


def channel(address, root, number):
    # Without a pool of its own a channel would share the connection of the others.
    options = [("grpc.use_local_subchannel_pool", 1), ("test", number)]
    if root is None:
        return grpc.aio.insecure_channel(address, options)
    return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(root), options)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_two_hundred_idle_clients(server, tmp_path, tls):
    pid, address = server
    root = open_authority(tmp_path / "tls").root.read_bytes() if tls else None
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(channel(address, root, -1))
        await WithKey(BoxdApiStub(first)).Whoami(pb.WhoamiRequest())
        before = resident(pid)
        for number in range(CONNECTIONS):
            opened = await stack.enter_async_context(channel(address, root, number))
            await WithKey(BoxdApiStub(opened)).Whoami(pb.WhoamiRequest())
        cost = resident(pid) - before
        print(f"{CONNECTIONS} idle clients cost {cost / 2**20:.1f} MiB")
        assert cost < MOST


async def test_two_hundred_connections_that_say_nothing(server):
    pid, address = server
    before = resident(pid)
    opened = [await connect(address) for _ in range(CONNECTIONS)]
    await until(lambda: len(list(Path(f"/proc/{pid}/fd").iterdir())) > CONNECTIONS)
    print(f"{CONNECTIONS} silent connections cost {(resident(pid) - before) / 2**20:.1f} MiB")
    assert resident(pid) - before < MOST
    for _, writer in opened:
        writer.close()
        await writer.wait_closed()
