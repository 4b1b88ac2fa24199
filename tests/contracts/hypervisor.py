"""What every hypervisor must do. The fake one passes it as well as QEMU.

Subclasses provide the fixtures:
    hypervisor      a Hypervisor of an empty home
    again           callable: another Hypervisor of the same home, as after a restart of the daemon
    new_spec        callable(plan=None) -> RunSpec with a new run id and a disk of its own
    new_staging     callable() -> an existing empty directory in the pool
    connect         async callable(socket): the host end of the agent channel, kept open until the end of the test
    crash           callable(run): the run's process is ended from outside
    power_off       async callable(run): the guest powers itself off
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from openboxd.errors import BoxdError, MachineLost, OperationFailed
from openboxd.model import Progress
from openboxd.ports import Hypervisor, Run, RunSpec, RunState, SaveJob

NewSpec = Callable[..., RunSpec]
NewStaging = Callable[[], Path]
Connect = Callable[[Path], Awaitable[Any]]

LIMIT = 60.0

LONGEST_PAUSE_US = 5_000_000
"""A hundred times what a save takes of a guest's time, so that only a gross loss shows on a busy host."""


def ignore(progress: Progress) -> None:
    """A listener without interest."""


async def save(run: Run, spec: RunSpec, staging: Path, parent: Path | None = None) -> Path:
    """A capture of the run."""
    await run.save(SaveJob(staging, spec.disk, parent), ignore)
    return staging


class HypervisorContract:
    """Every hypervisor must pass."""

    async def test_a_booted_run_runs(self, hypervisor: Hypervisor, new_spec: NewSpec) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        assert await run.state() is RunState.RUNNING
        assert (run.run_id, run.machine_id) == (spec.run_id, spec.machine_id)
        assert run.pid > 0
        assert list(await hypervisor.leftovers()) == [spec.run_id]
        await run.kill()

    async def test_a_plan_is_plain_data(self, hypervisor: Hypervisor, new_spec: NewSpec) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        assert json.loads(json.dumps(run.plan)) == run.plan
        assert run.plan
        assert await hypervisor.plan(spec.size) == run.plan, "what is booted now has the plan that is told now"
        await run.kill()

    async def test_pausing_and_resuming_twice_is_harmless(self, hypervisor: Hypervisor, new_spec: NewSpec) -> None:
        run = await hypervisor.boot(new_spec())
        for _ in range(2):
            await run.pause()
            assert await run.state() is RunState.PAUSED
        for _ in range(2):
            await run.resume()
            assert await run.state() is RunState.RUNNING
        await run.kill()

    async def test_killing_twice_is_harmless(self, hypervisor: Hypervisor, new_spec: NewSpec) -> None:
        run = await hypervisor.boot(new_spec())
        await run.kill()
        await run.kill()
        assert await run.state() is RunState.ENDED
        assert not (await run.ended()).clean
        assert not run.agent_socket.exists()
        assert list(await hypervisor.leftovers()) == []

    async def test_orders_to_an_ended_run_say_so(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging
    ) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        await run.kill()
        for order in (run.resume, run.pause, run.powerdown):
            with pytest.raises(MachineLost):
                await order()
        with pytest.raises(MachineLost):
            await save(run, spec, new_staging())

    async def test_a_boot_that_fails_leaves_nothing(self, hypervisor: Hypervisor, new_spec: NewSpec) -> None:
        spec = new_spec()
        spec.disk.unlink()
        with pytest.raises(BoxdError):
            await hypervisor.boot(spec)
        assert list(await hypervisor.leftovers()) == []

    async def test_every_waiter_hears_of_a_crash(
        self, hypervisor: Hypervisor, new_spec: NewSpec, crash: Callable[[Run], None]
    ) -> None:
        run = await hypervisor.boot(new_spec())
        waiting = [asyncio.create_task(run.ended()) for _ in range(2)]
        impatient = asyncio.create_task(run.ended())
        await asyncio.sleep(0)
        impatient.cancel()
        crash(run)
        first, second = await asyncio.wait_for(asyncio.gather(*waiting), LIMIT)
        assert first == second
        assert not first.clean
        assert first.text
        assert await run.state() is RunState.ENDED
        await run.kill()

    async def test_a_guest_that_powers_off_ended_cleanly(
        self, hypervisor: Hypervisor, new_spec: NewSpec, power_off: Callable[[Run], Awaitable[None]]
    ) -> None:
        run = await hypervisor.boot(new_spec())
        await power_off(run)
        assert (await asyncio.wait_for(run.ended(), LIMIT)).clean
        await run.kill()

    async def test_a_save_leaves_the_machine_running(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging
    ) -> None:
        spec, staging = new_spec(), new_staging()
        run = await hypervisor.boot(spec)
        seen: list[Progress] = []
        report = await run.save(SaveJob(staging, spec.disk, None), seen.append)
        assert await run.state() is RunState.RUNNING
        names = ["devices.state", "digests.json", "disk.raw", "memory.img"]
        assert sorted(path.name for path in staging.iterdir()) == names
        assert (staging / "memory.img").stat().st_size == spec.size.memory_bytes
        assert (staging / "disk.raw").stat().st_size == spec.disk.stat().st_size
        assert 0 < report.pause_us < report.duration_ms * 1000
        assert report.pause_us < LONGEST_PAUSE_US
        assert 0 < report.written_bytes <= report.seen_bytes
        assert seen
        assert all(progress.operation == "save" for progress in seen)
        await run.kill()

    async def test_a_second_save_shares_what_its_parent_has(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging
    ) -> None:
        spec, staging = new_spec(), new_staging()
        run = await hypervisor.boot(spec)
        parent = await save(run, spec, new_staging())
        first = await run.save(SaveJob(staging, spec.disk, None), ignore)
        second = await run.save(SaveJob(new_staging(), spec.disk, parent), ignore)
        assert second.written_bytes < first.written_bytes
        await run.kill()

    async def test_a_cancelled_save_leaves_the_machine_running(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging
    ) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        begun = asyncio.Event()
        saving = asyncio.create_task(run.save(SaveJob(new_staging(), spec.disk, None), lambda _: begun.set()))
        await asyncio.wait_for(begun.wait(), LIMIT)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving
        assert await run.state() is RunState.RUNNING
        await save(run, spec, new_staging())
        assert await run.state() is RunState.RUNNING
        await run.kill()

    async def test_a_paused_run_is_saved_and_stays_paused(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging, connect: Connect
    ) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        await run.pause()
        for _ in range(2):  # nothing has run in between
            capture = new_staging()
            await run.save(SaveJob(capture, spec.disk, None, paused=True), ignore)
            assert await run.state() is RunState.PAUSED
        staging = new_staging()
        (staging / "devices.state").touch()  # is in the way
        with pytest.raises(BoxdError):
            await run.save(SaveJob(staging, spec.disk, None, paused=True), ignore)
        assert await run.state() is RunState.PAUSED
        await run.resume()
        assert await run.state() is RunState.RUNNING
        with pytest.raises(OperationFailed):
            await run.save(SaveJob(new_staging(), spec.disk, None, paused=True), ignore)
        await save(run, spec, new_staging())
        await run.kill()
        loaded = await hypervisor.load(new_spec(plan=run.plan), capture, connect)
        await loaded.resume()
        assert await loaded.state() is RunState.RUNNING
        await loaded.kill()

    async def test_a_loaded_run_waits_and_goes_on_when_told(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging, connect: Connect
    ) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        capture = await save(run, spec, new_staging())
        await run.kill()
        connected: list[Path] = []

        async def note(socket: Path) -> Any:
            connected.append(socket)
            return await connect(socket)

        for _ in range(2):  # a load does not consume the capture
            loaded = await hypervisor.load(new_spec(plan=run.plan), capture, note)
            assert await loaded.state() is RunState.PAUSED
            assert connected[-1] == loaded.agent_socket
            assert loaded.plan == run.plan
            await loaded.resume()
            assert await loaded.state() is RunState.RUNNING
            await loaded.kill()

    async def test_a_loaded_run_can_be_saved(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging, connect: Connect
    ) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        capture = await save(run, spec, new_staging())
        await run.kill()
        spec = new_spec(plan=run.plan)
        loaded = await hypervisor.load(spec, capture, connect)
        await loaded.resume()
        await save(loaded, spec, new_staging(), capture)
        assert await loaded.state() is RunState.RUNNING
        await loaded.kill()

    async def test_a_broken_capture_does_not_load_and_leaves_nothing(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging, connect: Connect
    ) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        capture = await save(run, spec, new_staging())
        await run.kill()
        state = capture / "devices.state"
        state.write_bytes(state.read_bytes()[: state.stat().st_size // 2])
        with pytest.raises(OperationFailed):
            await hypervisor.load(new_spec(plan=run.plan), capture, connect)
        assert list(await hypervisor.leftovers()) == []

    async def test_a_capture_needs_its_plan(
        self, hypervisor: Hypervisor, new_spec: NewSpec, new_staging: NewStaging, connect: Connect
    ) -> None:
        with pytest.raises(OperationFailed):
            await hypervisor.load(dataclasses.replace(new_spec(), plan=None), new_staging(), connect)

    async def test_a_run_outlives_its_daemon(
        self, hypervisor: Hypervisor, again: Callable[[], Hypervisor], new_spec: NewSpec, new_staging: NewStaging
    ) -> None:
        spec = new_spec()
        run = await hypervisor.boot(spec)
        await run.detach()
        successor = again()
        assert list(await successor.leftovers()) == [spec.run_id]
        adopted = await successor.adopt(spec.run_id)
        assert adopted is not None
        assert await adopted.state() is RunState.RUNNING
        assert (adopted.run_id, adopted.machine_id, adopted.pid) == (run.run_id, run.machine_id, run.pid)
        assert adopted.plan == run.plan
        await save(adopted, spec, new_staging())
        waiting = asyncio.create_task(adopted.ended())
        await adopted.kill()
        assert not (await asyncio.wait_for(waiting, LIMIT)).clean
        assert list(await successor.leftovers()) == []

    async def test_a_paused_run_is_adopted_as_such(
        self, hypervisor: Hypervisor, again: Callable[[], Hypervisor], new_spec: NewSpec
    ) -> None:
        run = await hypervisor.boot(new_spec())
        await run.pause()
        await run.detach()
        adopted = await again().adopt(run.run_id)
        assert adopted is not None
        assert await adopted.state() is RunState.PAUSED
        await adopted.resume()
        assert await adopted.state() is RunState.RUNNING
        await adopted.kill()

    async def test_what_is_gone_is_not_adopted(self, hypervisor: Hypervisor, new_spec: NewSpec) -> None:
        run = await hypervisor.boot(new_spec())
        await run.kill()
        assert await hypervisor.adopt(run.run_id) is None
        assert await hypervisor.adopt("0123456789ab") is None
