"""What a command costs outside its guest: API port, door and the channel of an agent that runs on this host."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator

import grpc

from openboxd.api.server import serve
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.fakes.service import FakeService
from tests.guest.rig import Rig

ROUNDS = 50


async def test_a_round_trip_without_a_guest(service: FakeService) -> None:
    rig = Rig()
    try:
        await rig.start()
        agent = await rig.connect()

        async def run(caller: object, ref: str, request: object) -> object:
            return await agent.exec(request)

        service.exec = run
        async with serve(service, "127.0.0.1:0") as address, grpc.aio.insecure_channel(address) as channel:
            stub, took = BoxdApiStub(channel), []
            for _ in range(ROUNDS):
                begun = time.monotonic()
                assert await _true(stub, service.key) == 0
                took.append(1000 * (time.monotonic() - begun))
        median, p99 = statistics.median(took), sorted(took)[-1]
        print(f"exec true without a guest: median {median:.1f} ms, longest of {ROUNDS} {p99:.1f} ms")
        await agent.close("the test is over")
    finally:
        await rig.clean()


async def _true(stub: BoxdApiStub, key: str) -> int:
    async def requests() -> AsyncIterator[pb.ExecChunk]:
        yield pb.ExecChunk(vm_id="web", command="true")

    chunks = stub.Exec(requests(), metadata=(("authorization", f"Bearer {key}"),))
    return [chunk.exit_code async for chunk in chunks][-1]
