"""The worker of one machine: the only code that changes its state.

Everyone else leaves it an order. One operation runs at a time, in a task of its own; who waits for it may go away
without touching it. What the run does by itself (power off, crash) is noticed here too and settled between
operations. The worker holds the two things that exist only while a machine runs: its run and its agent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from openboxd import logs
from openboxd.errors import (
    BoxdError,
    Interrupted,
    OperationFailed,
    OutcomeUnknown,
    Unavailable,
    WrongState,
    machine_not_found,
)
from openboxd.host.extents import allocated_bytes
from openboxd.host.memory import host_memory
from openboxd.model import Event, Held, Machine, MachineStatus, Outcome, Progress
from openboxd.ports import Agent, Run, RunEnd
from openboxd.worker.admission import Already, Refuse, Situation, admit
from openboxd.worker.drivers import Drivers
from openboxd.worker.events import RUN_ENDED, STALLED, STANDS_STILL, happened, note, now_ms
from openboxd.worker.job import Job, finished
from openboxd.worker.links import let_go
from openboxd.worker.orders import Order, Save, words
from openboxd.worker.states import ASLEEP, may_move
from openboxd.worker.steps import Steps, to_the_end
from openboxd.worker.use import Use
from openboxd.worker.watchers import Watchers
from openboxd.worker.ways import follow, ways_in

REPEAT_LIMIT = 10.0
"""Seconds within which a call that is made again, by a caller who was lost, gets the first one's outcome."""

log = logging.getLogger(__name__)


class MachineWorker:
    """See the module."""

    def __init__(self, machine_id: str, drivers: Drivers, operations: Mapping[type, Operation]) -> None:
        self.id = machine_id
        self.drivers = drivers
        self.run: Run | None = None
        self.agent: Agent | None = None
        self._operations = operations
        self._job: Job | None = None
        self._end: RunEnd | None = None
        self._watch: asyncio.Task[None] | None = None
        self.stalled = False  # the guest stands still: there is no room for what it writes
        self._showing: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self.watchers = Watchers()
        self._last: Job | None = None
        self.use = Use()
        self.asleep = False  # whoever uses the machine wakes it
        self.on_running: Callable[[], None] = lambda: None  # told when it has begun to run
        self.last_hold = Held()  # what the last swap cost those who came in meanwhile
        self.restores = 0  # how often it was taken back while this daemon runs

    # ------------------------------------------------------------------------------------------------ what it is

    @property
    def machine(self) -> Machine:
        """The machine as the store has it. Raises NotFound once it is destroyed."""
        machine = self.drivers.store.machine(self.id)
        if machine is None or machine.status is MachineStatus.DESTROYED:
            raise machine_not_found(machine.name if machine else self.id)
        return machine

    @property
    def exists(self) -> bool:
        """Whether the machine is not destroyed."""
        machine = self.drivers.store.machine(self.id)
        return machine is not None and machine.status is not MachineStatus.DESTROYED

    @property
    def job(self) -> Job | None:
        """The job of the order being carried out."""
        return self._job

    @property
    def current(self) -> Order | None:
        """The order being carried out."""
        return self._job.order if self._job else None

    @property
    def in_use(self) -> bool:
        """Whether somebody uses the machine just now, or something is being done to it."""
        return self.use.is_open or self._job is not None or self.drivers.ways.in_use(self.id)

    async def move(self, status: MachineStatus, reason: str = "", **values: Any) -> Machine:
        """Change the machine's status, checked against the table of moves."""
        machine = self.machine
        if not may_move(machine.status, status):
            raise WrongState(f"machine '{machine.name}' cannot become {status}; it is {machine.status}")
        begins = status is MachineStatus.RUNNING is not machine.status
        machine = await self.drivers.store.update_machine(self.id, status=status, status_reason=reason, **values)
        if begins:
            self.use.touch()
            self.on_running()
        if "name" in values:
            await self.arrange_ways()
        await self.let_in()
        return machine

    async def let_in(self) -> None:
        """Let the ways in be as the machine is: open, held or shut."""
        machine = self.drivers.store.machine(self.id)
        if machine is None:
            return
        self.asleep = machine.status in ASLEEP
        held = await follow(self.drivers.ways, machine, self.agent)
        if machine.status is MachineStatus.RUNNING:
            self.last_hold = held

    async def arrange_ways(self) -> None:
        """Let the machine have the ways in that are on record."""
        if self.exists:
            machine = self.machine
            await self.drivers.ways.arrange(self.id, machine.name, ways_in(self.drivers.store, machine))

    # ------------------------------------------------------------------------------------------------- orders

    def submit(self, order: Order, actor: str = "") -> Job:
        """Admit an order of `actor` and begin to carry it out.

        Returns:
            The job, or that of the same order already under way, or a finished one where nothing is to be done.

        Raises:
            BoxdError: refused; nothing was touched.
        """
        verdict = admit(order, self._situation())
        if isinstance(verdict, Refuse):
            raise verdict.error
        if isinstance(verdict, Already):
            return self._job if self._job and self._job.order == order else finished(order)
        self.drivers.allow(self.machine, order)
        if actor:
            self.use.touch()
        job, previous = Job(order, actor), self._job
        self._job, self._last = job, job
        job.task = asyncio.create_task(self._carry_out(job, previous), name=f"{self.id}: {order}")
        return job

    def _situation(self) -> Situation:
        pool = self.drivers.pool
        pool.check()
        return Situation(
            machine=self.machine,
            current=self.current,
            checkpoints=self.drivers.store.checkpoints(self.id),
            space=pool.space(),
            host_memory=host_memory(),
            copied_bytes=0 if pool.kind == "reflink" else allocated_bytes(pool.machine_dir(self.id) / "disk.raw"),
        )

    def repeated(self, order: Order, asker: str) -> Job | None:
        """The job whose outcome `asker` was lost before, if they ask for the same again and nothing came between.

        A client that lost its connection repeats its call; an order that leaves no trace, such as a restore, must not
        be carried out twice for that.
        """
        last = self._last
        if last is None or last.order != order or asker not in last.abandoned:
            return None
        heard_late = last.finished_at and time.monotonic() - last.finished_at > REPEAT_LIMIT
        return None if heard_late else last

    async def _carry_out(self, job: Job, previous: Job | None) -> None:
        if previous is not None and previous.task is not None:
            previous.task.cancel()
            await asyncio.wait([previous.task])
        error: BoxdError | None = None
        begun = now_ms()
        try:
            with logs.operation(self.id):
                log.info("machine %s: %s", self.id, job.order)
                async with self._turn:
                    try:
                        await self._operations[type(job.order)](self, job)
                    finally:
                        await self._record_end()
        except Unavailable as failure:
            # Clients repeat what was UNAVAILABLE, and an operation that has begun may have changed something.
            error = OperationFailed(failure.message)
        except BoxdError as failure:
            error = failure
        except asyncio.CancelledError:
            error = Interrupted(f"{job.order} was ended because the machine is being removed")
            raise
        except Exception:
            log.exception("machine %s: %s broke off", self.id, job.order)
            error = OutcomeUnknown(
                f"{job.order} broke off by a fault inside boxd; ask for the machine's status and see the daemon's log"
            )
        finally:
            try:
                await to_the_end(self._put_down(job, begun, error))
            finally:  # a removal may come just now: who waits for this order is told all the same
                if self._job is job:
                    self._job = None
                    self.watchers.forget()
                job.finish(error)
                if error is not None:
                    log.warning("machine %s: %s: %s", self.id, job.order, error)

    async def _put_down(self, job: Job, begun_ms: int, error: BoxdError | None) -> None:
        """Note an order and its outcome in the event log, and measure it."""
        event, metrics = self._event(job, begun_ms, error), self.drivers.metrics
        metrics.operations.labels(event.operation, str(event.outcome)).observe(event.duration_ms / 1000)
        if error is not None:
            metrics.failed(error)
        await note(self.drivers.store, event)

    def _event(self, job: Job, begun_ms: int, error: BoxdError | None) -> Event:
        """The order's entry in the event log."""
        order, outcome = job.order, Outcome.FAILED if error else Outcome.OK
        if isinstance(error, Interrupted):
            outcome = Outcome.TAKEN_OVER
        text = error.message if error else ""
        return Event(self.id, begun_ms, job.actor, *words(order), outcome, now_ms() - begun_ms, text)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """While the block runs no operation begins; waits for one that runs."""
        async with self._turn:
            yield

    async def idle(self) -> None:
        """Wait until no operation runs."""
        while self._job is not None and self._job.task is not None:
            await asyncio.wait([self._job.task])

    async def saved(self, name: str) -> None:
        """Wait until no save of this name runs."""
        job = self._job
        if job is not None and isinstance(job.order, Save) and job.order.name == name and job.task is not None:
            await asyncio.wait([job.task])

    # ------------------------------------------------------------------------------------------- run and agent

    def attach(self, run: Run, agent: Agent) -> None:
        """Make `run` this machine's run and watch it."""
        self.detach_run()
        self.run, self.agent, self._end = run, agent, None
        self._watch = asyncio.create_task(self._watch_run(run), name=f"{self.id}: run {run.run_id}")
        run.watch_stalls(lambda stalled: self._stall(run, stalled), lambda: self.drivers.pool.space().free_bytes)

    @property
    def stands_still(self) -> str:
        """Why the guest stands still although it should run, as a clause; empty if it does not."""
        return STANDS_STILL if self.stalled else ""

    def _stall(self, run: Run, stalled: bool) -> None:
        """The guest stands still for want of room, or goes on."""
        if self.run is run and self.stalled != stalled:
            self.stalled = stalled
            self._showing = asyncio.create_task(self._show_stall(stalled), name=f"{self.id}: stall")

    async def _show_stall(self, stalled: bool) -> None:
        """It counts as running: it does by itself as soon as it can. What holds it up is the status' reason."""
        log.warning("machine %s: %s", self.id, STANDS_STILL if stalled else "it goes on")
        try:
            status = self.machine.status
            if status in (MachineStatus.RUNNING, MachineStatus.STARTING):
                await self.move(status, reason=self.stands_still)
        except BoxdError as error:  # the store may be on the filesystem that is full
            log.warning("machine %s: its status has no reason: %s", self.id, error)
        await note(self.drivers.store, happened(self.id, STALLED if stalled else "go on", "", STANDS_STILL * stalled))

    def detach_run(self) -> None:
        """Stop watching the present run; the run itself is not touched."""
        if self._watch is not None:
            self._watch.cancel()
        self.run, self.agent, self._watch, self._end, self.stalled = None, None, None, None, False

    async def _watch_run(self, run: Run) -> None:
        end = await run.ended()
        if self.run is run:
            self._end = end
            self._settling = asyncio.create_task(self._settle(), name=f"{self.id}: run {run.run_id} ended")

    async def _settle(self) -> None:
        """Record the end of a run that nobody ordered, once no operation is under way."""
        async with self._turn:
            await self._record_end()

    async def _record_end(self) -> None:
        """Show what became of a run that has ended by itself. Does nothing while the run lives."""
        run, agent, end = self.run, self.agent, self._end
        if run is None or end is None:
            return
        self.run, self.agent, self._end = None, None, None
        log.info("machine %s: its run ended: %s", self.id, end.text)
        if agent is not None:
            await agent.close(f"the machine stopped: {end.text}")
        await run.kill()
        await let_go(self.drivers.network, self.machine, run.run_id)
        if self.machine.status in (MachineStatus.RUNNING, MachineStatus.STARTING, MachineStatus.SUSPENDED):
            status = MachineStatus.STOPPED if end.clean else MachineStatus.FAILED
            await self.move(status, reason="" if end.clean else end.text, run_id="")
            error = "" if end.clean else end.text
            await note(self.drivers.store, happened(self.id, RUN_ENDED, end.text if end.clean else "", error))

    # ----------------------------------------------------------------------------------------------- progress

    def report(self, progress: Progress) -> None:
        """Tell those who watch."""
        self.watchers.report(progress)

    def progress(self) -> AsyncIterator[Progress]:
        """Progress from now on, until closed."""
        return self.watchers.watch()

    def steps(self, operation: str, operation_id: int | None = None) -> Steps:
        """Steps that report progress, are journalled under `operation_id`, and can be failed by tests."""

        async def enter(step: str) -> None:
            self.report(Progress(operation, step))
            if operation_id is not None:
                await self.drivers.store.step_operation(operation_id, step)

        return Steps(operation, enter=enter, fault=self.drivers.fault)

    async def journal(self, kind: str, detail: Mapping[str, Any]) -> int:
        """Journal an operation; its id. Whoever is cancelled meanwhile has begun none: what was written is ended."""
        store = self.drivers.store
        begun = asyncio.ensure_future(store.begin_operation(self.id, kind, detail))
        try:
            return await asyncio.shield(begun)
        except asyncio.CancelledError:
            await to_the_end(store.end_operation(await begun))
            raise

    def relabel(self, operation: str) -> Callable[[Progress], None]:
        """A report function for drivers whose progress belongs to `operation`."""
        return lambda progress: self.report(replace(progress, operation=operation))


Operation = Callable[[MachineWorker, Job], Awaitable[None]]
"""Carries out a job's order; raises only BoxdError for expected failures."""
