"""Use-cases of machines: made, started, changed, removed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from openboxd.control import changes, names, sizes
from openboxd.control.access import Act
from openboxd.control.base import Base
from openboxd.control.creation import Wanted, check_wanted
from openboxd.errors import AlreadyExists, InvalidArgument
from openboxd.model import Caller, Machine, MachineStatus
from openboxd.worker.console import read_console
from openboxd.worker.holds import let_go_after
from openboxd.worker.orders import Reboot, Rename, Resize, Start, StartFrom, Stop
from openboxd.worker.reach import rouse
from openboxd.worker.steps import to_the_end


class Machines(Base):
    """The life of machines."""

    async def create_machine(self, caller: Caller, new: Wanted) -> Machine:
        """Make a machine and begin to boot it; a caller who leaves meanwhile gets a whole machine or none."""
        return await to_the_end(self._create(caller, new))

    async def _create(self, caller: Caller, new: Wanted) -> Machine:
        check_wanted(new)
        size = sizes.choose_size(new.vcpu, new.memory_bytes)
        origin = self._creation.origin_of(new, size)
        async with AsyncExitStack() as stack:
            template = await stack.enter_async_context(self._warming.template(origin.image, size))
            if template is not None:
                origin = replace(origin, disk=template / "disk.raw")
            machine = await self._creation.make_from(caller, new, origin)
            worker = self.team.worker(machine.id)
            if template is not None:
                label = f"the template of image '{machine.image_name}'"
                job = worker.submit(StartFrom(template, label, or_boot=True), caller.author)
                self._later(let_go_after(job, stack.pop_all()))
            else:
                image = self._images.for_machine(new.image)
                self._warming.want_after(worker.submit(Start(), caller.author), image, size)
        return self.machine(caller, machine.id)

    async def start_machine(self, caller: Caller, ref: str) -> Machine:
        """Boot a stopped or failed machine, and wake one that sleeps; returns when its guest has answered."""
        worker = self._worker(caller, ref)
        if worker.asleep:
            await rouse(worker, caller.author)
            return worker.machine
        await worker.submit(Start(), caller.author).done()
        return worker.machine

    async def stop_machine(self, caller: Caller, ref: str) -> Machine:
        """Shut a machine down."""
        worker = self._worker(caller, ref)
        await worker.submit(Stop(), caller.author).done()
        return worker.machine

    async def reboot_machine(self, caller: Caller, ref: str) -> Machine:
        """Shut a machine down and boot it with a new run."""
        worker = self._worker(caller, ref)
        await worker.submit(Reboot(), caller.author).done()
        return worker.machine

    async def rename_machine(self, caller: Caller, ref: str, name: str) -> Machine:
        """Give a machine another name; one that runs is rebooted, and this returns when its guest has answered."""
        names.check_machine_name(name)
        worker = self._worker(caller, ref, Act.MANAGE)
        other = self._store.machine_named(name)
        if other is not None and other.id != worker.id:
            raise AlreadyExists(f"a machine named '{name}' exists already; choose another name")
        await worker.submit(Rename(name), caller.author).done()
        return worker.machine

    async def resize_machine(self, caller: Caller, ref: str, vcpu: int, memory_bytes: int) -> tuple[Machine, bool]:
        """Give a machine another size; the machine, and whether it was rebooted for that."""
        worker = self._worker(caller, ref, Act.MANAGE)
        if not vcpu and not memory_bytes:
            raise InvalidArgument("say how many vCPUs or how much memory the machine is to have")
        order = Resize(sizes.choose_size(vcpu, memory_bytes))
        before = worker.machine
        await worker.submit(order, caller.author).done()
        return worker.machine, before.status is MachineStatus.RUNNING and before.size != order.size

    async def update_labels(
        self, caller: Caller, ref: str, wanted: Mapping[str, str], remove: Collection[str], *, replace_all: bool
    ) -> Mapping[str, str]:
        """Edit a machine's labels at one go; the labels afterwards."""
        async with self._editing:
            machine = self.machine(caller, ref)
            labels = changes.labels_after(machine.labels, wanted, remove, replace_all=replace_all)
            return (await self._store.update_machine(machine.id, labels=labels)).labels

    async def set_delete_after(self, caller: Caller, ref: str, secs: int, cron: str) -> Machine:
        """Set, replace or (with neither) clear the timer that removes the machine."""
        machine = self.machine(caller, ref, Act.MANAGE)
        at = changes.deadline_ms(secs, cron, time.time_ns() // 1_000_000)
        machine = await self._store.update_machine(
            machine.id, delete_at_ms=at, delete_after_secs=secs, delete_after_cron=cron
        )
        self.team.timers.changed()
        return machine

    async def set_idle_ignore_outbound(self, caller: Caller, ref: str, *, enabled: bool) -> None:
        """Keep whether connections that the machine opened itself count as use."""
        await self._store.update_machine(self.machine(caller, ref).id, idle_ignore_outbound=enabled)

    async def set_bot_protection(self, caller: Caller, ref: str, mode: str, *, enabled: bool) -> None:
        """Keep the mode of bot protection."""
        machine = self.machine(caller, ref)
        chosen = changes.bot_protection_mode(mode, enabled=enabled)
        await self._store.update_machine(machine.id, bot_protection=chosen)

    def logs(self, caller: Caller, ref: str, *, follow: bool) -> AsyncIterator[bytes]:
        """The kept end of the machine's console; with `follow` also what it says until it is removed."""
        return read_console(self._worker(caller, ref), follow=follow)

    async def destroy_machine(self, caller: Caller, ref: str) -> None:
        """End a machine and all it owns; takes over from whatever runs on it."""
        await self.team.destroy(self.machine(caller, ref, Act.REMOVE).id, caller.author)

    def suggest_name(self, caller: Caller) -> str:
        """A name that is free now."""
        return self._creation.suggest_name()
