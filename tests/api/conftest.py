"""A real server over the fake service, and a plain gRPC channel to it (not our client)."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest

from openboxd.api.server import serve
from openboxd.api.tls import kept_tls
from openboxd.host.ca import open_authority
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from openboxd.wire.openboxd_host_pb2_grpc import HostStub
from tests.fakes.service import KEY, FakeService
from tests.fakes.service_accounts import open_service
from tests.lab import locked

SDK = "boxd==0.2.19"


@pytest.fixture
async def service(tmp_path):
    fake = FakeService(tmp_path / "fake")
    yield fake
    await fake.close()


@pytest.fixture
async def address(service):
    async with serve(service, "127.0.0.1:0") as bound:
        yield bound


class WithKey:
    """A stub whose every call carries the key."""

    def __init__(self, stub) -> None:
        self._stub = stub

    def __getattr__(self, name):
        call = getattr(self._stub, name)
        return lambda request, **options: call(request, metadata=(("authorization", f"Bearer {KEY}"),), **options)


@pytest.fixture
async def api(address):
    options = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        yield SimpleNamespace(
            channel=channel,
            bare=BoxdApiStub(channel),
            boxd=WithKey(BoxdApiStub(channel)),
            host=WithKey(HostStub(channel)),
        )


@pytest.fixture
async def web(api, service):
    """A machine named web that runs."""
    created = await api.boxd.CreateVm(pb.CreateVmRequest(name="web", restart_policy="always"))
    await service.until(lambda: service.machine(None, "web").status == "running")
    return created


@pytest.fixture
async def keyed(tmp_path):
    """A service with real accounts: keys and tokens come and go."""
    opened = await open_service(tmp_path / "keyed")
    yield opened
    await opened.close()


@pytest.fixture
def authority(tmp_path):
    return open_authority(tmp_path / "tls")


@pytest.fixture
async def both(keyed, authority):
    """A server for plain connections and TLS: its address, and what a client needs to trust it."""
    leaf = authority.issue("server", ["localhost", "127.0.0.1"])
    async with kept_tls(lambda: (leaf, leaf)) as tls, serve(keyed, "127.0.0.1:0", tls=tls) as bound:
        trust = ssl.create_default_context(cafile=authority.root)
        yield SimpleNamespace(address=bound, trust=trust, root=authority.root.read_bytes())


@pytest.fixture(scope="session")
def sdk_python() -> Path:
    """The Python of a virtual environment that has the published SDK; made once and kept between runs."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "boxd-test/sdk-venv"
    python = home / "bin/python"
    ready = home / f"has-{SDK}"
    with locked(home.with_suffix(".lock")):  # another run may be making it
        if not ready.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", SDK], check=True)
            ready.touch()
    return python
