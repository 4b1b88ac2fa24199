"""Saves of busy guests: memory is what it was in the pause, and nothing that goes wrong stops a guest."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from openboxd.errors import MachineLost, OperationFailed, WrongState
from openboxd.host import pidfd
from openboxd.host.programs import stream
from openboxd.ports import Run, RunSpec, RunState, SaveJob
from openboxd.qemu import saving
from openboxd.qemu.convergence import Limits, TakeFailed
from openboxd.qemu.qmp import Monitor
from openboxd.qemu.rescue import resume
from openboxd.qemu.rundir import RunDir
from openboxd.qemu.saving import savers_of
from openboxd.qemu.stream import PAGE
from openboxd.qemu.take import Order, Take
from tests.contracts.hypervisor import ignore
from tests.host.resident import mapped
from tests.qemu.conftest import RAM, Bench

pytestmark = pytest.mark.guest


def hooked(mode: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.qemu.hooked_saver", mode)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooked savers find this package."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def directory_of(bench: Bench, run: Run) -> RunDir:
    return RunDir(bench.settings().run_dir / run.run_id)


async def read_guest_memory(monitor: Monitor, pid: int, target: Path) -> None:
    """Copy the RAM block out of QEMU's own address space: exactly what a capture must hold."""
    blocks = await monitor.ask("human-monitor-command", {"command-line": "info ramblock"})
    match = re.search(r"^\s*mem\s.*(0x[0-9a-f]+)\s+r[wo]\s*$", blocks, re.MULTILINE)
    assert match, blocks
    await asyncio.to_thread(copy_memory, pid, int(match[1], 16), target)


def copy_memory(pid: int, address: int, target: Path) -> None:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory, target.open("wb") as out:
        memory.seek(address)
        for _ in range(RAM >> 20):
            out.write(memory.read(1 << 20))


def differing_pages(one: Path, other: Path) -> int:
    count = 0
    with one.open("rb") as first, other.open("rb") as second:
        for _ in range(RAM // PAGE):
            count += first.read(PAGE) != second.read(PAGE)
    return count


async def take(bench: Bench, run: Run, spec: RunSpec, parent: Path | None, **more: Any) -> tuple[Path, Any]:
    """A save in this process."""
    monitor = await Monitor.connect(directory_of(bench, run).saver_monitor, "test")
    staging = bench.staging()
    try:
        report = await Take(monitor, Order(RAM, run.pid, spec.disk, staging, parent), lambda *_: None, **more).run()
    finally:
        await monitor.close()
    return staging, report


async def test_memory_is_what_it_was_in_the_pause(bench: Bench) -> None:
    """Ten saves in a row of a guest that dirties memory all the time, first booted, then restored."""
    run, spec, port = await bench.boot()
    await port.shell("dirty &")
    await bench.ticks(spec)
    truth = bench.home / "truth"

    async def note_truth(monitor: Monitor) -> None:
        assert not (await monitor.ask("query-status"))["running"]
        await read_guest_memory(monitor, run.pid, truth)

    parent: Path | None = None
    for number in range(10):
        if number == 5:
            assert parent is not None
            await run.kill()
            spec = bench.spec(run.plan, spec.disk)
            run = await bench.hypervisor().load(spec, parent, bench.connect)
            await run.resume()
            await bench.ticks(spec)
        capture, report = await take(bench, run, spec, parent, after_pause=note_truth)
        assert differing_pages(capture / "memory.img", truth) == 0
        assert await run.state() is RunState.RUNNING
        print(f"save {number}: {report}")
        parent = capture
    await bench.ticks(spec)
    await run.kill()


async def test_a_guest_that_never_converges_is_stopped_and_said_so(bench: Bench) -> None:
    run, spec, port = await bench.boot()
    await port.shell("dd if=/dev/urandom of=/tmp/big bs=1M count=60; scribble >/dev/null 2>&1 &")
    truth = bench.home / "truth"

    async def note_truth(monitor: Monitor) -> None:
        await read_guest_memory(monitor, run.pid, truth)

    limits = Limits(downtime_ms=1, throttle=1e9, pause=0.0)
    capture, report = await take(bench, run, spec, None, limits=limits, after_pause=note_truth)
    assert differing_pages(capture / "memory.img", truth) == 0
    assert report.forced
    assert await run.state() is RunState.RUNNING
    loaded_spec = bench.spec(run.plan)
    loaded = await bench.hypervisor().load(loaded_spec, capture, bench.connect)
    assert await loaded.state() is RunState.PAUSED
    await loaded.resume()
    await bench.ticks(loaded_spec)
    await loaded.kill()
    _, second = await take(bench, run, spec, capture)
    print(f"forced: {report}; by itself: {second}")
    await run.kill()


async def test_a_guest_that_dirties_too_fast_is_slowed_down_first(bench: Bench) -> None:
    run, spec, port = await bench.boot()
    await port.shell("dd if=/dev/urandom of=/tmp/big bs=1M count=60; scribble >/dev/null 2>&1 &")
    _, report = await take(bench, run, spec, None, limits=Limits(downtime_ms=1, throttle=0.0, pause=60.0))
    assert not report.forced
    print(report)
    await bench.ticks(spec)  # and is not slow afterwards
    await run.kill()


async def test_saves_of_a_loaded_run_leave_no_more_in_memory_than_the_guest_uses(bench: Bench) -> None:
    """A migration reads all of RAM, also what is a hole in the image that the run was loaded from."""
    run, spec, _ = await bench.boot()
    capture = bench.staging()
    await run.save(SaveJob(capture, spec.disk, None), ignore)
    await run.kill()
    spec = bench.spec(run.plan)
    run = await bench.hypervisor(saver_command=hooked("fail")).load(spec, capture, bench.connect)
    (capture / "memory.img").unlink()  # as of a removed checkpoint
    await run.resume()
    port = await bench.connect(run.agent_socket)
    written = await port.shell("dd if=/dev/urandom of=/tmp/big bs=1M count=20 2>/dev/null; md5sum /tmp/big")
    before = mapped(run.pid, "memory.img").resident
    with pytest.raises(OperationFailed):
        await run.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    failed = mapped(run.pid, "memory.img").resident
    await run.detach()
    adopted = await bench.hypervisor().adopt(run.run_id)
    assert adopted is not None
    await adopted.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    after = mapped(run.pid, "memory.img").resident
    print(f"of {RAM >> 20} MiB resident: {before >> 20}, after a failed save {failed >> 20}, after one {after >> 20}")
    assert max(before, failed, after) < RAM / 2
    assert await port.shell("md5sum /tmp/big") == written
    await bench.ticks(spec)
    await adopted.kill()


async def test_the_disk_is_of_the_same_instant(bench: Bench) -> None:
    """The clone is what the disk is while the vCPUs stand still, with a guest that writes all the time."""
    run, spec, port = await bench.boot()
    assert "/dev/vda" in await port.shell("ls /dev/vda")
    await port.shell("while :; do dd if=/dev/urandom of=/dev/vda bs=256k count=40; done >/dev/null 2>&1 &")
    async with asyncio.timeout(60):
        while True:
            if spec.disk.stat().st_blocks:
                break
            await asyncio.sleep(0.02)
    stopped: list[bytes] = []

    async def note_disk(_: Monitor) -> None:
        stopped.append(await asyncio.to_thread(spec.disk.read_bytes))

    parent = None
    for _ in range(4):
        parent, report = await take(bench, run, spec, parent, after_pause=note_disk)
        assert (parent / "disk.raw").read_bytes() == stopped[-1]
        print(report)
    assert len(set(stopped)) > 1
    loaded_spec = bench.spec(run.plan, parent / "disk.raw")
    loaded = await bench.hypervisor().load(loaded_spec, parent, bench.connect)
    await loaded.resume()
    await bench.ticks(loaded_spec)
    await loaded.kill()
    await run.kill()


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_guest_that_was_let_run_in_the_pause_is_not_saved(bench: Bench, goes_on: bool) -> None:
    """As by who watches for a full pool: memory and disk would be of two instants, however short the run was."""
    run, spec, _ = await bench.boot()

    async def let_it_run(monitor: Monitor) -> None:
        began = time.monotonic()
        for _ in range(20):
            await monitor.ask("query-status")
        print(f"a question in the pause takes {(time.monotonic() - began) / 20 * 1e6:.0f} us")
        await resume(monitor)
        if not goes_on:
            await monitor.ask("stop")

    with pytest.raises(TakeFailed, match="were let run while its disk was copied"):
        await take(bench, run, spec, None, after_pause=let_it_run)
    await expect_running_and_savable(bench, run, spec)
    _, report = await take(bench, run, spec, None)
    print(report)
    await run.kill()


async def expect_running_and_savable(bench: Bench, run: Run, spec: RunSpec) -> None:
    assert await run.state() is RunState.RUNNING
    await bench.ticks(spec)
    assert not savers_of(directory_of(bench, run))


@pytest.mark.parametrize("mode", ["die", "fail"])
async def test_a_saver_that_dies_in_the_pause_stops_nobody(bench: Bench, mode: str) -> None:
    run, spec, _ = await bench.boot(bench.hypervisor(saver_command=hooked(mode)))
    with pytest.raises(OperationFailed, match="the machine runs on"):
        await run.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    await expect_running_and_savable(bench, run, spec)
    await run.detach()
    adopted = await bench.hypervisor().adopt(run.run_id)
    assert adopted is not None
    await adopted.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    await expect_running_and_savable(bench, adopted, spec)
    await adopted.kill()


async def test_a_saver_that_hangs_in_the_pause_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "_SILENCE", 2.0)
    monkeypatch.setattr(saving, "_GRACE", 0.2)
    run, spec, _ = await bench.boot(bench.hypervisor(saver_command=hooked("hang")))
    with pytest.raises(OperationFailed, match="hung"):
        await run.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    await expect_running_and_savable(bench, run, spec)
    await run.kill()


async def test_a_saver_killed_while_it_reads_stops_nobody(bench: Bench) -> None:
    run, spec, port = await bench.boot()
    await port.shell("dd if=/dev/urandom of=/tmp/big bs=1M count=60; scribble >/dev/null 2>&1 &")

    def kill(progress: Any) -> None:
        for saver in savers_of(directory_of(bench, run)):
            pidfd.send(saver.pidfd, signal.SIGKILL)
            os.close(saver.pidfd)

    with pytest.raises(OperationFailed):
        await run.save(SaveJob(bench.staging(), spec.disk, None), kill)
    await expect_running_and_savable(bench, run, spec)
    await run.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    await run.kill()


async def test_no_space_is_refused_and_the_guest_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """RLIMIT_FSIZE would be EFBIG; a tiny filesystem of its own is honest."""
    small = bench.home / "small"
    small.mkdir()
    run, spec, port = await bench.boot()
    await port.shell("dd if=/dev/urandom of=/tmp/big bs=1M count=60 2>/dev/null")
    await stream(["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(small)], print, timeout=10)
    try:
        with pytest.raises(WrongState, match="no space"):
            await run.save(SaveJob(small, spec.disk, None), ignore)
    finally:
        await stream(["umount", str(small)], print, timeout=10)
    await expect_running_and_savable(bench, run, spec)
    await run.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    await run.kill()


async def test_a_machine_that_ends_during_its_save_is_lost(bench: Bench) -> None:
    run, spec, _ = await bench.boot()
    with pytest.raises(MachineLost):
        await run.save(SaveJob(bench.staging(), spec.disk, None), lambda _: os.kill(run.pid, signal.SIGKILL))
    assert await run.state() is RunState.ENDED
    await run.kill()


DAEMON = """
import asyncio, os, sys
from pathlib import Path
from openboxd.qemu.hypervisor import QemuHypervisor
from openboxd.settings import Settings
from openboxd.ports import SaveJob
from tests.qemu.test_saves import hooked

async def main(home, root, run_id, disk, staging, mode):
    hypervisor = QemuHypervisor(Settings(home=Path(home), run_root=Path(root), accel="tcg"),
                                **({"saver_command": hooked(mode)} if mode else {}))
    run = await hypervisor.adopt(run_id)
    await run.save(SaveJob(Path(staging), Path(disk), None), lambda progress: print(progress, flush=True))

asyncio.run(main(*sys.argv[1:]))
"""


async def daemon_that_dies(bench: Bench, run: Run, spec: RunSpec, staging: Path, mode: str) -> None:
    """Another daemon adopts the run, begins a save and is killed at the first sign of it."""
    settings = bench.settings()
    words = [str(settings.home), str(settings.run_root), run.run_id, str(spec.disk), str(staging), mode]
    daemon = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DAEMON, *words, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert daemon.stdout is not None
    async with asyncio.timeout(60):
        assert b"memory" in await daemon.stdout.readline()
    daemon.kill()
    await daemon.wait()


async def test_a_saver_goes_on_without_its_daemon(bench: Bench) -> None:
    run, spec, _ = await bench.boot()
    await run.detach()
    staging = bench.staging()
    await daemon_that_dies(bench, run, spec, staging, "")
    for saver in savers_of(directory_of(bench, run)):
        async with asyncio.timeout(60):
            await pidfd.wait_gone(saver.pidfd)
        os.close(saver.pidfd)
    await bench.ticks(spec)
    assert (staging / "disk.raw").exists()
    loaded_spec = bench.spec(run.plan)
    loaded = await bench.hypervisor().load(loaded_spec, staging, bench.connect)
    await loaded.resume()
    await bench.ticks(loaded_spec)
    await loaded.kill()
    adopted = await bench.hypervisor().adopt(run.run_id)
    assert adopted is not None
    await adopted.kill()


async def test_adoption_ends_savers_and_their_pause(bench: Bench) -> None:
    run, spec, _ = await bench.boot()
    await run.detach()
    await daemon_that_dies(bench, run, spec, bench.staging(), "hang")
    async with asyncio.timeout(60):
        while True:
            if "T" in [state_of(saver) for saver in savers_of(directory_of(bench, run))]:
                break
            await asyncio.sleep(0.02)
    adopted = await bench.hypervisor().adopt(run.run_id)
    assert adopted is not None
    assert not savers_of(directory_of(bench, run))
    assert await adopted.state() is RunState.PAUSED
    await adopted.resume()
    await expect_running_and_savable(bench, adopted, spec)
    await adopted.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    await adopted.kill()


def state_of(found: pidfd.Found) -> str:
    os.close(found.pidfd)
    stat = Path(f"/proc/{found.pid}/stat").read_text()
    return stat[stat.rindex(")") + 2]
