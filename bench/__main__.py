"""`scripts/bench`: the sub-benchmarks that are asked for, one after the other, each on a fresh daemon."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

import click
from rich.console import Console

from bench import report
from bench.compare import compare
from bench.host import describe, setting
from bench.place import Options, Place
from bench.progress import Tell, silent, telling
from bench.result import Result
from bench.targets import judge
from tests.guests.direct import direct
from tests.lab import Lab, mounted

NAMES = ("save", "restore", "sleep", "fork", "new", "exec", "hold", "cycles", "growth", "peers")

WARM = {"new": {"BOXD_WARM": "on"}}
"""What a benchmark's daemon is told besides. Elsewhere no template is made beside what is measured."""

WIDE = 220
"""Columns of tables that go into a file: none of their figures is cut."""

SHORT = Options(short=True, runs=2, sizes=(1024,), rates=(10,))
"""What shows that a benchmark works."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar=f"[{'|'.join(NAMES)}]...")
@click.option("--short", is_flag=True, help="Ten minutes, all: shows that the benchmarks work, not how fast boxd is.")
@click.option(
    "--runs",
    type=click.IntRange(2),
    default=20,
    show_default=True,
    help="Runs of each kind; growth and peers take a quarter, cycles ten times as many, exec none.",
)
@click.option(
    "--memory", default="512,1024,4096", show_default=True, help="Sizes of guests, MiB: save, restore, sleep, growth."
)
@click.option(
    "--dirty",
    default="0,10,100",
    show_default=True,
    help="Memory that a guest writes, MiB a second: save, restore, sleep, fork, growth.",
)
@click.option(
    "--against",
    type=click.File(),
    metavar="FILE",
    help="An earlier run's JSON, for example bench/baseline.json: tells which medians differ.",
)
def main(names: Sequence[str], short: bool, runs: int, memory: str, dirty: str, against: TextIO | None) -> None:
    """Measure boxd with real guests; all benchmarks unless some are named.

    Guests run in software; BOXD_TEST_ACCEL=kvm takes KVM, where 500 is a rate worth measuring, too.
    Tables go to the terminal, JSON and plots to bench/results/, after each benchmark. Let nothing else run on the
    host meanwhile. All of them take hours; the first time an image is built, which takes some minutes.
    Figures in one column are the median, the 99th percentile, the largest and how many there are; JSON has them all.
    """
    options, before = Options(short, runs, _numbers(memory), _numbers(dirty)), json.load(against) if against else None
    if short:
        options = SHORT
    host, stamp = describe(), time.strftime("%Y%m%d-%H%M%S")
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    console.print(", ".join(f"{key} {value}" for key, value in host.items()), highlight=False)
    results: list[Result] = []
    with mounted() as mount:
        with telling(console, "lab") as tell:
            tell("an image and a machine that has booted are prepared, unless they are there already")
            lab = Lab(mount)
        for name in names or NAMES:
            begun = time.monotonic()
            with telling(console, name) as tell:
                results.append(_tried(lab, name, options, tell))
            report.show(results[-1], console)
            console.print(f"  {name}: {time.monotonic() - begun:.0f} s\n")
            written = report.write(results, host, stamp)  # each time: what is interrupted leaves what it has
    if (verdict := judge(results)) is not None:
        report.show(verdict, console)
        written = report.write([*results, verdict], host, stamp)
    if before is not None:
        report.show(compare(before, results), console)
    for file in written:
        console.print(f"written: {file}")
    if failed := [result.name for result in results if result.failed]:
        raise click.ClickException(f"failed: {', '.join(failed)}")


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"'{text}' must be numbers, separated by commas") from None


def _tried(lab: Lab, name: str, options: Options, tell: Tell) -> Result:
    """One that fails must not cost what the next ones would have found in hours."""
    try:
        return asyncio.run(measure(lab, name, options, tell))
    except Exception as error:
        traceback.print_exc()
        return Result(name, f"{name}: failed", [], (f"{type(error).__name__}: {error}",), failed=True)


async def measure(lab: Lab, name: str, options: Options, tell: Tell = silent) -> Result:
    """One sub-benchmark, on a daemon of its own; its setting tells the host's load before anything was started."""
    module, load = importlib.import_module(f"bench.{name}"), round(os.getloadavg()[0], 2)
    with lab.daemon(extra=WARM.get(name)) as daemon:
        async with direct(daemon) as client:
            place = Place(daemon, client, options, tell)
            found = {"load_before": load, **await setting(place)}
            result: Result = await module.run(place)
            return replace(result, setting=found)


if __name__ == "__main__":
    main()
