"""The worker of one machine: the only code that changes its state.

Everyone else leaves it an order. One operation runs at a time, in a task of its own; who waits for it may go away
without touching it. What a worker knows of the machine is in `known`, what it has of its run in `running`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from openboxd import logs
from openboxd.errors import BoxdError, Interrupted, OperationFailed, OutcomeUnknown, Unavailable
from openboxd.host.extents import allocated_bytes
from openboxd.host.memory import host_memory
from openboxd.model import Event, Outcome, Progress
from openboxd.worker.admission import SETTLED, Already, Refuse, Situation, admit
from openboxd.worker.drivers import Drivers
from openboxd.worker.events import note, now_ms
from openboxd.worker.job import Job, finished
from openboxd.worker.orders import Order, Save, words
from openboxd.worker.running import RunningMachine
from openboxd.worker.steps import Steps, to_the_end
from openboxd.worker.watchers import Watchers

REPEAT_LIMIT = 10.0
"""Seconds within which a call that is made again, by a caller who was lost, gets the first one's outcome."""

log = logging.getLogger(__name__)


class MachineWorker(RunningMachine):
    """See the module."""

    def __init__(self, machine_id: str, drivers: Drivers, operations: Mapping[type, Operation]) -> None:
        super().__init__(machine_id, drivers)
        self._operations = operations
        self._job: Job | None = None
        self._last: Job | None = None
        self._at_work: Job | None = None
        self.watchers = Watchers()
        self.restores = 0  # how often it was taken back while this daemon runs

    # ------------------------------------------------------------------------------------------------ what it is

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
            current=None if self._is_shown else self.current,
            checkpoints=self.drivers.store.checkpoints(self.id),
            space=pool.space(),
            host_memory=host_memory(),
            copied_bytes=0 if pool.kind == "reflink" else allocated_bytes(pool.machine_dir(self.id) / "disk.raw"),
        )

    @property
    def _is_shown(self) -> bool:
        """The order under way has done what it was to do, and everybody can see it: whoever orders something now has
        seen it and need not be refused, but waits for the rest of it."""
        return self._job is not None and self._job.concludes and self.machine.status in SETTLED

    def conclude(self) -> None:
        """What the order at work writes next is its outcome."""
        if self._at_work is not None:
            self._at_work.concludes = True

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
        """An order from its admission to its outcome; all that is logged meanwhile bears one operation id."""
        with logs.operation(self.id):
            await self._to_its_outcome(job, previous)

    async def _to_its_outcome(self, job: Job, previous: Job | None) -> None:
        error: BoxdError | None = None
        begun = now_ms()
        try:
            await _over(previous)
            await self._work(job)
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

    async def _work(self, job: Job) -> None:
        """The order itself, when it is its turn."""
        log.info("machine %s: %s", self.id, job.order)
        async with self._turn:
            self._at_work = job
            try:
                await self._operations[type(job.order)](self, job)
            finally:
                self._at_work = None
                await self._record_end()

    async def _put_down(self, job: Job, begun_ms: int, error: BoxdError | None) -> None:
        """Note an order and its outcome in the event log, and measure it."""
        event, metrics = self._event(job, begun_ms, error), self.drivers.metrics
        metrics.operations.labels(event.operation, str(event.outcome)).observe(event.duration_ms / 1000)
        if error is not None:
            metrics.failed(error, "operation")
        await note(self.drivers.store, event)

    def _event(self, job: Job, begun_ms: int, error: BoxdError | None) -> Event:
        """The order's entry in the event log."""
        order, outcome = job.order, Outcome.FAILED if error else Outcome.OK
        if isinstance(error, Interrupted):
            outcome = Outcome.TAKEN_OVER
        text = error.message if error else ""
        return Event(self.id, begun_ms, job.actor, *words(order), outcome, now_ms() - begun_ms, text)

    async def idle(self) -> None:
        """Wait until no operation runs."""
        while self._job is not None and self._job.task is not None:
            await asyncio.wait([self._job.task])

    async def saved(self, name: str) -> None:
        """Wait until no save of this name runs."""
        job = self._job
        if job is not None and isinstance(job.order, Save) and job.order.name == name and job.task is not None:
            await asyncio.wait([job.task])

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


async def _over(previous: Job | None) -> None:
    """Wait for the order before. One that has still something to do is ended: a removal came."""
    if previous is not None and previous.task is not None:
        if not previous.concludes:
            previous.task.cancel()
        await asyncio.wait([previous.task])


Operation = Callable[[MachineWorker, Job], Awaitable[None]]
"""Carries out a job's order; raises only BoxdError for expected failures."""
