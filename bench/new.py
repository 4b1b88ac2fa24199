"""New machines from a warm image: until the guest runs, until it answers, and what many of them cost the host."""

from __future__ import annotations

import time

from bench.copies import memory_mib, used_mib
from bench.figures import slope, spread
from bench.place import Place
from bench.result import Curve, Plot, Result, Row
from openboxd.model import MIB
from tests.guests.direct import sh

MOST = 20
"""Machines that run beside each other in the end."""


async def run(place: Place) -> Result:
    """One after the other, all left running."""
    client, count = place.client, min(MOST, place.options.runs)
    before_disk, before_memory = used_mib(place), memory_mib(place)
    calls, answers, memory = [], [], []
    for number in range(count):
        place.tell(f"machine {number + 1} of {count}")
        begun = time.monotonic()
        await client.create(f"new-{number}", vcpu=1, memory_bytes=1024 * MIB)
        calls.append(1000 * (time.monotonic() - begun))
        await place.until_running(f"new-{number}")
        await sh(client, "true", f"new-{number}")
        answers.append(1000 * (time.monotonic() - begun))
        memory.append(memory_mib(place) - before_memory)
    made = place.daemon.log.count("made from the template")
    assert made == count, f"only {made} of {count} machines were made from the template"
    row: Row = {
        "machines": count,
        "first answer": spread(answers),
        "of it the call": spread(calls),
        "all MiB of RAM": memory[-1],
        "MB of disk each": (used_mib(place) - before_disk) * 1.048576 / count,
        "growth a machine": slope(range(count), answers),
    }
    numbers = [float(number + 1) for number in range(count)]
    plots = [
        Plot("A new machine's first answer", "machines that run", "ms", [Curve("first answer", numbers, answers)]),
        Plot("Real memory of all machines", "machines that run", "MiB", [Curve("memory", numbers, memory)]),
    ]
    for number in range(count):
        await client.destroy(f"new-{number}")
    return Result("new", "New machines (milliseconds)", [row], plots=plots)
