"""Bytes that are no message: refused in words, after the caller is known, and without a traceback in the log."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import grpc
import pytest

from openboxd.api.server import serve
from tests.fakes.service import FakeService

RUBBISH = b"\xff\xff"
CALLS = {
    "GetVm": "unary_unary",
    "Exec": "stream_stream",
    "UploadFileStream": "stream_unary",
    "DownloadFileStream": "unary_stream",
}


async def sent(channel: grpc.aio.Channel, name: str, key: str) -> tuple[grpc.StatusCode, str]:
    """The refusal of a call whose request is rubbish."""

    async def chunks() -> AsyncIterator[bytes]:
        yield RUBBISH

    call = getattr(channel, CALLS[name])(f"/boxd.api.v1.BoxdApi/{name}")
    request = chunks() if name in ("Exec", "UploadFileStream") else RUBBISH
    started = call(request, metadata=(("authorization", f"Bearer {key}"),), timeout=10)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        if hasattr(started, "__aiter__"):
            async for _ in started:
                pass
        else:
            await started
    return error.value.code(), error.value.details() or ""


@pytest.mark.parametrize("name", CALLS)
async def test_rubbish_is_refused_in_words(service: FakeService, name: str, caplog: pytest.LogCaptureFixture) -> None:
    async with serve(service, "127.0.0.1:0") as address, grpc.aio.insecure_channel(address) as channel:
        with caplog.at_level(logging.WARNING):
            code, text = await sent(channel, name, service.key)
            assert (code, text) == (
                grpc.StatusCode.INVALID_ARGUMENT,
                f"what was sent is not a request of {name}; nothing was done",
            )
            code, _ = await sent(channel, name, "bxd_nobody")
            assert code is grpc.StatusCode.UNAUTHENTICATED
        assert not [record for record in caplog.records if record.exc_info], "a traceback was logged"
