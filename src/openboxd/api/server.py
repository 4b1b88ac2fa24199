"""The gRPC server, and the front before it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import grpc
from grpc_reflection.v1alpha import reflection

from openboxd.api import (
    account,
    changes,
    checkpoints,
    domains,
    exec,
    files,
    host,
    logs,
    machines,
    orgs,
    reach,
    routes,
    sleep,
    snapshots,
    usage,
    users,
)
from openboxd.api.calls import Calls
from openboxd.api.door import MESSAGE_LIMIT, Admit, Method, handlers, with_key
from openboxd.api.exchange import Exchange
from openboxd.api.front import Front, listen
from openboxd.api.inside import OPTIONS as INSIDE_OPTIONS
from openboxd.api.inside import Inside
from openboxd.api.ports import Service
from openboxd.api.tls import Tls
from openboxd.host.files import make_directory, remove
from openboxd.wire import boxd_api_pb2, openboxd_host_pb2

BOXD_API = boxd_api_pb2.DESCRIPTOR.services_by_name["BoxdApi"]
HOST = openboxd_host_pb2.DESCRIPTOR.services_by_name["Host"]

METHODS: dict[str, Method] = {
    **machines.METHODS,
    **changes.METHODS,
    **sleep.METHODS,
    **logs.METHODS,
    **routes.METHODS,
    **domains.METHODS,
    **reach.METHODS,
    **checkpoints.METHODS,
    **snapshots.METHODS,
    **exec.METHODS,
    **files.METHODS,
    **account.METHODS,
    **orgs.METHODS,
    **usage.METHODS,
}

HOST_METHODS: dict[str, Method] = {**host.METHODS, **orgs.HOST_METHODS, **users.HOST_METHODS}

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
)

GRACE = 2.0
"""Seconds that calls under way get when the server stops. Execs are the long ones, and they end with the daemon."""

FAREWELL = 0.5
"""Seconds for clients to take the last answers off their connections."""

SOCKET = "api.sock"


@asynccontextmanager
async def serve(
    service: Service, address: str, run_dir: Path | None = None, tls: Tls | None = None, metrics: str = "loopback"
) -> AsyncIterator[str]:
    """Serve gRPC and the exchange of keys at host:port while the block runs; its value is the address listened on.

    The gRPC server itself listens in `run_dir`, a short path, where only this user gets. Without `tls` only plain
    connections are taken. `metrics` tells who may read /metrics: "loopback", "any" or "off".

    Raises:
        HostUnfit: the address cannot be had.
    """
    listener = listen(address)
    bound = f"{address.rpartition(':')[0]}:{listener.getsockname()[1]}"
    with listener, _private(run_dir) as directory:
        front = Front(listener, directory / SOCKET, Exchange(service, metrics=metrics), tls)
        async with _backend(service, directory / SOCKET):
            accepting = asyncio.create_task(front.accept(), name="front")
            try:
                yield bound
            finally:
                accepting.cancel()
                await asyncio.wait([accepting])
                listener.close()
        await front.close(FAREWELL)


@asynccontextmanager
async def _backend(service: Service, path: Path) -> AsyncIterator[None]:
    """The gRPC server at a UNIX socket. Connections to it are served until every call has had its answer."""
    calls = Calls()
    service.on_revoked(calls.revoke)
    server = build_server(service, calls)
    remove(path)
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield
    finally:
        await calls.stop(GRACE)
        await server.stop(GRACE)


@asynccontextmanager
async def serve_inside(service: Service, run_dir: Path, guards: Path | None = None) -> AsyncIterator[Inside]:
    """Serve what comes from inside machines while the block runs; the value takes their visits.

    `guards` is where it is noted which guards are under way: in `run_dir`, unless that is to outlive the host's boot.
    """
    make_directory(run_dir)
    inside = Inside(service, run_dir, guards or run_dir / "guards")
    async with inside.serving(lambda calls: build_server(service, calls, inside.admit, INSIDE_OPTIONS)):
        yield inside


@contextmanager
def _private(run_dir: Path | None) -> Iterator[Path]:
    """The directory of the socket: the daemon's, or one of our own for as long as we serve."""
    if run_dir is None:
        with tempfile.TemporaryDirectory(prefix="boxd-") as made:
            yield Path(made)
    else:
        make_directory(run_dir)
        yield run_dir


def build_server(
    service: Service, calls: Calls, admit: Admit = with_key, options: Sequence[tuple[str, int]] = OPTIONS
) -> grpc.aio.Server:
    """A server that listens nowhere yet; needs a running event loop."""
    server = grpc.aio.server(options=options)
    server.add_generic_rpc_handlers(
        (
            handlers(service, BOXD_API, METHODS, calls, admit),
            handlers(service, HOST, HOST_METHODS, calls, admit),
        ),
    )
    reflection.enable_server_reflection((BOXD_API.full_name, HOST.full_name, reflection.SERVICE_NAME), server)
    return server
