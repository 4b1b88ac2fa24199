"""`GET /metrics`: what operations and failures leave there, and who may read it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from openboxd import __version__, logs
from openboxd.api import door
from openboxd.api.calls import Calls
from openboxd.api.exchange import Exchange
from openboxd.api.exchange_http import Request
from openboxd.api.ports import Service
from openboxd.api.server import BOXD_API, serve
from openboxd.control import accounts
from openboxd.errors import NotFound, OperationFailed
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.api.sockets import converse
from tests.worker.world import OWNER, World

GET = b"GET /metrics HTTP/1.1\r\nHost: boxd\r\nConnection: close\r\n\r\n"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    await world.start()
    try:
        yield world
    finally:
        await world.close()


async def scraped(address: str) -> dict[str, float]:
    """Every sample by its name and labels, as they are written."""
    head, _, body = (await converse(address, GET)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    assert b"text/plain" in head.lower()
    return samples(body.decode())


def samples(text: str) -> dict[str, float]:
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {f"{s.name}{{{','.join(f'{k}={v}' for k, v in sorted(s.labels.items()))}}}": s.value for s in found}


def errors(scraped: dict[str, float]) -> dict[str, float]:
    """How many failures of which kind, without the name of the metric."""
    start = "boxd_errors_total{"
    return {name.removeprefix(start)[:-1]: value for name, value in scraped.items() if name.startswith(start)}


async def test_operations_pauses_errors_machines_and_bytes(world: World) -> None:
    control = world.control
    async with serve(control, "127.0.0.1:0") as address:
        before = await scraped(address)
        assert before["boxd_save_pause_seconds_count{}"] == 0
        await world.machine()
        await world.save("a")
        await control.restore_checkpoint(OWNER, "web", "a")
        with pytest.raises(NotFound):
            await control.restore_checkpoint(OWNER, "web", "none")
        after = await scraped(address)
    assert after["boxd_save_pause_seconds_count{}"] == 1
    assert after["boxd_restore_runs_seconds_count{}"] == 1
    assert after["boxd_operation_seconds_count{operation=save,outcome=ok}"] == 1
    assert after["boxd_operation_seconds_count{operation=restore,outcome=ok}"] == 1
    assert 0 < after["boxd_operation_seconds_sum{operation=restore,outcome=ok}"] < 60
    assert after["boxd_machines{status=running}"] == 1
    assert after["boxd_save_seconds_count{operation=save}"] == 1
    assert after["boxd_restore_answers_seconds_count{}"] == 1
    assert 0 < after["boxd_pool_free_bytes{}"] < after["boxd_pool_size_bytes{}"]
    assert after[f"boxd_build_info{{version={__version__}}}"] == 1
    assert after["process_resident_memory_bytes{}"] > 0
    text = json.dumps(after)
    assert "web" not in text and OWNER.user_id not in text, "metrics name nobody"


async def test_a_call_that_fails_is_counted_by_its_class(address: str, api) -> None:
    for _ in range(2):
        with pytest.raises(grpc.aio.AioRpcError):
            await api.boxd.GetVm(pb.GetVmRequest(vm_id="none"))
    assert (await scraped(address))["boxd_errors_total{at=call,error=NotFound}"] == 2


async def test_a_failure_counts_once_where_it_came_up_and_once_where_it_was_told(world: World) -> None:
    """A save fails behind the back of the call that ordered it, a restore before its eyes."""

    def fault(point: str) -> None:
        if point in ("before capture", "before clone"):
            raise OperationFailed("on purpose")

    await world.machine()
    await world.save("a")
    world.fault = fault
    key = accounts.new_key()
    await accounts.add_api_key(world.store, OWNER.user_id, "owner", key)
    async with serve(world.control, "127.0.0.1:0") as address, grpc.aio.insecure_channel(address) as channel:
        metadata = (("authorization", f"Bearer {key}"),)
        boxd, web = BoxdApiStub(channel), world.control.machine(OWNER, "web").id
        await boxd.CreateCheckpoint(pb.CreateCheckpointRequest(vm=web, name="b"), metadata=metadata)
        await world.settled()
        assert errors(await scraped(address)) == {"at=operation,error=OperationFailed": 1}
        with pytest.raises(grpc.aio.AioRpcError, match="on purpose"):
            await boxd.RestoreCheckpoint(pb.RestoreCheckpointRequest(vm=web, name="a"), metadata=metadata)
        counted = errors(await scraped(address))
    assert counted == {"at=operation,error=OperationFailed": 2, "at=call,error=OperationFailed": 1}


class Line:
    """A call whose caller has hung up, or has not."""

    def __init__(self, hung_up: bool) -> None:
        self.hung_up = hung_up

    def done(self) -> bool:
        return self.hung_up

    async def abort(self, code: grpc.StatusCode, text: str, metadata: object) -> None:
        raise grpc.aio.AbortError(text)


@pytest.mark.parametrize(
    ("error", "hung_up", "counted"),
    [
        (RuntimeError("cannot write"), True, {}),
        (grpc.aio.UsageError("RPC already finished"), False, {}),
        (RuntimeError("a fault inside"), False, {"at=call,error=RuntimeError": 1}),
        (NotFound("no such machine"), True, {"at=call,error=NotFound": 1}),
    ],
)
async def test_a_write_to_a_caller_who_hung_up_is_no_failure(
    world: World, error: Exception, hung_up: bool, counted: dict[str, int]
) -> None:
    async def method(service: Service, caller: Caller, request: pb.GetVmRequest) -> None:
        raise error

    async def admit(service: Service, context: door.Context) -> Caller:
        return OWNER

    table = door.handlers(world.control, BOXD_API, {"GetVm": method}, Calls(), admit)
    handler = table.service(SimpleNamespace(method=f"/{BOXD_API.full_name}/GetVm", invocation_metadata=()))
    with pytest.raises((type(error), grpc.aio.AbortError)):
        await handler.unary_unary(b"", Line(hung_up))
    assert errors(samples((await world.control.metrics()).decode())) == counted


@pytest.mark.parametrize(
    ("setting", "address", "status"),
    [
        ("loopback", "127.0.0.1", 200),
        ("loopback", "::1", 200),
        ("loopback", "192.0.2.7", 404),
        ("loopback", "", 404),  # not over TCP: a machine's own way in
        ("any", "192.0.2.7", 200),
        ("off", "127.0.0.1", 404),
    ],
)
async def test_who_may_read_them(world: World, setting: str, address: str, status: int) -> None:
    exchange = Exchange(world.control, metrics=setting)
    assert (await exchange.answer(Request("GET", "/metrics", b""), address)).status == status


async def test_they_are_only_read(world: World) -> None:
    assert (await Exchange(world.control).answer(Request("POST", "/metrics", b""), "::1")).status == 405


async def test_what_is_logged_in_an_operation_bears_its_id(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    present, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        logs.set_up("json", logging.INFO)
        machine = await world.machine()
        await world.save("a")
        await world.control.restore_checkpoint(OWNER, "web", "a")
        await asyncio.sleep(0)
    finally:
        root.handlers[:] = present
        root.setLevel(level)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    begun = {
        line["message"].rpartition(": ")[2]: line for line in lines if line.get("logger") == "openboxd.worker.machine"
    }
    done = next(line for line in lines if line["message"].startswith(f"machine {machine.id}: restored"))
    assert done["machine"] == machine.id
    assert done["operation"].startswith("op-")
    ids = {line["operation"] for line in lines if line.get("machine") == machine.id}
    assert len(ids) == 3, "one of the boot, the save and the restore each"
    assert len(begun) == 3
