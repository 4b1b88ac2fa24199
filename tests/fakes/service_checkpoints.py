"""Checkpoints of the fake service: rows in memory, and copies of the directories that are disks."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import AsyncIterator, Sequence

from openboxd.control import names
from openboxd.errors import (
    checkpoint_not_found,
)
from openboxd.model import (
    MIB,
    Caller,
    Checkpoint,
    CheckpointStatus,
    CheckpointView,
    Damage,
    Event,
    Machine,
    MachineStatus,
    Outcome,
    Progress,
    Usage,
    Verification,
)
from openboxd.worker.orders import Remove, Restore, Save


class ServiceCheckpoints:
    """The part of `api.ports.Service` that is about checkpoints."""

    def _find(self, machine: Machine, name: str) -> Checkpoint:
        names.check_checkpoint_name(name)
        for checkpoint in self._checkpoints[machine.id]:
            if checkpoint.name == name:
                return checkpoint
        raise checkpoint_not_found(name, machine.name)

    async def save_checkpoint(self, caller: Caller, ref: str, name: str) -> Checkpoint:
        machine = self.machine(caller, ref)
        known = self._checkpoints[machine.id]
        name = name or names.generate_checkpoint_name({checkpoint.name for checkpoint in known})
        names.check_checkpoint_name(name)
        checkpoint_id = names.new_checkpoint_id()
        order = Save(checkpoint_id, name, caller.user_id)
        with self._operation(machine, order):
            pass  # it is admitted; the work begins when this has answered
        known[:] = [row for row in known if row.name != name or row.status is not CheckpointStatus.FAILED]
        checkpoint = Checkpoint(
            id=checkpoint_id,
            machine_id=machine.id,
            name=name,
            status=CheckpointStatus.PENDING,
            created_at_ms=int(time.time() * 1000),
            created_by=caller.user_id,
            parent=machine.head,
            size=machine.size,
        )
        self._checkpoints[machine.id].append(checkpoint)
        await self._notify()
        self._busy[machine.id] = order
        self._spawn(self._save(machine, checkpoint))
        return checkpoint

    async def _save(self, machine: Machine, checkpoint: Checkpoint) -> None:
        try:
            self._report(machine, "save", "memory", 0.5)
            await self.save.wait()
            if self.fail_save:
                await self._set_checkpoint(checkpoint, status=CheckpointStatus.FAILED, failure_reason=self.fail_save)
                return
            self._files[machine.id].freeze(self.root / machine.id / checkpoint.id)
            await self._set(machine, head=checkpoint.id)
            self._note(machine, "save", checkpoint)
        finally:
            del self._busy[machine.id]
        await self._set_checkpoint(checkpoint, status=CheckpointStatus.READY, pause_us=24_300, duration_ms=1_250)

    def _note(self, machine: Machine, operation: str, checkpoint: Checkpoint) -> None:
        self.noted.append(Event(machine.id, round(time.time() * 1000), "", operation, checkpoint.name, Outcome.OK))

    def _view(self, checkpoint: Checkpoint) -> CheckpointView:
        machine = self._machines[checkpoint.machine_id]
        names = {other.id: other.name for other in self._checkpoints[machine.id]}
        ready = checkpoint.status is CheckpointStatus.READY
        return CheckpointView(
            checkpoint=checkpoint,
            usage=Usage(7 * MIB, 203 * MIB) if ready else Usage(0, 0),
            parent_name=names.get(checkpoint.parent, ""),
            is_current=machine.head == checkpoint.id,
        )

    async def checkpoints(self, caller: Caller, ref: str) -> Sequence[CheckpointView]:
        machine = self.machine(caller, ref)
        return [self._view(checkpoint) for checkpoint in self._checkpoints[machine.id]]

    async def checkpoint_done(self, caller: Caller, ref: str, name: str) -> CheckpointView:
        machine = self.machine(caller, ref)
        async with self._changed:
            await self._changed.wait_for(lambda: self._find(machine, name).status is not CheckpointStatus.PENDING)
        return self._view(self._find(machine, name))

    async def restore_checkpoint(self, caller: Caller, ref: str, name: str) -> Machine:
        machine = self.machine(caller, ref)
        checkpoint = self._find(machine, name)
        with self._operation(machine, Restore(name)):
            await self._set(machine, status=MachineStatus.STARTING)
            for session in self.sessions:
                if session.exit_code is None:
                    await session.interrupt(f"machine '{machine.name}' was restored to checkpoint '{name}'")
            self._files[machine.id].thaw(self.root / machine.id / checkpoint.id)
            self.restores += 1
            self._note(machine, "restore", checkpoint)
            self._report(machine, "restore", "resume", 1.0)
            return await self._set(
                machine, status=MachineStatus.RUNNING, head=checkpoint.id, size=checkpoint.size, status_reason=""
            )

    async def remove_checkpoint(self, caller: Caller, ref: str, name: str) -> None:
        machine = self.machine(caller, ref)
        checkpoint = self._find(machine, name)
        with self._operation(machine, Remove(name)):
            rows = self._checkpoints[machine.id]
            rows.remove(checkpoint)
            rows[:] = [
                dataclasses.replace(row, parent=checkpoint.parent if row.parent == checkpoint.id else row.parent)
                for row in rows
            ]
            if machine.head == checkpoint.id:
                await self._set(machine, head=checkpoint.parent)

    def author_name(self, caller: Caller, author: str) -> str:
        return self.user_name(author)

    async def verify_checkpoint(self, caller: Caller, ref: str, name: str) -> AsyncIterator[Progress | Verification]:
        checkpoint = self._find(self.machine(caller, ref), name)
        yield Progress("verify", "memory.img", 0.5)
        damages = [Damage("disk.raw", MIB, 2 * MIB, "is not what it was")] if name in self.damaged else []
        yield Verification(checkpoint.name, 210 * MIB, 300, tuple(damages))
