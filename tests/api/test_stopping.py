"""What calls under way hear when the server stops: never that nothing was applied, if something may have been."""

from __future__ import annotations

import asyncio
import contextlib
import time

import grpc
import pytest

from openboxd.api import server
from openboxd.api.server import serve
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.api.conftest import WithKey
from tests.api.sockets import LIMIT, until


async def failure(call) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await asyncio.wait_for(call, LIMIT)
    return failed.value


async def test_calls_under_way_are_ended_in_words(service, monkeypatch):
    monkeypatch.setattr(server, "GRACE", 0.7)
    stack = contextlib.AsyncExitStack()
    address = await stack.enter_async_context(serve(service, "127.0.0.1:0"))
    async with grpc.aio.insecure_channel(address) as channel:
        api = WithKey(BoxdApiStub(channel))
        await api.CreateVm(pb.CreateVmRequest(name="web", restart_policy="always"))
        await service.until(lambda: service.machine(None, "web").status == "running")
        stream = api.Exec(None)
        await stream.write(pb.ExecChunk(vm_id="web", command="echo there; sleep 1000"))
        assert (await anext(aiter(stream))).data == b"there\n"
        reading = asyncio.ensure_future(anext(aiter(stream)))
        service.boot.clear()
        reboot = asyncio.ensure_future(api.RebootVm(pb.RebootVmRequest(vm_id="web")))
        await service.until(lambda: service.machine(None, "web").status == "starting")
        began = time.monotonic()
        stopping = asyncio.create_task(stack.aclose())
        late = await failure(_until_refused(api))
        assert late.code() is grpc.StatusCode.UNAVAILABLE, "it was never begun and may be repeated"
        assert "nothing was done" in late.details()
        single, streaming = await failure(reboot), await failure(reading)
        assert (single.code(), streaming.code()) == (grpc.StatusCode.INTERNAL, grpc.StatusCode.ABORTED)
        assert "whether it takes effect is unknown" in single.details()
        assert "boxd stops" in streaming.details()
        await stopping
        print(f"stopped after {time.monotonic() - began:.1f} s")
    await until(lambda: service.sessions[-1].cancelled.is_set())


async def _until_refused(api) -> None:
    while True:
        await api.Whoami(pb.WhoamiRequest())


async def test_a_call_that_ends_within_the_grace_gets_its_answer(service):
    stack = contextlib.AsyncExitStack()
    address = await stack.enter_async_context(serve(service, "127.0.0.1:0"))
    async with grpc.aio.insecure_channel(address) as channel:
        api = WithKey(BoxdApiStub(channel))
        await api.CreateVm(pb.CreateVmRequest(name="web", restart_policy="always"))
        await service.until(lambda: service.machine(None, "web").status == "running")
        service.boot.clear()
        reboot = asyncio.ensure_future(api.RebootVm(pb.RebootVmRequest(vm_id="web")))
        await service.until(lambda: service.machine(None, "web").status == "starting")
        stopping = asyncio.create_task(stack.aclose())
        await failure(_until_refused(api))
        service.boot.set()
        assert await asyncio.wait_for(reboot, LIMIT) == pb.RebootVmResponse()
        await stopping


async def test_an_idle_server_stops_at_once(service):
    async with contextlib.AsyncExitStack() as stack:
        address = await stack.enter_async_context(serve(service, "127.0.0.1:0"))
        async with grpc.aio.insecure_channel(address) as channel:
            await WithKey(BoxdApiStub(channel)).Whoami(pb.WhoamiRequest())
            began = time.monotonic()
            await stack.aclose()
            print(f"stopped after {time.monotonic() - began:.2f} s")
