"""What a pause, a save, its bytes and a restore grow with: memory, checkpoints, machines, the disk, the pool.

A slope is fitted to each curve: nothing but bytes that changed may grow with what is only there.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import quantile, slope, spread
from bench.place import GOLDEN_MIB, Options, Place
from bench.result import Curve, Plot, Result, Row
from openboxd.model import GIB
from tests.guests.direct import sh
from tests.lab import BOOTED, GOLDEN

COSTS = {"pause": "ms", "save": "ms", "new MB": "MB", "restore": "ms"}
"""What is measured, and its unit: pause, save until ready, bytes that only this save holds, the call of a restore."""

Costs = dict[str, list[float]]


@dataclass(frozen=True)
class Series:
    """What costs may grow with.

    Attributes:
        what, unit: names of the axis; numbers have no unit.
        wanted: its points.
        prepare: brings a place to such a point for the time of a block; gives the name of the machine to measure.
        real: what the point really is, read while the measured checkpoint exists.
    """

    what: str
    unit: str
    wanted: Sequence[int]
    prepare: Callable[[Place, int], AbstractAsyncContextManager[str]]
    real: Callable[[Place, str], Awaitable[float]] | None = None


def _series(options: Options) -> Sequence[Series]:
    """Of a short form two points each: they show that it works."""
    short = options.short
    return (
        Series("memory in use", "MiB", (0, 128) if short else (0, 100, 200, 400, 600), _fill),
        Series("memory that is written", "MiB/s", (0, 10) if short else options.rates, _busy, Place.real_rate),
        Series("checkpoints", "", (3, 5) if short else (3, 4, 6, 8, 10), _checkpoints, _listed),
        Series("machines beside it", "", (0, 2) if short else (0, 4, 9, 19), _machines),
        Series("files in the pool", "", (0, 2000) if short else (0, 5000, 20_000, 50_000), _files),
        Series("size of the disk", "GiB", (16, 32) if short else (16, 32, 100), _disk, _disk_gib),
        Series("RAM", "MiB", (512, GOLDEN_MIB) if short else options.sizes, _ram),
    )


async def run(place: Place) -> Result:
    """Each on the prepared machine, taken back to its beginning first; RAM on machines of their own."""
    rows: list[Row] = []
    plots: list[Plot] = []
    for series in _series(place.options):
        points = [await _measure(place, series, wanted) for wanted in series.wanted]
        xs, costs = [x for x, _ in points], [cost for _, cost in points]
        rows += _rows(series, xs, costs)
        plots += _plots(series, xs, costs)
    notes = (
        "new MB: what only the measured checkpoint holds; slopes: per unit of what it grows with",
        "checkpoints: the prepared one, one to compare with and the measured one are always there",
        "files in the pool: empty ones, in a directory of their own; disks are never smaller than their image",
    )
    return Result("growth", "What costs grow with (milliseconds, MB)", rows, notes, plots)


async def _measure(place: Place, series: Series, wanted: int) -> tuple[float, Costs]:
    """What x really is, and the costs of a few rounds there."""
    client, x, costs = place.client, float(wanted), Costs({name: [] for name in COSTS})
    place.tell(f"{series.what}: {wanted} {series.unit}")
    async with series.prepare(place, wanted) as machine:
        await _save(place, machine, "warm")
        for _ in range(1 if place.options.short else max(3, place.options.runs // 4)):
            await _round(place, machine, costs)
            if series.real:
                x = await series.real(place, machine)
            await client.remove_checkpoint(machine, "grown")
        for info in await client.checkpoints(machine):
            if info.name != BOOTED:
                await client.remove_checkpoint(machine, info.name)
    return x, costs


async def _round(place: Place, machine: str, costs: Costs) -> None:
    pause, ready, new = await _save(place, machine, "grown")
    begun = time.monotonic()
    await place.client.restore(machine, "grown")
    for name, value in zip(COSTS, (pause, ready, new, 1000 * (time.monotonic() - begun)), strict=True):
        costs[name].append(value)


async def _save(place: Place, machine: str, name: str) -> tuple[float, float, float]:
    """Milliseconds of the pause and until ready, and MB that only this checkpoint holds."""
    await place.client.save(machine, name)
    done = await place.client.checkpoint_done(machine, name)
    assert done.status == "ready", done
    return done.pause_us / 1000, float(done.duration_ms), (done.total_bytes - done.shared_bytes) / 1e6


@asynccontextmanager
async def _fresh(place: Place) -> AsyncIterator[str]:
    """The prepared machine as it was in the beginning."""
    await place.client.restore(GOLDEN, BOOTED)
    yield GOLDEN


@asynccontextmanager
async def _fill(place: Place, mib: int) -> AsyncIterator[str]:
    async with _fresh(place) as machine:
        if mib:
            path = await place.put(machine, "fill.py")
            await sh(place.client, f"setsid python3 {path} {mib} >/dev/null 2>&1 </dev/null &")
            await sh(place.client, "for i in $(seq 600); do [ -s /tmp/filled ] && exit; sleep 0.1; done; exit 1")
        yield machine


@asynccontextmanager
async def _busy(place: Place, rate: int) -> AsyncIterator[str]:
    async with _fresh(place) as machine, place.busy(machine, rate):
        yield machine


@asynccontextmanager
async def _checkpoints(place: Place, count: int) -> AsyncIterator[str]:
    """So many with the one to compare with and the one that every round makes."""
    async with _fresh(place) as machine:
        for number in range(count - 2 - len(await place.client.checkpoints(machine))):
            await sh(place.client, f"echo {number} > value")
            await _save(place, machine, f"c{number}")
        yield machine


async def _listed(place: Place, machine: str) -> float:
    return float(len(await place.client.checkpoints(machine)))


@asynccontextmanager
async def _machines(place: Place, count: int) -> AsyncIterator[str]:
    """So many others that run, idle: forks of the prepared checkpoint."""
    async with _fresh(place) as machine:
        made = [await place.client.fork(machine, f"beside-{number}", checkpoint=BOOTED) for number in range(count)]
        yield machine
        for fork in made:
            await place.client.destroy(fork.vm_id)


@asynccontextmanager
async def _files(place: Place, count: int) -> AsyncIterator[str]:
    directory = place.daemon.home / "pool" / "bench"
    directory.mkdir(exist_ok=True)
    for number in range(count):
        (directory / f"{number:06}").touch()
    async with _fresh(place) as machine:
        yield machine
    for file in directory.iterdir():
        file.unlink()


@asynccontextmanager
async def _disk(place: Place, gib: int) -> AsyncIterator[str]:
    """A larger disk, sparse like every disk. The guest boots from it: a capture knows the size it was taken with."""
    async with _fresh(place) as machine:
        if not place.options.short or await _disk_gib(place, machine) < gib:  # all that are compared have booted
            disk = await _disk_file(place, machine)
            await place.client.stop(machine)
            await asyncio.to_thread(os.truncate, disk, gib * GIB)
            await place.client.start(machine)
            await place.settled(machine)
        yield machine


async def _disk_file(place: Place, machine: str) -> Path:
    owner = (await place.client.machine(machine)).vm_id
    return place.daemon.home / "pool/machines" / owner / "disk.raw"


async def _disk_gib(place: Place, machine: str) -> float:
    return (await _disk_file(place, machine)).stat().st_size / GIB


@asynccontextmanager
async def _ram(place: Place, mib: int) -> AsyncIterator[str]:
    """Each a guest that was restored, and no other one runs."""
    if mib == GOLDEN_MIB:
        async with _fresh(place) as machine:
            yield machine
        return
    machine = await place.machine(mib)
    async with place.alone(machine):
        await _save(place, machine, "begun")
        await place.client.restore(machine, "begun")
        yield machine
    await place.client.destroy(machine)


def _rows(series: Series, xs: Sequence[float], costs: Sequence[Costs]) -> list[Row]:
    slopes = {f"{name} slope": _told(slope(xs, _medians(costs, name))) for name in COSTS}
    return [
        {
            "with": series.what,
            "at": f"{round(x, 1):,g} {series.unit}".strip(),
            **{name: spread(samples) for name, samples in cost.items()},
            **slopes,
        }
        for x, cost in zip(xs, costs, strict=True)
    ]


def _told(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _medians(costs: Sequence[Costs], name: str) -> list[float]:
    return [quantile(cost[name], 0.5) for cost in costs]


def _plots(series: Series, xs: Sequence[float], costs: Sequence[Costs]) -> list[Plot]:
    """One for each cost, since they differ a hundredfold; with the line of its slope."""
    plots = []
    for name, unit in COSTS.items():
        ys = _medians(costs, name)
        curves = [Curve(name, xs, ys, "o")]
        if (rise := slope(xs, ys)) is not None:
            middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
            fitted = [height + rise * (x - middle) for x in xs]
            curves.append(Curve(f"{rise:.3g} {unit} each", xs, fitted, "--"))
        plots.append(Plot(f"{name} with {series.what}", series.unit or "number", unit, curves))
    return plots
