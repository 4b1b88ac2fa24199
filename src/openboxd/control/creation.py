"""Making a machine: everything is checked, then name, address, ports and disk are taken; booting it comes after.

A failure leaves nothing: the row is marked destroyed and the staged disk dropped.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Protocol

from openboxd.control import names, sizes
from openboxd.control.images import Images
from openboxd.control.ports import ControlStore
from openboxd.control.routes import Routes, check_routes, choose_public_port
from openboxd.errors import AlreadyExists, InvalidArgument
from openboxd.model import Caller, Image, Machine, MachineStatus, Size
from openboxd.worker.drivers import Drivers


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
    def idle_ignore_outbound(self) -> bool: ...
    @property
    def routes(self) -> Sequence[tuple[str, int]]: ...


class Creation:
    """Makes machines of a daemon, one name and address at a time."""

    def __init__(self, drivers: Drivers, store: ControlStore, images: Images, routes: Routes) -> None:
        self._drivers, self._store, self._images, self._routes = drivers, store, images, routes
        self._creating = asyncio.Lock()

    async def make(self, caller: Caller, new: Wanted) -> Machine:
        """A pending machine with its disk and its ways in.

        Raises:
            InvalidArgument: name, size, labels, routes or policy. AlreadyExists: the name is taken.
            NotFound, HostUnfit: no such image, or it was never built; QEMU is missing or too old.
            WrongState: no space.
        """
        labels = dict(new.labels)
        names.check_labels(labels)
        if new.restart_policy not in ("", "always", "never"):
            raise InvalidArgument(f"the restart policy is 'always' or 'never', not '{new.restart_policy}'")
        size = sizes.choose_size(new.vcpu, new.memory_bytes)
        check_routes(new.routes)
        if new.name:
            names.check_machine_name(new.name)
            self._check_free(new.name)
        await self._drivers.hypervisor.check()
        image = self._images.for_machine(new.image)
        if new.disk_bytes not in (0, image.disk_bytes):
            raise InvalidArgument(f"machines of image '{image.name}' have a disk of {image.disk_bytes} bytes")
        async with self._creating:  # name and address are chosen and taken in one go
            machine = self._new_machine(caller, new, image, size, labels)
            await self._store.add_machine(machine)
        try:
            await asyncio.to_thread(self._lay_disk, machine)
        except BaseException:
            await self._store.update_machine(machine.id, status=MachineStatus.DESTROYED)
            raise
        await self._routes.furnish(machine, new.routes)
        return machine

    def suggest_name(self) -> str:
        """A name that is free now."""
        return names.suggest_machine_name({machine.name for machine in self._store.machines()})

    def free_ssh_port(self) -> int:
        """A port for SSH that no machine and nobody else on the host has."""
        ports = self._drivers.settings.ssh_ports
        return choose_public_port(ports, self._store.public_ports_in_use(), self._drivers.ways)

    def _new_machine(
        self, caller: Caller, new: Wanted, image: Image, size: Size, labels: Mapping[str, str]
    ) -> Machine:
        if new.name:
            self._check_free(new.name)
        return Machine(
            id=str(uuid.uuid4()),
            name=new.name or self.suggest_name(),
            owner_id=caller.user_id,
            image=image.digest,
            image_name=image.name,
            size=size,
            disk_bytes=image.disk_bytes,
            address=sizes.choose_address(self._store.addresses_in_use()),
            mac=sizes.new_mac(),
            status=MachineStatus.PENDING,
            created_at=int(time.time()),
            restart_policy=new.restart_policy or "always",
            labels=labels,
            idle_ignore_outbound=new.idle_ignore_outbound,
            ssh_port=self.free_ssh_port(),
        )

    def _check_free(self, name: str) -> None:
        if self._store.machine_named(name) is not None:
            raise AlreadyExists(f"a machine named '{name}' exists already; choose another name")

    def _lay_disk(self, machine: Machine) -> None:
        """The machine's directory with its own copy of the image's disk."""
        pool = self._drivers.pool
        staging = pool.stage("machine")
        try:
            (staging / "checkpoints").mkdir(mode=0o700)
            pool.clone(pool.image_dir(machine.image) / "disk.raw", staging / "disk.raw")
            pool.publish(staging, pool.machine_dir(machine.id))
        finally:
            pool.discard(staging)
