"""What every group of use-cases stands on: the drivers, the workers, and which machines a caller may touch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from openboxd.control.access import Access, Act
from openboxd.control.creation import Creation
from openboxd.control.credentials import Credentials
from openboxd.control.domains import Domains
from openboxd.control.images import Images
from openboxd.control.inventory import Inventory
from openboxd.control.ports import ControlStore, ImageBuilder
from openboxd.control.quotas import Quotas
from openboxd.control.routes import Routes
from openboxd.control.takes import Takes
from openboxd.control.warming import Warming
from openboxd.errors import BoxdError
from openboxd.model import Caller, Event, Finding, Machine, Outcome
from openboxd.worker.drivers import Drivers
from openboxd.worker.events import note, now_ms
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.team import Team

log = logging.getLogger(__name__)


Examine = Callable[[], Awaitable[Sequence[Finding]]]
"""Looks at the host; the findings of `boxd doctor`."""


class Base:
    """See the module."""

    def __init__(
        self,
        drivers: Drivers,
        store: ControlStore,
        builder: ImageBuilder,
        examine: Examine,
        ssh_host_key: str = "",
        root_certificate: str = "",
    ) -> None:
        self.zone = drivers.settings.zone
        self.https_port = drivers.settings.https_port
        self.ssh_host_key = ssh_host_key
        self.root_certificate = root_certificate
        self.data_dir = str(drivers.settings.home)
        self._quotas = Quotas(store, drivers.pool, lambda machine_id: self.team.current(machine_id))
        drivers = replace(drivers, allow=self._quotas.admit)
        self.team = Team(drivers)
        self._drivers, self._store, self._examine = drivers, store, examine
        self._warming = Warming(drivers)
        self._images = Images(store, drivers.pool, builder, drivers.fault, self._warming)
        self._credentials = Credentials(store)
        self._access = Access(store, drivers.settings.reach)
        self._routes = Routes(store, drivers.ways, drivers.settings.exposed_ports)
        self._domains = Domains(store, drivers.ways, self._routes, self.zone, drivers.settings.domains)
        self._background: set[asyncio.Task[Any]] = set()
        self._creation = Creation(drivers, store, self._images, self._routes, self._quotas, self._access)
        self._inventory = Inventory(store, drivers.pool, drivers.metrics)
        self._takes = Takes(drivers.pool)
        self._snapshot_saves: WeakValueDictionary[str, Job] = WeakValueDictionary()  # by id, while they run
        self._leaving: set[str] = set()  # users who are being removed: their machines are not heard any more
        self._editing = asyncio.Lock()  # an edit of labels reads, then writes

    def _later(self, work: Awaitable[None]) -> None:
        async def carry_out() -> None:
            try:
                await work
            except BoxdError as error:
                log.warning("a note in the store was not made: %s", error)

        task = asyncio.create_task(carry_out())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def machine(self, caller: Caller, ref: str, act: Act = Act.USE) -> Machine:
        """A machine by id or name, to do that with it. Raises NotFound, also for what the caller may not see."""
        return self._access.machine(caller, ref, act)

    def machines(
        self, caller: Caller, selector: Sequence[str] = (), org: str = "", *, everywhere: bool = False
    ) -> Sequence[Machine]:
        """The caller's own machines, those of an organization, or all that they see, whose labels match.

        A machine that asks is told all that it sees.
        """
        wanted = [item.partition("=") for item in selector]

        def matches(machine: Machine) -> bool:
            return all(
                machine.labels.get(key) == value if sign else key in machine.labels for key, sign, value in wanted
            )

        found = self._access.machines(caller)
        if org:
            belongs_to = self._access.listed_org(caller, org).id
            found = [machine for machine in found if machine.org_id == belongs_to]
        elif not everywhere and not caller.machine_id and not caller.is_org:
            found = [machine for machine in found if machine.owner_id == caller.user_id]
        return [machine for machine in found if matches(machine)]

    def _worker(self, caller: Caller, ref: str, act: Act = Act.USE) -> MachineWorker:
        return self.team.worker(self.machine(caller, ref, act).id)

    async def _record(self, caller: Caller, machine: Machine, what: str, detail: str = "") -> None:
        """Put into the machine's event log what somebody has changed that is no operation on its run."""
        event = Event(machine.id, now_ms(), caller.author, what, detail, Outcome.OK, 0, "")
        await note(self._drivers.store, event)
