"""Rounds of save, change, restore, remove on one machine: does the last cost what the first did?"""

from __future__ import annotations

import time
from pathlib import Path

from bench.figures import slope, spread
from bench.place import Place
from bench.result import Curve, Plot, Result, Row
from tests.guests.direct import sh
from tests.lab import GOLDEN


async def run(place: Place) -> Result:
    """Ten times the runs of the others."""
    client, process = place.client, place.daemon.process
    assert process is not None
    count = 3 if place.options.short else 10 * place.options.runs
    took, began = [], _held(process.pid)
    for number in range(count):
        place.tell(f"round {number + 1} of {count}")
        begun = time.monotonic()
        await sh(client, f"echo {number} > value")
        await client.save(GOLDEN, "round")
        assert (await client.checkpoint_done(GOLDEN, "round")).status == "ready"
        await sh(client, "echo broken > value")
        await client.restore(GOLDEN, "round")
        assert await sh(client, "cat value") == f"{number}\n"
        await client.remove_checkpoint(GOLDEN, "round")
        took.append(1000 * (time.monotonic() - begun))
    ended = _held(process.pid)
    numbers = [float(number) for number in range(count)]
    row: Row = {
        "rounds": count,
        "round": spread(took),
        "growth a round": slope(numbers, took),
        "descriptors": f"{began[0]} -> {ended[0]}",
        "daemon MiB": f"{began[1]} -> {ended[1]}",
    }
    plot = Plot("Rounds of save, change, restore, remove", "round", "ms", [Curve("round", numbers, took)])
    return Result("cycles", "Rounds (milliseconds)", [row], plots=[plot])


def _held(pid: int) -> tuple[int, int]:
    """Open descriptors of a process, and its resident memory in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), resident // 1024
