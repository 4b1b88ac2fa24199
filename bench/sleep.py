"""Sleep: to suspend and to hibernate, and to come back, until the guest runs and until it has answered."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping

from bench.figures import spread
from bench.place import Place
from bench.result import Result, Row
from tests.guests.direct import sh

WOKEN = re.compile(r"woken, runs after (\d+) ms, answers after (\d+) ms")

Figures = Mapping[str, list[float]]
"""Milliseconds of all runs, by column."""


async def run(place: Place) -> Result:
    """Every size, idle and busy: a guest that was busy when it fell asleep is busy again."""
    rows: list[Row] = []
    for size in place.options.sizes:
        machine = await place.machine(size)
        async with place.alone(machine):
            rows += [await _row(place, machine, size, rate) for rate in place.options.rates]
    notes = (
        "suspend, resume: as the daemon tells them; wake runs: until the vCPUs go on, answers: until the agent has "
        "answered; replies: the call of the API until a first command in the guest has answered",
    )
    return Result("sleep", "Sleep (milliseconds)", rows, notes)


async def _row(place: Place, machine: str, size: int, rate: int) -> Row:
    async with place.busy(machine, rate):
        figures = await _measure(place, machine, f"{size} MiB, {rate} MiB/s")
        real = await place.real_rate(machine)
    row: Row = {"MiB": size, "dirty MiB/s": round(real, 1), "runs": place.options.runs}
    return {**row, **{name: spread(took) for name, took in figures.items()}}


async def _measure(place: Place, machine: str, what: str) -> Figures:
    client, before = place.client, len(WOKEN.findall(place.daemon.log))
    suspends, resumes, hibernates, resumed, woken = [], [], [], [], []
    for number in range(place.options.runs):
        place.tell(f"{what}, round {number + 1} of {place.options.runs}")
        suspends.append(await client.suspend(machine) / 1000)
        begun = time.monotonic()
        resumes.append(await client.resume(machine) / 1000)
        await sh(client, "true", machine)
        resumed.append(1000 * (time.monotonic() - begun))
        hibernates.append(await _timed(lambda: client.hibernate(machine)))
        begun = time.monotonic()
        await client.wake(machine)
        await sh(client, "true", machine)
        woken.append(1000 * (time.monotonic() - begun))
    told = WOKEN.findall(place.daemon.log)[before:]
    return {
        "suspend": suspends,
        "resume": resumes,
        "resume replies": resumed,
        "hibernate": hibernates,
        "wake runs": [float(runs) for runs, _ in told],
        "wake answers": [float(answers) for _, answers in told],
        "wake replies": woken,
    }


async def _timed(action: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds that a call took."""
    begun = time.monotonic()
    await action()
    return 1000 * (time.monotonic() - begun)
