"""What a run is beside its saves: a clean process, a fresh identity, reboots in place, savers of little memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.errors import OperationFailed
from openboxd.host import pidfd
from openboxd.model import MIB
from openboxd.ports import Run, RunState, SaveJob
from openboxd.qemu.qmp import Monitor
from openboxd.qemu.rundir import RunDir
from openboxd.qemu.saving import savers_of
from tests.contracts.hypervisor import ignore
from tests.qemu.conftest import Bench

pytestmark = pytest.mark.guest


@pytest.fixture
def stray(tmp_path: Path) -> Iterator[str]:
    """A file that any child inherits unless care is taken."""
    path = tmp_path / "stray"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    os.set_inheritable(descriptor, True)
    yield str(path)
    os.close(descriptor)


def open_files(pid: int) -> set[str]:
    """What a process has open now; of one that ends meanwhile, what was seen until then."""
    found = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may close one while we look
                found.add(str(link.readlink()))
    return found


def peak_of(pid: int) -> int:
    """The most memory that a process has held, in MiB; 0 if it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        if held := re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()):  # a zombie has no such line
            return int(held[1]) // 1024
    return 0


def directory_of(bench: Bench, run: Run) -> RunDir:
    return RunDir(bench.settings().run_dir / run.run_id)


async def test_a_run_is_a_process_apart(bench: Bench, stray: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOXD_TOKEN", "secret")
    run, spec, _ = await bench.boot()
    assert os.getsid(run.pid) == run.pid
    inherited = open_files(run.pid)
    assert inherited and stray not in inherited
    limits = Path(f"/proc/{run.pid}/limits").read_text()
    assert re.search(r"Max core file size\s+0\s+0", limits)
    assert b"secret" not in Path(f"/proc/{run.pid}/environ").read_bytes()
    modes = {path.name: path.stat().st_mode & 0o777 for path in directory_of(bench, run).path.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    assert directory_of(bench, run).path.stat().st_mode & 0o777 == 0o700
    assert spec.console.stat().st_mode & 0o777 == 0o600
    await run.kill()
    assert not directory_of(bench, run).path.exists()


async def test_savers_inherit_nothing_and_stay_small(bench: Bench, stray: str) -> None:
    run, spec, port = await bench.boot()
    await port.shell("dd if=/dev/urandom of=/tmp/big bs=1M count=80 2>/dev/null")
    parent = bench.staging()
    await run.save(SaveJob(parent, spec.disk, None), ignore)
    files: set[str] = set()
    most = 0

    def look(_: object) -> None:
        nonlocal most
        for saver in savers_of(directory_of(bench, run)):
            files.update(open_files(saver.pid))
            most = max(most, peak_of(saver.pid))
            os.close(saver.pidfd)

    await run.save(SaveJob(bench.staging(), spec.disk, parent), look)
    assert files
    assert stray not in files
    assert 0 < most < 200
    print(f"a saver held at most {most} MiB")
    await run.kill()


async def test_no_zombies(bench: Bench) -> None:
    def zombies() -> list[str]:
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = stat.read_text()
            except OSError:
                continue
            state, parent = text[text.rindex(")") + 2 :].split()[:2]
            if state == "Z" and int(parent) == os.getpid():
                found.append(text)
        return found

    hypervisor = bench.hypervisor()
    spec = bench.spec()
    run = await hypervisor.boot(spec)
    await run.save(SaveJob(bench.staging(), spec.disk, None), ignore)
    os.kill(run.pid, signal.SIGKILL)
    await run.ended()
    detached = await hypervisor.boot(bench.spec())
    await detached.detach()
    watch = os.pidfd_open(detached.pid)
    os.kill(detached.pid, signal.SIGKILL)
    await pidfd.wait_gone(watch)
    os.close(watch)
    async with asyncio.timeout(30):
        while True:
            if not zombies():
                break
            await asyncio.sleep(0.01)


async def test_every_start_has_a_generation_of_its_own(bench: Bench) -> None:
    async def generation(run: Run) -> str:
        monitor = await Monitor.connect(directory_of(bench, run).saver_monitor, "test")
        answer = await monitor.ask("query-vm-generation-id")
        await monitor.close()
        return str(answer["guid"])

    hypervisor = bench.hypervisor()
    spec, capture = bench.spec(), bench.staging()
    run = await hypervisor.boot(spec)
    await run.save(SaveJob(capture, spec.disk, None), ignore)
    seen = {await generation(run)}
    await run.kill()
    for _ in range(2):
        loaded = await hypervisor.load(bench.spec(run.plan), capture, bench.connect)
        await loaded.resume()
        seen.add(await generation(loaded))
        await loaded.kill()
    assert len(seen) == 3


async def test_a_guest_reboots_in_place_booted_or_restored(bench: Bench) -> None:
    run, spec, _ = await bench.boot()
    capture = bench.staging()
    await run.save(SaveJob(capture, spec.disk, None), ignore)

    async def reboot(run: Run, console: Path) -> None:
        before = console.read_bytes().count(b"READY")
        (await bench.connect(run.agent_socket)).writer.write(b"\nreboot -f\n")
        async with asyncio.timeout(90):
            while True:
                if console.read_bytes().count(b"READY") > before:
                    break
                await asyncio.sleep(0.05)
        assert await run.state() is RunState.RUNNING

    await reboot(run, spec.console)
    await run.save(SaveJob(bench.staging(), spec.disk, capture), ignore)
    await run.kill()
    again = bench.spec(run.plan)
    loaded = await bench.hypervisor().load(again, capture, bench.connect)
    await loaded.resume()
    await bench.ticks(again)
    await reboot(loaded, again.console)
    await loaded.kill()


async def test_loading_takes_a_moment(bench: Bench) -> None:
    """Prints the figures: an agent that does not come would be waited for 1000 ms, and a busy host takes long too."""
    run, spec, _ = await bench.boot()
    capture = bench.staging()
    await run.save(SaveJob(capture, spec.disk, None), ignore)
    await run.kill()
    hypervisor = bench.hypervisor()
    await hypervisor.check()
    times = []
    for _ in range(5):
        start = time.monotonic()
        loaded = await hypervisor.load(bench.spec(run.plan), capture, bench.connect)
        times.append(round((time.monotonic() - start) * 1000))
        assert await loaded.state() is RunState.PAUSED
        await loaded.kill()
    print(f"loaded and paused after {times} ms")


async def test_a_capture_is_never_written_by_what_runs_from_it(bench: Bench) -> None:
    run, spec, _ = await bench.boot()
    capture = bench.staging()
    await run.save(SaveJob(capture, spec.disk, None), ignore)
    await run.kill()
    memory = capture / "memory.img"
    memory.chmod(0o400)
    before = memory.read_bytes()
    again = bench.spec(run.plan)
    loaded = await bench.hypervisor().load(again, capture, bench.connect)
    await loaded.resume()
    await (await bench.connect(loaded.agent_socket)).shell("dd if=/dev/urandom of=/tmp/x bs=1M count=30")
    await bench.ticks(again)
    await loaded.kill()
    assert memory.read_bytes() == before


async def test_qemus_own_reason_is_told(bench: Bench) -> None:
    run, spec, _ = await bench.boot()
    capture = bench.staging()
    await run.save(SaveJob(capture, spec.disk, None), ignore)
    await run.kill()
    plan = dict(run.plan)
    plan["devices"] = [device for device in plan["devices"] if device["id"] != "rng0"]
    with pytest.raises(OperationFailed, match="rng"):
        await bench.hypervisor().load(bench.spec(plan), capture, bench.connect)
    with pytest.raises(OperationFailed, match="size"):
        larger = {**run.plan, "ram_bytes": bench.ram + 64 * MIB}
        await bench.hypervisor().load(bench.spec(larger), capture, bench.connect)
