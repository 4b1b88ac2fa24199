"""Use-cases of forks: a machine made from another one as it is now, or as it was at a checkpoint."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from openboxd.control import changes, names
from openboxd.control.base import Base
from openboxd.control.creation import Origin, Wanted
from openboxd.errors import InvalidArgument, WrongState, checkpoint_not_found
from openboxd.model import Caller, Checkpoint, CheckpointStatus, Machine, MachineStatus, Size
from openboxd.worker.orders import Start, StartFrom, gib
from openboxd.worker.steps import to_the_end

log = logging.getLogger(__name__)

LIMITS = ("isolated", "networks", "egress_allow")
"""What the source may reach; its copy reaches no more."""

INHERITED = (
    *LIMITS,
    "restart_policy",
    "idle_ignore_outbound",
    "bot_protection",
    "auto_suspend_secs",
    "auto_hibernate_secs",
)
"""Settings that a fork has from its source. Exposed ports and named routes are its own: it begins with none."""


class Forks(Base):
    """Make copies of machines."""

    async def fork_machine(
        self, caller: Caller, ref: str, new: Wanted, checkpoint: str = "", given: Collection[str] = ()
    ) -> Machine:
        """Make a copy of a machine, or of what it was at a checkpoint.

        Labels come on top of the source's; of the settings that it inherits those named in `given` are `new`'s.

        Returns when the copy runs and has answered; one of a stopped machine boots by itself. A caller who leaves
        meanwhile gets a whole machine or none.
        """
        making = asyncio.create_task(self._fork(caller, ref, new, checkpoint, given), name=f"fork {ref}")
        self._background.add(making)
        making.add_done_callback(self._made)
        return await asyncio.shield(making)

    def _made(self, making: asyncio.Task[Machine]) -> None:
        """Whoever asked may have left."""
        self._background.discard(making)
        if not making.cancelled() and (error := making.exception()) is not None:
            log.info("a fork was not made: %s", error)

    async def _fork(self, caller: Caller, ref: str, new: Wanted, checkpoint: str, given: Collection[str]) -> Machine:
        source = self.machine(caller, ref)
        found = self._checkpoint_to_fork(source, checkpoint) if checkpoint else None
        machine = await self._creation.reserve(caller, new, _origin(source, found, new, given))
        try:
            async with self._put_aside(caller, source, found, machine.name) as (capture, label):
                await self._creation.furnish(machine, capture / "disk.raw", new.routes)
                boots = found is None and await asyncio.to_thread(_is_a_disk, capture)
                order = Start() if boots else StartFrom(capture, label)
                job = self.team.worker(machine.id).submit(order, caller.author)
                if not boots:
                    await job.done()
        except BaseException:
            await to_the_end(self._give_up(machine))
            raise
        self.team.timers.changed()
        return self.machine(caller, machine.id)

    def _checkpoint_to_fork(self, source: Machine, name: str) -> Checkpoint:
        names.check_checkpoint_name(name)
        found = self._store.checkpoint(source.id, name)
        if found is None:
            raise checkpoint_not_found(name, source.name)
        if found.status is not CheckpointStatus.READY:
            raise WrongState(
                f"checkpoint '{name}' on machine '{source.name}' is {found.status}; "
                "it can be forked from once it is ready"
            )
        return found

    @asynccontextmanager
    async def _put_aside(
        self, caller: Caller, source: Machine, found: Checkpoint | None, copy: str
    ) -> AsyncIterator[tuple[Path, str]]:
        """The directory that the copy is made from, and what it is in words."""
        if found is not None:
            label = f"checkpoint '{found.name}' on machine '{source.name}'"
            directory = self._drivers.pool.checkpoint_dir(source.id, found.id)
            async with self._drivers.holds.hold(directory, f"machine '{copy}' is made from it"):
                yield directory, label
            return
        async with self._takes.of(self.team.worker(source.id), caller.author) as directory:
            yield directory, f"machine '{source.name}'"

    async def _give_up(self, machine: Machine) -> None:
        """Remove what there is of a copy that did not come to be."""
        present = self._store.machine(machine.id)
        if present is not None and present.status is not MachineStatus.DESTROYED:
            await self.team.destroy(machine.id)
        self.team.forget(machine.id)


def _is_a_disk(put_aside: Path) -> bool:
    """Whether a machine without a memory was put aside. A capture of which the memory is missing is damaged: what
    boots from its disk would look like the copy and be none."""
    return [file.name for file in put_aside.iterdir()] == ["disk.raw"]


def _origin(source: Machine, found: Checkpoint | None, new: Wanted, given: Collection[str]) -> Origin:
    size = found.size if found else source.size
    _refuse_hardware(source, size, new)
    labels = {**source.labels, **new.labels}
    names.check_labels(labels)
    settings = {name: getattr(source, name) for name in INHERITED if name not in given}
    at = changes.deadline_ms(source.delete_after_secs, source.delete_after_cron, time.time_ns() // 1_000_000)
    timer = {
        "delete_at_ms": at,
        "delete_after_secs": source.delete_after_secs,
        "delete_after_cron": source.delete_after_cron,
    }
    return Origin(
        image=source.image,
        image_name=source.image_name,
        size=size,
        disk_bytes=source.disk_bytes,
        disk=Path(),  # known when the source was put aside
        source=f"fork/{source.name}",
        source_id=source.id,
        base_name=names.fork_name(source.name),
        settings={**settings, **timer, "labels": labels},
    )


def _refuse_hardware(source: Machine, size: Size, new: Wanted) -> None:
    """A machine that goes on has the hardware that it had."""
    same = new.vcpu in (0, size.vcpu) and new.memory_bytes in (0, size.memory_bytes)
    if not same or new.disk_bytes not in (0, source.disk_bytes):
        raise InvalidArgument(
            f"a fork of machine '{source.name}' has its hardware ({size.vcpu} vCPU, {gib(size.memory_bytes)} of "
            "memory); leave the size out, and resize the fork afterwards"
        )
