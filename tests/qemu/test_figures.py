"""Figures of the README that no other test tells: the splitter's speed, and what a saver needs. Run with -s."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from openboxd.model import GIB, MIB
from openboxd.ports import SaveJob
from tests.host.xfs import mounted
from tests.qemu.bench_splitter import measure, stream
from tests.qemu.conftest import Bench

PAGES = 64 * 256  # 64 MiB
WEIGHED = (sys.executable, "-m", "tests.qemu.weighed_saver")


def test_the_splitters_speed(tmp_path: Path) -> None:
    with mounted(tmp_path / "xfs") as pool:
        data = stream(PAGES, list(range(PAGES)), 0)
        measure("first save, no parent", data, PAGES, pool / "first", None)
        measure("second save, nothing changed", data, PAGES, pool / "second", pool / "first")
        changed = stream(PAGES, list(range(PAGES)), 0, 1)
        measure("second save, everything changed", changed, PAGES, pool / "third", pool / "first")
        assert (pool / "second").read_bytes() == (pool / "first").read_bytes() != (pool / "third").read_bytes()


@pytest.mark.guest
async def test_a_savers_memory_does_not_grow_with_the_guests(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    peaks = [await peak_of_two_saves(dataclasses.replace(bench, ram=ram, ports={}), ram) for ram in (256 * MIB, GIB)]
    for ram, peak in zip((256, 1024), peaks, strict=True):
        print(f"saver of a guest with {ram} MiB, 60 % of it random: {peak / MIB:.0f} MiB at most")
    assert peaks[1] - peaks[0] < 64 * MIB  # a copy of what was added would be 450


async def peak_of_two_saves(bench: Bench, ram: int) -> int:
    """Largest resident bytes of the savers of a first save and of one with a parent."""
    run, spec, port = await bench.boot(bench.hypervisor(saver_command=WEIGHED))
    blocks = ram * 6 // 10 // MIB // 16
    await port.shell("dd if=/dev/urandom of=/tmp/one bs=1M count=16")
    await port.shell(f"for i in $(seq {blocks}); do cat /tmp/one; echo $i; done >/tmp/all", limit=240)
    peaks, parent = [], None
    for _ in range(2):
        staging = bench.staging()
        report = await run.save(SaveJob(staging, spec.disk, parent), lambda progress: None)
        print(report)
        assert report.seen_bytes > ram // 2
        peaks.append(int(staging.with_name(f"{staging.name}.peak").read_text()) * 1024)
        parent = staging
    await run.kill()
    for port in bench.ports.values():
        port.writer.close()
    return max(peaks)
