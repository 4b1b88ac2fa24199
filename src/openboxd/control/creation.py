"""Making a machine: everything is checked, then name, address, ports and disk are taken; booting it comes after.

A failure leaves nothing: the row is marked destroyed and the staged disk dropped.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from openboxd.control import names, sizes
from openboxd.control.access import Access
from openboxd.control.changes import idle_secs
from openboxd.control.images import Images
from openboxd.control.permits import check_networks
from openboxd.control.ports import ControlStore
from openboxd.control.quotas import Quotas
from openboxd.control.routes import Routes, check_routes, choose_public_port
from openboxd.errors import AlreadyExists, InvalidArgument, WrongState
from openboxd.model import Caller, Machine, MachineStatus, Size
from openboxd.worker.drivers import Drivers
from openboxd.worker.steps import to_the_end
from openboxd.worker.ways import follow


class Wanted(Protocol):
    """What a new machine is to be; empty or zero means the default."""

    @property
    def name(self) -> str: ...
    @property
    def image(self) -> str: ...
    @property
    def vcpu(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def disk_bytes(self) -> int: ...
    @property
    def restart_policy(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def auto_suspend_secs(self) -> int: ...
    @property
    def auto_hibernate_secs(self) -> int: ...
    @property
    def idle_ignore_outbound(self) -> bool: ...
    @property
    def routes(self) -> Sequence[tuple[str, int]]: ...
    @property
    def isolated(self) -> bool: ...
    @property
    def networks(self) -> Sequence[str]: ...
    @property
    def org(self) -> str: ...
    @property
    def shared(self) -> bool: ...


@dataclass(frozen=True)
class Origin:
    """What a new machine is made from: an image as it was built, or a capture of a machine.

    Attributes:
        image, image_name: of the kernel and initrd that it boots.
        size: its hardware; a capture's is the captured one.
        disk: the file that its disk begins as a copy of.
        source, source_id: see `model.Machine`; empty for an image.
        base_name: what it is called, with a number if that is taken, unless a name is asked for; empty = any name.
        settings: further values of its row, by field.
    """

    image: str
    image_name: str
    size: Size
    disk_bytes: int
    disk: Path
    source: str = ""
    source_id: str = ""
    base_name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


class Creation:
    """Makes machines of a daemon, one name and address at a time."""

    def __init__(
        self, drivers: Drivers, store: ControlStore, images: Images, routes: Routes, quotas: Quotas, access: Access
    ) -> None:
        self._drivers, self._store, self._images, self._routes = drivers, store, images, routes
        self._quotas, self._access = quotas, access
        self._creating = asyncio.Lock()

    def origin_of(self, new: Wanted, size: Size) -> Origin:
        """The image that is asked for. Raises NotFound, HostUnfit, InvalidArgument."""
        image = self._images.for_machine(new.image)
        if new.disk_bytes not in (0, image.disk_bytes):
            raise InvalidArgument(f"machines of image '{image.name}' have a disk of {image.disk_bytes} bytes")
        disk = self._drivers.pool.image_dir(image.digest) / "disk.raw"
        return Origin(image.digest, image.name, size, image.disk_bytes, disk)

    async def make_from(self, caller: Caller, new: Wanted, origin: Origin) -> Machine:
        """A pending machine with its disk and its ways in.

        Raises:
            InvalidArgument: name, labels, routes or policy. AlreadyExists: the name is taken.
            NotFound, HostUnfit: the image was removed meanwhile; QEMU is missing or too old.
            WrongState: no space. Exhausted: a quota.
        """
        machine = await self.reserve(caller, new, origin)
        try:
            await self.furnish(machine, origin.disk, new.routes)
        except BaseException:
            await to_the_end(self._give_up(machine))
            raise
        return machine

    async def _give_up(self, machine: Machine) -> None:
        """Remove what there is of a machine that did not come to be. Its name is free then, also without a pool."""
        try:
            await asyncio.to_thread(self._drivers.pool.discard, self._drivers.pool.machine_dir(machine.id))
        finally:
            gone = await self._store.update_machine(machine.id, status=MachineStatus.DESTROYED)
            await follow(self._drivers.ways, gone, None)

    async def reserve(self, caller: Caller, new: Wanted, origin: Origin) -> Machine:
        """A pending machine that has its name, address and port, and nothing else yet. Raises as `make_from`."""
        check_wanted(new)
        if new.name:
            self._check_free(new.name)
        org_id, shared = self._access.place(caller, new.org, shared=new.shared)
        await self._drivers.hypervisor.check()
        await self._quotas.refresh(caller.user_id)
        async with self._creating:  # name and address are chosen and taken in one go
            self._quotas.admit_new(caller.user_id, new.name, origin.size, origin.disk)
            machine = self._new_machine(caller, new, origin)
            machine = replace(
                machine, org_id=org_id, shared=shared, networks=check_networks(new.networks) or machine.networks
            )
            if new.networks and (reason := self._drivers.network.why_not(machine)):
                raise WrongState(f"no machine in a network was made: {reason}")
            await self._store.add_machine(machine)
        return machine

    async def furnish(self, machine: Machine, disk: Path, routes: Sequence[tuple[str, int]] = ()) -> None:
        """Give a reserved machine a copy of `disk`, and its ways in.

        Raises:
            WrongState: no space; or the machine, or what it is made from, was removed meanwhile. Nothing of its
                directory is left.
        """
        try:
            await asyncio.to_thread(self._lay_disk, machine, disk)
        except FileNotFoundError:
            raise WrongState(
                f"machine '{machine.name}' was not made: what it was to be made from was removed meanwhile"
            ) from None
        present = self._store.machine(machine.id)
        if present is None or present.status is not MachineStatus.PENDING:
            await asyncio.to_thread(self._drivers.pool.discard, self._drivers.pool.machine_dir(machine.id))
            raise WrongState(f"machine '{machine.name}' was removed while it was made")
        await self._routes.furnish(machine, routes)

    def suggest_name(self) -> str:
        """A name that is free now."""
        return names.suggest_machine_name({machine.name for machine in self._store.machines()})

    def free_ssh_port(self) -> int:
        """A port for SSH that no machine and nobody else on the host has."""
        ports = self._drivers.settings.ssh_ports
        return choose_public_port(ports, self._store.public_ports_in_use(), self._drivers.ways)

    def _new_machine(self, caller: Caller, new: Wanted, origin: Origin) -> Machine:
        if new.name:
            self._check_free(new.name)
        machine = Machine(
            id=str(uuid.uuid4()),
            name=new.name or self._name_for(origin),
            owner_id=caller.user_id,
            image=origin.image,
            image_name=origin.image_name,
            size=origin.size,
            disk_bytes=origin.disk_bytes,
            address=sizes.choose_address(self._store.addresses_in_use()),
            mac=sizes.new_mac(),
            status=MachineStatus.PENDING,
            created_at=int(time.time()),
            restart_policy=new.restart_policy or "always",
            labels=dict(new.labels),
            auto_suspend_secs=idle_secs(new.auto_suspend_secs),
            auto_hibernate_secs=idle_secs(new.auto_hibernate_secs),
            idle_ignore_outbound=new.idle_ignore_outbound,
            ssh_port=self.free_ssh_port(),
            source=origin.source,
            source_id=origin.source_id,
        )
        machine = replace(machine, **origin.settings)
        return replace(machine, isolated=machine.isolated or new.isolated)  # a copy of an isolated machine is one

    def _name_for(self, origin: Origin) -> str:
        taken = {machine.name for machine in self._store.machines()}
        return names.numbered(origin.base_name, taken) if origin.base_name else self.suggest_name()

    def _check_free(self, name: str) -> None:
        if self._store.machine_named(name) is not None:
            raise AlreadyExists(f"a machine named '{name}' exists already; choose another name")

    def _lay_disk(self, machine: Machine, disk: Path) -> None:
        """The machine's directory with its own copy of a disk."""
        pool = self._drivers.pool
        staging = pool.stage("machine")
        try:
            (staging / "checkpoints").mkdir(mode=0o700)
            pool.clone(disk, staging / "disk.raw")
            pool.publish(staging, pool.machine_dir(machine.id))
        finally:
            pool.discard(staging)


def check_wanted(new: Wanted) -> None:
    """Raises InvalidArgument for a name, labels, routes or a policy that no machine can have."""
    names.check_labels(dict(new.labels))
    if new.restart_policy not in ("", "always", "never"):
        raise InvalidArgument(f"the restart policy is 'always' or 'never', not '{new.restart_policy}'")
    check_routes(new.routes)
    check_networks(new.networks)
    if new.name:
        names.check_machine_name(new.name)
