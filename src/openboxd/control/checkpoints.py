"""Use-cases of checkpoints and of the event log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from openboxd.control import names
from openboxd.control.base import Base
from openboxd.control.views import views
from openboxd.errors import checkpoint_not_found
from openboxd.model import Caller, Checkpoint, CheckpointView, Event, Machine, Progress, Verification
from openboxd.worker.orders import Remove, Restore, Save
from openboxd.worker.verify import verify

EVENT_LIMIT = 1000
"""Events of one listing at most."""


class Checkpoints(Base):
    """Save, restore, remove, verify; events."""

    async def save_checkpoint(self, caller: Caller, ref: str, name: str) -> Checkpoint:
        """Admit a save; answers once the checkpoint is on record as pending."""
        worker = self._worker(caller, ref)
        if name:
            names.check_checkpoint_name(name)
        else:
            name = names.generate_checkpoint_name({c.name for c in self._store.checkpoints(worker.id)})
        order = Save(checkpoint_id=names.new_checkpoint_id(), name=name, created_by=caller.author)
        await self._quotas.refresh(worker.machine.owner_id)
        await worker.submit(order, caller.author).recorded()
        found = self._store.checkpoint(worker.id, name)
        if found is None:
            raise checkpoint_not_found(name, worker.machine.name)
        return found

    async def checkpoints(self, caller: Caller, ref: str) -> Sequence[CheckpointView]:
        """A machine's checkpoints with their usage, oldest first."""
        listed = self._store.checkpoints(self.machine(caller, ref).id, removing=True)
        machine = self.machine(caller, ref)  # read last, so that its head is none that was forgotten before
        return await asyncio.to_thread(views, self._drivers.pool, machine, listed)

    async def checkpoint_done(self, caller: Caller, ref: str, name: str) -> CheckpointView:
        """Wait until a checkpoint is not pending any more."""
        worker = self._worker(caller, ref)
        names.check_checkpoint_name(name)
        await worker.saved(name)
        for view in await self.checkpoints(caller, ref):
            if view.checkpoint.name == name:
                return view
        raise checkpoint_not_found(name, worker.machine.name)

    async def restore_checkpoint(self, caller: Caller, ref: str, name: str) -> Machine:
        """Take a machine back; returns when its guest has answered."""
        worker = self._worker(caller, ref)
        names.check_checkpoint_name(name)
        order = Restore(name)
        job = worker.repeated(order, caller.author) or worker.submit(order, caller.author)
        await job.done(caller.author)
        return worker.machine

    async def remove_checkpoint(self, caller: Caller, ref: str, name: str) -> None:
        """Remove a checkpoint and its bytes."""
        worker = self._worker(caller, ref)
        names.check_checkpoint_name(name)
        await worker.submit(Remove(name), caller.author).done()

    def progress(self, caller: Caller, ref: str) -> AsyncIterator[Progress]:
        """Progress of what runs on the machine from now on."""
        return self._worker(caller, ref).progress()

    def verify_checkpoint(self, caller: Caller, ref: str, name: str) -> AsyncIterator[Progress | Verification]:
        """Read a checkpoint and compare it with its digests; progress, then what was found."""
        worker = self._worker(caller, ref)
        names.check_checkpoint_name(name)
        return verify(worker, name)

    def events(self, caller: Caller, ref: str, limit: int) -> Sequence[tuple[Event, str]]:
        """The machine's last events, oldest first, each with the name of who ordered it."""
        found = self._store.events(self.machine(caller, ref).id, min(limit or EVENT_LIMIT, EVENT_LIMIT))
        known = {actor: self.author_name(caller, actor) for actor in {event.actor for event in found}}
        return [(event, known[event.actor]) for event in found]

    def author_name(self, caller: Caller, author: str) -> str:
        """Who did something, for the caller to read: a user's name, or "machine web".

        A machine that the caller does not see is "a machine of ada". Empty for a key, and for a user who is not there
        any more.
        """
        machine = self._store.machine(author) if names.is_uuid(author) else None
        if machine is None:
            user = self._store.user(author)
            return user.name if user else ""
        if self._access.sees(caller, machine):
            return f"machine {machine.name}"
        owner = self._store.user(machine.owner_id)
        return f"a machine of {owner.name}" if owner else "a machine"
