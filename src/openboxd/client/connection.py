"""The connection to a daemon: it is made before the first call, so that "not there" is told apart from "refused"."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from openboxd.client.endpoint import Endpoint
from openboxd.client.errors import error_of, unreachable

M = TypeVar("M", bound=Message)

BOXD_API = "/boxd.api.v1.BoxdApi/"
HOST = "/openboxd.v1.Host/"

MESSAGE_LIMIT = 64 * 1024 * 1024
CONNECT_LIMIT = 10.0
"""Seconds until a host that neither accepts nor refuses counts as absent."""

CALL_LIMIT = 60.0
"""Seconds for a call that only looks something up or admits work."""


class Connection:
    """Calls by path and message type; every failure is an error of `openboxd.errors`."""

    def __init__(self, endpoint: Endpoint, channel: grpc.aio.Channel) -> None:
        self.url = endpoint.address.url
        self._channel = channel
        self._metadata = (("authorization", f"Bearer {endpoint.token}"),) if endpoint.token else ()

    async def unary(self, path: str, request: Message, answer: type[M], timeout: float | None = CALL_LIMIT) -> M:
        """One request, one answer."""
        call = self._channel.unary_unary(path, _serialize, answer.FromString)
        with self.translated():
            result: M = await call(request, timeout=timeout, metadata=self._metadata)
            return result

    async def stream(self, path: str, request: Message, answer: type[M]) -> AsyncIterator[M]:
        """One request, many answers. Closing the iterator hangs up."""
        call = self._channel.unary_stream(path, _serialize, answer.FromString)(request, metadata=self._metadata)
        try:
            with self.translated():
                async for item in call:
                    yield item
        finally:
            call.cancel()

    async def upload(self, path: str, requests: AsyncIterator[Message], answer: type[M]) -> M:
        """Many requests, one answer."""
        call = self._channel.stream_unary(path, _serialize, answer.FromString)
        with self.translated():
            result: M = await call(requests, metadata=self._metadata)
            return result

    def duplex(self, path: str, answer: type[M]) -> grpc.aio.StreamStreamCall[Any, M]:
        """Many both ways: the raw call, to be used inside `translated`."""
        call = self._channel.stream_stream(path, _serialize, answer.FromString)
        return call(None, metadata=self._metadata)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn gRPC's errors into ours."""
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise error_of(error, self.url) from None


@asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[Connection]:
    """A connection that stands, closed afterwards with everything that still runs on it.

    Raises:
        Unavailable: nothing answers at the address.
    """
    async with _channel(endpoint) as channel:
        try:
            await asyncio.wait_for(_until_ready(channel), CONNECT_LIMIT)
        except (TimeoutError, ConnectionError):
            raise unreachable(endpoint.address.url) from None
        yield Connection(endpoint, channel)


def _channel(endpoint: Endpoint) -> grpc.aio.Channel:
    address = endpoint.address
    options = [
        ("grpc.max_receive_message_length", MESSAGE_LIMIT),
        ("grpc.max_send_message_length", MESSAGE_LIMIT),
        # Who waits for a daemon that is started anew learns soon that it is there.
        ("grpc.initial_reconnect_backoff_ms", 500),
        ("grpc.max_reconnect_backoff_ms", 1000),
        # A proxy of the environment cannot reach the loopback of this host.
        ("grpc.enable_http_proxy", 0 if address.loopback else 1),
    ]
    if address.tls:
        return grpc.aio.secure_channel(address.target, grpc.ssl_channel_credentials(), options=options)
    return grpc.aio.insecure_channel(address.target, options=options)


async def _until_ready(channel: grpc.aio.Channel) -> None:
    """Wait for the connection; a refusal ends it at once instead of after gRPC's retries."""
    state = channel.get_state(try_to_connect=True)
    while state is not grpc.ChannelConnectivity.READY:
        if state in (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN):
            raise ConnectionError
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
