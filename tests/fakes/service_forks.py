"""Forks of the fake service: the copy is a machine like any other, with what it has from its source."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from openboxd.api.ports import NewMachine
from openboxd.control import names
from openboxd.errors import checkpoint_not_found
from openboxd.model import Caller, Machine

IDLE = ("auto_suspend_secs", "auto_hibernate_secs", "idle_ignore_outbound")


class ServiceForks:
    """The part of `api.ports.Service` that is about forks."""

    async def fork_machine(
        self,
        caller: Caller,
        ref: str,
        new: NewMachine,
        checkpoint: str = "",
        given: Collection[str] = (),
    ) -> Machine:
        source = self.machine(caller, ref)
        if checkpoint and checkpoint not in {found.name for found in self._checkpoints[source.id]}:
            raise checkpoint_not_found(checkpoint, source.name)
        taken = {machine.name for machine in self._machines.values()}
        wanted = dataclasses.replace(
            new,
            name=new.name or names.numbered(names.fork_name(source.name), taken),
            vcpu=source.size.vcpu,
            memory_bytes=source.size.memory_bytes,
            labels={**source.labels, **new.labels},
        )
        machine = await self.create_machine(caller, wanted)
        kept = {name: getattr(source, name) for name in IDLE if name not in given}
        return await self._set(machine, **kept, source=f"fork/{source.name}", source_id=source.id)
