"""Saves: the pause, the time until ready, and what each costs on disk, idle and busy, in small and large guests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

from bench.figures import Spread, spread
from bench.place import Place
from bench.result import Curve, Plot, Result, Row
from openboxd.host.extents import file_usage

PAGE = 4096
QUIET_SECONDS = 4.0
"""Of the program that looks at the clock without a save."""

GAP_SAVES = 5
"""Saves beside which it looks."""


async def run(place: Place) -> Result:
    """Every size with every rate."""
    options = place.options
    rows: list[Row] = []
    for size in options.sizes:
        machine = await place.machine(size)
        async with place.alone(machine):
            rows += [await _measure(place, machine, size, rate) for rate in options.rates]
    return Result("save", "Saves (milliseconds, MB)", rows, _notes(), _plots(rows))


async def _measure(place: Place, machine: str, size: int, rate: int) -> Row:
    client = place.client
    await _save(place, machine, "first")
    done, costs = [], []
    async with place.busy(machine, rate):
        previous = "first"
        for number in range(place.options.runs):
            place.tell(f"{size} MiB, {rate} MiB/s, save {number + 1} of {place.options.runs}")
            name = f"s{number % 2}"
            done.append(await _save(place, machine, name))
            costs.append(await asyncio.to_thread(_cost, *await _images(place, machine, previous, name)))
            if previous != "first":
                await client.remove_checkpoint(machine, previous)
            previous = name
        real = await place.real_rate(machine)
        quiet, _ = await place.ticks(machine, asyncio.sleep(QUIET_SECONDS))
        gaps = [await _gaps_of_a_save(place, machine) for _ in range(1 if place.options.short else GAP_SAVES)]
    for name in ("first", previous):
        await client.remove_checkpoint(machine, name)
    stops, inside, outside = zip(*gaps, strict=True)
    return {
        "MiB": size,
        "dirty MiB/s": round(real, 1),
        "runs": len(done),
        "pause": spread([each.pause_us / 1000 for each in done]),
        "ready": spread([float(each.duration_ms) for each in done]),
        "changed MB": spread([changed / 1e6 for changed, _ in costs]),
        "new MB": spread([new / 1e6 for _, new in costs]),
        "new/changed": spread([new / max(changed, PAGE) for changed, new in costs]),
        "all MB": spread([(each.total_bytes - each.shared_bytes) / 1e6 for each in done]),
        "gap quiet": quiet,
        "vCPU stop": spread(stops),
        "gap in guest": spread(inside),
        "gap outside": spread(outside),
    }


async def _save(place: Place, machine: str, name: str) -> Any:
    await place.client.save(machine, name)
    done = await place.client.checkpoint_done(machine, name)
    assert done.status == "ready", done
    return done


async def _gaps_of_a_save(place: Place, machine: str) -> tuple[float, float, float]:
    """Milliseconds: how long the vCPUs stood still, and the largest gap in the guest and outside."""
    saved: list[Any] = []

    async def save() -> None:
        saved.append(await _save(place, machine, "ticks"))

    inside, outside = await place.ticks(machine, save())
    await place.client.remove_checkpoint(machine, "ticks")
    pause = saved[0].pause_us / 1000
    assert outside > pause / 2, f"a pause of {pause} ms was not seen"
    return pause, inside, outside


async def _images(place: Place, machine: str, *names: str) -> Sequence[Path]:
    """The memory images of two checkpoints."""
    found = {info.name: info.checkpoint_id for info in await place.client.checkpoints(machine)}
    owner = (await place.client.machine(machine)).vm_id
    return [
        place.daemon.home / "pool/machines" / owner / "checkpoints" / found[name] / "memory.img" for name in names
    ]


def _cost(before: Path, after: Path) -> tuple[int, int]:
    """Bytes of memory in which two captures differ, in whole pages, and bytes that only the later one holds."""
    old, new = (numpy.memmap(file, dtype=numpy.uint64, mode="r") for file in (before, after))
    words, differing = PAGE // 8, 0
    for start in range(0, old.size, 4096 * words):
        a, b = (image[start : start + 4096 * words].reshape(-1, words) for image in (old, new))
        differing += int((a != b).any(axis=1).sum())
    return differing * PAGE, _own_bytes(after)


def _own_bytes(file: Path) -> int:
    with file.open("rb") as opened:
        return file_usage(opened.fileno()).exclusive_bytes


def _notes() -> Sequence[str]:
    return (
        "changed: pages of memory that differ from the parent's; new: bytes that only this memory image holds; "
        "all: of the whole checkpoint, with devices, disk and digests",
        "gap: the largest of a program in the guest that looks at the clock each millisecond; quiet: without a save;",
        "vCPU stop: of the saves beside which it looked;",
        "in guest: by its own clock, which stands still with the vCPUs; outside: by its output's arrival on the host",
    )


def _median(value: object) -> float:
    assert isinstance(value, Spread) and value.p50 is not None, value
    return value.p50


def _plots(rows: Sequence[Row]) -> Sequence[Plot]:
    def curves(column: str) -> Sequence[Curve]:
        sizes = sorted({int(str(row["MiB"])) for row in rows})
        return [
            Curve(
                f"{size} MiB",
                [float(str(row["dirty MiB/s"])) for row in rows if row["MiB"] == size],
                [_median(row[column]) for row in rows if row["MiB"] == size],
            )
            for size in sizes
        ]

    return (
        Plot("Pause of a save", "dirty MiB/s", "p50, ms", curves("pause")),
        Plot("Save until ready", "dirty MiB/s", "p50, ms", curves("ready")),
    )
