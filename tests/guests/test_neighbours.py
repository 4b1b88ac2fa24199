"""While one machine is saved, restored and removed, everything else is answered: reads, and a neighbour's guest."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from openboxd.client.client import Client
from tests.guests.direct import direct, sh
from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

NEIGHBOUR = "neighbour"

CALLS = ("list", "get", "checkpoints", "exec", "listing")

Times = dict[str, list[float]]
"""Seconds that each kind of call took."""


def _calls(client: Client) -> dict[str, Callable[[], Awaitable[object]]]:
    return {
        "list": client.machines,
        "get": lambda: client.machine(NEIGHBOUR),
        "checkpoints": lambda: client.checkpoints(GOLDEN),
        "exec": lambda: sh(client, "true", NEIGHBOUR),
        "listing": lambda: client.list_dir(NEIGHBOUR, "."),
    }


@asynccontextmanager
async def asked_all_the_time(daemon: Daemon):
    """The calls are made one after the other while the block runs; each gives the times that they took."""
    times: Times = defaultdict(list)

    async def ask(client: Client, name: str, call: Callable[[], Awaitable[object]]) -> None:
        while True:
            began = time.monotonic()
            await call()
            times[name].append(time.monotonic() - began)
            await asyncio.sleep(0.1)

    async with direct(daemon) as client:
        asking = [asyncio.create_task(ask(client, *call)) for call in _calls(client).items()]
        try:
            yield times
        finally:
            for task in asking:
                task.cancel()
            ended = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in ended), ended


def _told(what: str, times: Times, took: float) -> None:
    for name, each in times.items():
        middle = sorted(each)[len(each) // 2]
        print(f"{what} ({took:.1f} s): {name} {len(each)} times, median {middle:.3f} s, longest {max(each):.3f} s")


def _nobody_waited(times: Times) -> bool:
    """Everything was asked again and answered meanwhile, where who waits is answered once, at the end. How long an
    answer took is printed only: a busy host takes its time."""
    return all(len(times[name]) > 1 for name in CALLS)


async def test_reads_and_neighbours_go_on(daemon: Daemon) -> None:
    daemon.boxd("machine", "fork", GOLDEN, NEIGHBOUR)
    async with direct(daemon) as client:
        await sh(client, "head -c 300000000 /dev/urandom > /dev/shm/big")
        began = time.monotonic()
        async with asked_all_the_time(daemon) as times:
            await client.save(GOLDEN, "a")
            found = {c.name: c.status for c in await client.checkpoints(GOLDEN)}
            assert found["a"] == "pending", "a save shows itself at once"
            assert (await client.machine(GOLDEN)).status == "running"
            assert (await client.checkpoint_done(GOLDEN, "a")).status == "ready"
        took = time.monotonic() - began
        _told("save", times, took)
        assert _nobody_waited(times)
        async with asked_all_the_time(daemon) as times:
            began = time.monotonic()
            for _ in range(3):
                await client.restore(GOLDEN, "a")
            await client.remove_checkpoint(GOLDEN, "a")
            took = time.monotonic() - began
        _told("three restores and a removal", times, took)
        assert _nobody_waited(times)
