"""What a pause, a save and a restore grow with: memory that is used, checkpoints, disk size, files in the pool.

RAM size and dirty rate are rows of `save` and `restore`, the number of machines is in `new`. A slope is fitted to
each curve: nothing but bytes that changed may grow with what is only there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bench.figures import quantile, slope
from bench.place import Place
from bench.result import Curve, Plot, Result, Row
from openboxd.model import GIB
from tests.guests.direct import sh
from tests.lab import BOOTED, GOLDEN

Cost = tuple[float, float, float]
"""Milliseconds: pause, save until ready, restore until the call returns."""


async def run(place: Place) -> Result:
    """Each on the prepared machine, taken back to its beginning first."""
    short = place.options.short
    series: Sequence[tuple[str, str, Sequence[int], Callable[[Place, int], Awaitable[None]]]] = (
        ("memory in use", "MiB", (0, 128) if short else (0, 100, 200, 400, 600), _fill),
        ("checkpoints", "number", (1, 3) if short else (1, 3, 5, 7, 9), _checkpoints),
        ("files in the pool", "number", (0, 2000) if short else (0, 5000, 20_000, 50_000), _files),
        ("size of the disk", "GiB", (16,) if short else (16, 32, 100), _disk),
    )
    rows: list[Row] = []
    plots = []
    for what, unit, xs, prepare in series:
        costs = [await _measure(place, what, prepare, x) for x in xs]
        rows += _rows(what, unit, xs, costs)
        plots.append(_plot(what, unit, xs, costs))
    return Result("growth", "What costs grow with (milliseconds)", rows, plots=plots)


async def _measure(place: Place, what: str, prepare: Callable[[Place, int], Awaitable[None]], x: int) -> Cost:
    """The medians of a few rounds after `prepare(x)`."""
    client = place.client
    place.tell(f"{what}: {x}")
    if prepare is not _disk:
        await client.restore(GOLDEN, BOOTED)
    await prepare(place, x)
    await _save(place, "warm")
    costs = []
    for _ in range(1 if place.options.short else max(3, place.options.runs // 4)):
        done = await _save(place, "grown")
        begun = time.monotonic()
        await client.restore(GOLDEN, "grown")
        costs.append((done.pause_us / 1000, float(done.duration_ms), 1000 * (time.monotonic() - begun)))
        await client.remove_checkpoint(GOLDEN, "grown")
    for info in await client.checkpoints(GOLDEN):
        if info.name != BOOTED:
            await client.remove_checkpoint(GOLDEN, info.name)
    pauses, saves, restores = zip(*costs, strict=True)
    return quantile(pauses, 0.5), quantile(saves, 0.5), quantile(restores, 0.5)


async def _save(place: Place, name: str) -> Any:
    await place.client.save(GOLDEN, name)
    done = await place.client.checkpoint_done(GOLDEN, name)
    assert done.status == "ready", done
    return done


async def _fill(place: Place, mib: int) -> None:
    if mib:
        path = await place.put(GOLDEN, "fill.py")
        await sh(place.client, f"setsid python3 {path} {mib} >/dev/null 2>&1 </dev/null &")
        await sh(place.client, "for i in $(seq 600); do [ -s /tmp/filled ] && exit; sleep 0.1; done; exit 1")


async def _checkpoints(place: Place, count: int) -> None:
    """So many with the one that every round makes; the prepared one is there, and one to compare with."""
    for number in range(count - 2):
        await sh(place.client, f"echo {number} > value")
        await _save(place, f"c{number}")


async def _files(place: Place, count: int) -> None:
    directory = place.daemon.home / "pool" / "bench"
    directory.mkdir(exist_ok=True)
    for number in range(count):
        (directory / f"{number:06}").touch()


async def _disk(place: Place, gib: int) -> None:
    """A larger disk, sparse like every disk. The guest boots from it: a capture knows the size it was taken with."""
    machine = await place.client.machine(GOLDEN)
    disk = place.daemon.home / "pool/machines" / machine.vm_id / "disk.raw"
    if disk.stat().st_size < gib * GIB:
        await place.client.stop(GOLDEN)
        os.truncate(disk, gib * GIB)
        await place.client.start(GOLDEN)
        await sh(place.client, "systemctl is-system-running --wait || true; sudo udevadm settle")


def _rows(what: str, unit: str, xs: Sequence[int], costs: Sequence[Cost]) -> list[Row]:
    grows = [slope(xs, [cost[at] for cost in costs]) if len(xs) > 1 else 0.0 for at in range(3)]
    return [
        {
            "with": what,
            "at": f"{xs[at]} {unit}",
            "pause": costs[at][0],
            "save": costs[at][1],
            "restore": costs[at][2],
            "pause slope": f"{grows[0]:.4f}",
            "save slope": f"{grows[1]:.4f}",
            "restore slope": f"{grows[2]:.4f}",
        }
        for at in range(len(xs))
    ]


def _plot(what: str, unit: str, xs: Sequence[int], costs: Sequence[Cost]) -> Plot:
    names = ("pause", "save until ready", "restore")
    points = [float(x) for x in xs]
    curves = [Curve(name, points, [cost[at] for cost in costs]) for at, name in enumerate(names)]
    return Plot(f"Cost of growth: {what}", unit, "ms", curves)
