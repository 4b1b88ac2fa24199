"""`GET /metrics`: what operations and failures leave there, and who may read it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from openboxd import logs
from openboxd.api.exchange import Exchange
from openboxd.api.exchange_http import Request
from openboxd.api.server import serve
from openboxd.errors import NotFound
from openboxd.wire import boxd_api_pb2 as pb
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
    families = text_string_to_metric_families(body.decode())
    samples = [sample for family in families for sample in family.samples]
    return {f"{s.name}{{{','.join(f'{k}={v}' for k, v in sorted(s.labels.items()))}}}": s.value for s in samples}


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
    assert 0 < after["boxd_pool_bytes{kind=free}"] < after["boxd_pool_bytes{kind=total}"]
    assert after["process_resident_memory_bytes{}"] > 0
    text = json.dumps(after)
    assert "web" not in text and OWNER.user_id not in text, "metrics name nobody"


async def test_what_captures_hold_is_counted(world: World) -> None:
    await world.machine()
    await world.save("a")
    text = (await world.control.metrics()).decode()
    own = next(line for line in text.splitlines() if line.startswith('boxd_capture_bytes{kind="own"}'))
    assert float(own.split()[1]) > 0


async def test_a_call_that_fails_is_counted_by_its_class(address: str, api) -> None:
    for _ in range(2):
        with pytest.raises(grpc.aio.AioRpcError):
            await api.boxd.GetVm(pb.GetVmRequest(vm_id="none"))
    assert (await scraped(address))["boxd_errors_total{error=NotFound}"] == 2


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
