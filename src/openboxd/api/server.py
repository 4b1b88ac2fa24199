"""The gRPC server. Where it listens is settled apart from what it serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from grpc_reflection.v1alpha import reflection

from openboxd.api import account, changes, checkpoints, exec, files, host, logs, machines
from openboxd.api.door import MESSAGE_LIMIT, Method, handlers
from openboxd.api.ports import Service
from openboxd.errors import HostUnfit
from openboxd.wire import boxd_api_pb2, openboxd_host_pb2

BOXD_API = boxd_api_pb2.DESCRIPTOR.services_by_name["BoxdApi"]
HOST = openboxd_host_pb2.DESCRIPTOR.services_by_name["Host"]

METHODS: dict[str, Method] = {
    **machines.METHODS,
    **changes.METHODS,
    **logs.METHODS,
    **checkpoints.METHODS,
    **exec.METHODS,
    **files.METHODS,
    **account.METHODS,
}

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    # Without this two daemons could hold the same port, each answering some of the calls.
    ("grpc.so_reuseport", 0),
)

GRACE = 2.0
"""Seconds that calls under way get when the server stops. Execs are the long ones, and they end with the daemon."""


def build_server(service: Service) -> grpc.aio.Server:
    """A server that listens nowhere yet; needs a running event loop."""
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers(
        (handlers(service, BOXD_API, METHODS), handlers(service, HOST, host.METHODS)),
    )
    reflection.enable_server_reflection((BOXD_API.full_name, HOST.full_name, reflection.SERVICE_NAME), server)
    return server


def listen(server: grpc.aio.Server, address: str) -> str:
    """Listen for plain HTTP/2 at host:port; the address with the port that was really taken.

    Raises:
        HostUnfit: the address cannot be had.
    """
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        raise HostUnfit(
            f"cannot listen on {address}: it is in use or not an address of this host; "
            "stop the other daemon or choose another one with --listen"
        ) from None
    return f"{address.rpartition(':')[0]}:{port}"


@asynccontextmanager
async def serve(service: Service, address: str) -> AsyncIterator[str]:
    """Serve while the block runs; its value is the address listened on."""
    server = build_server(service)
    bound = listen(server, address)
    await server.start()
    try:
        yield bound
    finally:
        await server.stop(GRACE)
