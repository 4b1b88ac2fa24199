"""Metadata, tokens and the API as a machine finds them: who calls is the channel, and nothing that is sent."""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
import time
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from openboxd.api.inside import AT_ONCE, PER_MACHINE, RATE, Pace
from openboxd.api.ports import NewMachine
from openboxd.api.server import serve
from openboxd.control.accounts import digest_of
from openboxd.errors import Exhausted
from openboxd.model import MIB, MachineStatus
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.inside.conftest import LIMIT, Doors
from tests.inside.program import ask, bearer, connected
from tests.worker.world import OWNER


@asynccontextmanager
async def api(doors: Doors, name: str = "web") -> AsyncIterator[BoxdApiStub]:
    """The calls of the API, as a program in the machine makes them."""
    async with connected(doors, name) as channel:
        yield BoxdApiStub(channel)


async def refused(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


async def token_of(doors: Doors, name: str = "web") -> str:
    status, answer = await ask(doors, "GET", "/v1/auth/token", name=name)
    assert status == 200, answer
    assert answer["api_url"] == "http://10.213.0.1:9002"
    assert 880 < answer["expires_at"] - time.time() <= 900
    return str(answer["token"])


async def second(doors: Doors) -> None:
    await doors.world.machine("db")


async def test_a_call_without_a_credential_is_the_machines(doors: Doors) -> None:
    async with api(doors) as stub:
        assert (await stub.GetVm(pb.GetVmRequest(vm_id="web"))).name == "web"
        assert await refused(stub.CreateApiKey(pb.CreateApiKeyRequest(name="x"))) is grpc.StatusCode.PERMISSION_DENIED
        assert await refused(stub.DestroyVm(pb.DestroyVmRequest(vm_id="web"))) is grpc.StatusCode.PERMISSION_DENIED


async def test_a_token_is_good_for_its_machine_over_its_channel_and_nowhere_else(doors: Doors) -> None:
    await second(doors)
    token = await token_of(doors)
    async with api(doors) as stub:
        assert (await stub.GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer(token))).name == "web"
        wrong = await refused(stub.GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer("bxm_" + "x" * 40)))
        assert wrong is grpc.StatusCode.UNAUTHENTICATED
    async with api(doors, "db") as stub:
        other = await refused(stub.GetVm(pb.GetVmRequest(vm_id="db"), metadata=bearer(token)))
        assert other is grpc.StatusCode.UNAUTHENTICATED
    async with (
        serve(doors.world.control, "127.0.0.1:0") as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        outside = BoxdApiStub(channel).GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer(token))
        assert await refused(outside) is grpc.StatusCode.UNAUTHENTICATED
        assert await refused(BoxdApiStub(channel).ListVms(pb.ListVmsRequest())) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_copy_holds_its_parents_token_and_can_do_nothing_with_it(doors: Doors) -> None:
    token = await token_of(doors)
    await doors.world.control.fork_machine(OWNER, "web", NewMachine(name="twin"))
    async with api(doors, "twin") as stub:
        for target in ("web", "twin"):
            late = await refused(stub.GetVm(pb.GetVmRequest(vm_id=target), metadata=bearer(token)))
            assert late is grpc.StatusCode.UNAUTHENTICATED, target
        # Without a word of who it is, it is itself, from its first call on; and so is what it asks for.
        away = await refused(stub.DestroyVm(pb.DestroyVmRequest(vm_id="twin")))
        assert away is grpc.StatusCode.PERMISSION_DENIED
        own = await token_of(doors, "twin")
        assert (await stub.GetVm(pb.GetVmRequest(vm_id="twin"), metadata=bearer(own))).name == "twin"
    status, _ = await ask(doors, "POST", "/v1/self/destroy", {"confirm_name": "web"}, "twin")
    assert status == 400
    async with api(doors) as stub:
        assert (await stub.GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer(token))).name == "web"
        other = await refused(stub.GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer(own)))
        assert other is grpc.StatusCode.UNAUTHENTICATED


async def test_a_token_ends_with_its_time_and_with_its_machine(doors: Doors) -> None:
    token = await token_of(doors)
    now = int(time.time())
    old = "bxm_" + "o" * 40
    await doors.world.store.add_machine_token(doors.machine_id(), digest_of(old), now - 1, now - 900)
    async with api(doors) as stub:
        late = await refused(stub.GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer(old)))
        assert late is grpc.StatusCode.UNAUTHENTICATED
        await doors.world.control.destroy_machine(OWNER, "web")
        gone = await refused(stub.GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer(token)))
        assert gone is grpc.StatusCode.UNAUTHENTICATED
    assert doors.world.store.machine_token(digest_of(token)) is None


async def test_no_token_is_kept_or_logged(doors: Doors, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = await token_of(doors)
    async with api(doors) as stub:
        await stub.GetVm(pb.GetVmRequest(vm_id="web"), metadata=bearer(token))
    assert token not in caplog.text
    for file in doors.world.home.rglob("*"):
        if file.is_file():
            assert token.encode() not in file.read_bytes(), file
    with sqlite3.connect(f"file:{doors.world.home}/boxd.db?mode=ro", uri=True) as store:
        assert store.execute("SELECT count(*) FROM machine_tokens").fetchone() == (1,)


async def test_a_machine_keeps_a_hundred_tokens(doors: Doors) -> None:
    first = await token_of(doors)
    now = int(time.time())
    for number in range(100):
        await doors.world.store.add_machine_token(doors.machine_id(), f"digest {number}", now + 901, now)
    assert doors.world.store.machine_token(digest_of(first)) is None
    assert doors.world.store.machine_token("digest 99") is not None


async def test_a_machine_removes_itself_by_its_name_only(doors: Doors) -> None:
    for body in (None, {}, {"confirm_name": "db"}, {"confirm_name": 7}, [], "web"):
        status, answer = await ask(doors, "POST", "/v1/self/destroy", body)
        assert status == 400 and answer["error"], answer
    status, answer = await ask(doors, "POST", "/v1/self/destroy", {"confirm_name": "web"})
    assert status == 200
    expected = {"name": "web", "vm_id": doors.machine_id(), "status": "destroying", "destroy_in_secs": 2}
    assert answer == expected
    await doors.world.until(lambda: doors.world.store.machine(expected["vm_id"]).status is MachineStatus.DESTROYED)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/auth/token/../x", 404),
        ("POST", "/v1/auth/token", 405),
        ("PUT", "/v1/self/destroy", 405),
    ],
)
async def test_other_paths_and_methods_are_refused(doors: Doors, method: str, path: str, status: int) -> None:
    assert (await ask(doors, method, path))[0] == status


async def test_a_machine_has_its_share_of_connections(doors: Doors) -> None:
    await second(doors)
    held = [doors.knock("api") for _ in range(PER_MACHINE)]
    await asyncio.sleep(0)
    _, one_more = doors.knock("api")
    with pytest.raises(Exhausted, match="too many connections"):
        await one_more
    assert await token_of(doors, "db")  # nobody else is the worse for it
    for visitor, task in held:
        visitor.leave()
        await task
    assert await token_of(doors)


def test_calls_of_one_machine_come_at_a_rate() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    waits = [pace.wait("run") for _ in range(int(AT_ONCE) + 50)]
    assert waits[: int(AT_ONCE)] == [0.0] * int(AT_ONCE)
    assert 0.9 < waits[-1] <= 50 / RATE + 1e-6
    assert pace.wait("another") == 0.0
    now += 10.0
    assert pace.wait("run") == 0.0


async def test_rubbish_at_the_api_is_borne(doors: Doors, caplog: pytest.LogCaptureFixture) -> None:
    """Garbage, half frames, floods: the connection ends, memory stays, and others are served."""
    await second(doors)
    chance = random.Random(7)
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    token_of_db = await token_of(doors, "db")
    tracemalloc.start()
    try:
        for _ in range(30):
            visitor, task = doors.knock("api")
            kind = chance.randrange(4)
            if kind == 0:
                visitor.say(chance.randbytes(chance.randrange(1, 5000)))
            elif kind == 1:
                visitor.say(preface + chance.randbytes(3000))
            elif kind == 2:  # a request that promises more than may come
                visitor.say(
                    b"POST /v1/self/destroy HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 70_000
                )
            else:
                visitor.say(
                    preface + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + b"\x00\xff\xff\x00\x00\x00\x00\x00\x01"
                )
            visitor.leave()
            async with asyncio.timeout(LIMIT):
                await asyncio.wait([task])
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    print(f"held after the rubbish: {held // 1024} KiB")
    assert held < 16 * MIB
    async with api(doors, "db") as stub:
        assert (await stub.GetVm(pb.GetVmRequest(vm_id="db"), metadata=bearer(token_of_db))).name == "db"
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text


async def test_a_request_too_large_for_a_machine_is_refused(doors: Doors) -> None:
    async with api(doors) as stub:
        request = pb.UploadFileRequest(vm_id="web", path="x", data=bytes(2 * MIB))
        assert await refused(stub.UploadFile(request)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await stub.GetVm(pb.GetVmRequest(vm_id="web"))).name == "web"
