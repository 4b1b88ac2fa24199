"""Restores: until the guest runs, until it has answered, and the whole command at the terminal."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from bench.figures import spread
from bench.place import Place
from bench.result import Result, Row
from tests.guests.direct import sh

RESTORED = re.compile(r"restored, runs after (\d+) ms, answers after (\d+) ms")


async def run(place: Place) -> Result:
    """Every size, idle and busy: a guest that was busy when it was saved is busy again."""
    rows: list[Row] = []
    for size in place.options.sizes:
        machine = await place.machine(size)
        async with place.alone(machine):
            rows += [await _measure(place, machine, size, rate) for rate in place.options.rates]
    notes = (
        "reply: the call of the API until a first command in the guest has answered; command: boxd at the terminal",
    )
    return Result("restore", "Restores (milliseconds)", rows, notes)


async def _measure(place: Place, machine: str, size: int, rate: int) -> Row:
    before = len(RESTORED.findall(place.daemon.log))
    calls, replies, commands = [], [], []
    async with place.busy(machine, rate):
        await place.client.save(machine, "back")
        assert (await place.client.checkpoint_done(machine, "back")).status == "ready"
        for number in range(place.options.runs):
            place.tell(f"{size} MiB, {rate} MiB/s, restore {number + 1} of {place.options.runs}")
            begun = time.monotonic()
            await place.client.restore(machine, "back")
            calls.append(1000 * (time.monotonic() - begun))
            await sh(place.client, "true", machine)
            replies.append(1000 * (time.monotonic() - begun))
        for _ in range(min(3, place.options.runs)):
            begun = time.monotonic()
            place.daemon.boxd("machine", "checkpoint", "restore", machine, "back", "-y")
            commands.append(1000 * (time.monotonic() - begun))
        await place.client.remove_checkpoint(machine, "back")
        real = await place.real_rate(machine)
    runs = [float(runs) for runs, _ in RESTORED.findall(place.daemon.log)[before:]]
    return {
        "MiB": size,
        "dirty MiB/s": round(real, 1),
        "runs": len(calls),
        **_columns(runs, calls, replies, commands),
    }


def _columns(
    runs: Sequence[float], calls: Sequence[float], replies: Sequence[float], commands: Sequence[float]
) -> Row:
    return {
        "guest runs": spread(runs),
        "call": spread(calls),
        "reply": spread(replies),
        "command": spread(commands),
    }
