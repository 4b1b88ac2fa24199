"""The use-cases: who may, what is recorded, which worker is given the order.

Everything the API offers goes through here. Control decides nothing about the machine itself: that is the worker's
admission. A machine belongs to its owner; what others own looks exactly like what does not exist.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence

from openboxd.control import changes, names, sizes
from openboxd.control.creation import Creation, Wanted
from openboxd.control.credentials import Credentials
from openboxd.control.images import Images
from openboxd.control.ports import ControlStore, ImageBuilder
from openboxd.control.routes import Routes
from openboxd.control.views import views
from openboxd.errors import (
    AlreadyExists,
    BoxdError,
    InvalidArgument,
    OperationFailed,
    checkpoint_not_found,
    machine_not_found,
)
from openboxd.model import (
    LIST_LIMIT,
    ApiKey,
    Caller,
    Checkpoint,
    CheckpointView,
    Event,
    ExecRequest,
    ExposedPort,
    Finding,
    Held,
    Image,
    Listing,
    Machine,
    MachineStatus,
    Progress,
    RouteView,
    SshKey,
    Token,
    User,
    Verification,
)
from openboxd.ports import Agent, ExecSession
from openboxd.worker.console import read_console
from openboxd.worker.drivers import Drivers
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Reboot, Remove, Rename, Resize, Restore, Save, Start, Stop
from openboxd.worker.steps import to_the_end
from openboxd.worker.team import Team
from openboxd.worker.verify import verify

EVENT_LIMIT = 1000
"""Events of one listing at most."""

CONNECTED_EVERY_MS = 10_000
"""How exactly `last_connected_ms` is kept: a write for every command would be more work than many commands."""

log = logging.getLogger(__name__)


Examine = Callable[[], Awaitable[Sequence[Finding]]]
"""Looks at the host; the findings of `boxd doctor`."""


class Control:
    """Implements `api.ports.Service`."""

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
        self.ssh_host_key = ssh_host_key
        self.root_certificate = root_certificate
        self.data_dir = str(drivers.settings.home)
        self.team = Team(drivers)
        self._drivers, self._store, self._examine = drivers, store, examine
        self._images = Images(store, drivers.pool, builder, drivers.fault)
        self._credentials = Credentials(store)
        self._routes = Routes(store, drivers.ways)
        self._background: set[asyncio.Task[None]] = set()
        self._creation = Creation(drivers, store, self._images, self._routes)
        self._editing = asyncio.Lock()  # an edit of labels reads, then writes

    async def close(self, limit: float = 30.0) -> None:
        """Stop serving: end builds, wait for operations up to `limit` seconds, let go of the machines."""
        await self._images.close()
        await self.team.close(limit)

    # ------------------------------------------------------------------------------------------------ account

    def authenticate(self, credential: str) -> Caller:
        """Raises Unauthenticated unless `credential` is a valid API key or token."""
        caller, key = self._credentials.authenticate(credential)
        if self._credentials.is_due(key):
            self._later(self._credentials.note_use(key))
        return caller

    async def exchange(self, key: str) -> Token:
        """A token for an API key. Raises Unauthenticated."""
        return await self._credentials.exchange(key)

    def _later(self, work: Awaitable[None]) -> None:
        async def carry_out() -> None:
            try:
                await work
            except BoxdError as error:
                log.warning("a note in the store was not made: %s", error)

        task = asyncio.create_task(carry_out())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def user(self, caller: Caller) -> User:
        """The caller's account."""
        user = self._store.user(caller.user_id)
        if user is None:
            raise OperationFailed("the account behind this key does not exist any more")
        return user

    def api_keys(self, caller: Caller) -> Sequence[ApiKey]:
        """The caller's API keys."""
        return self._credentials.keys(caller)

    async def create_api_key(self, caller: Caller, name: str, lifetime: int) -> tuple[ApiKey, str]:
        """Make a key that lives `lifetime` seconds, 0 = without end."""
        return await self._credentials.create_key(caller, name, lifetime)

    async def delete_api_key(self, caller: Caller, key_id: str) -> None:
        """Delete a key, which opens nothing from now on."""
        await self._credentials.delete_key(caller, key_id)

    def on_revoked(self, listener: Callable[[str], None]) -> None:
        """Be told the id of every key that is deleted from now on."""
        self._credentials.on_revoked(listener)

    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]:
        """The caller's linked SSH keys."""
        return self._credentials.ssh_keys(caller)

    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None:
        """Link a public SSH key."""
        await self._credentials.link_ssh_key(caller, public_key, device_id, label)

    async def unlink_ssh_key(self, caller: Caller, fingerprint: str) -> None:
        """Remove a linked SSH key."""
        await self._credentials.unlink_ssh_key(caller, fingerprint)

    # ----------------------------------------------------------------------------------------------- machines

    async def create_machine(self, caller: Caller, new: Wanted) -> Machine:
        """Make a machine and begin to boot it; a caller who leaves meanwhile gets a whole machine or none."""
        return await to_the_end(self._create(caller, new))

    async def _create(self, caller: Caller, new: Wanted) -> Machine:
        machine = await self._creation.make(caller, new)
        self.team.worker(machine.id).submit(Start(), caller.user_id)
        return self.machine(caller, machine.id)

    def machine(self, caller: Caller, ref: str) -> Machine:
        """A machine by id or name. Raises NotFound, also for what the caller may not see."""
        machine = self._store.machine(ref) if names.is_uuid(ref) else self._store.machine_named(ref)
        if machine is None or machine.status is MachineStatus.DESTROYED or machine.owner_id != caller.user_id:
            raise machine_not_found(ref)
        return machine

    def machines(self, caller: Caller, selector: Sequence[str] = ()) -> Sequence[Machine]:
        """The caller's machines whose labels match every "k=v" or "k"."""
        wanted = [item.partition("=") for item in selector]

        def matches(machine: Machine) -> bool:
            return all(
                machine.labels.get(key) == value if sign else key in machine.labels for key, sign, value in wanted
            )

        return [m for m in self._store.machines() if m.owner_id == caller.user_id and matches(m)]

    def _worker(self, caller: Caller, ref: str) -> MachineWorker:
        return self.team.worker(self.machine(caller, ref).id)

    async def start_machine(self, caller: Caller, ref: str) -> Machine:
        """Boot a stopped or failed machine; returns when its guest has answered."""
        worker = self._worker(caller, ref)
        await worker.submit(Start(), caller.user_id).done()
        return worker.machine

    async def stop_machine(self, caller: Caller, ref: str) -> Machine:
        """Shut a machine down."""
        worker = self._worker(caller, ref)
        await worker.submit(Stop(), caller.user_id).done()
        return worker.machine

    async def reboot_machine(self, caller: Caller, ref: str) -> Machine:
        """Shut a machine down and boot it with a new run."""
        worker = self._worker(caller, ref)
        await worker.submit(Reboot(), caller.user_id).done()
        return worker.machine

    async def rename_machine(self, caller: Caller, ref: str, name: str) -> Machine:
        """Give a machine another name; one that runs is rebooted, and this returns when its guest has answered."""
        names.check_machine_name(name)
        worker = self._worker(caller, ref)
        other = self._store.machine_named(name)
        if other is not None and other.id != worker.id:
            raise AlreadyExists(f"a machine named '{name}' exists already; choose another name")
        await worker.submit(Rename(name), caller.user_id).done()
        return worker.machine

    async def resize_machine(self, caller: Caller, ref: str, vcpu: int, memory_bytes: int) -> tuple[Machine, bool]:
        """Give a machine another size; the machine, and whether it was rebooted for that."""
        worker = self._worker(caller, ref)
        if not vcpu and not memory_bytes:
            raise InvalidArgument("say how many vCPUs or how much memory the machine is to have")
        order = Resize(sizes.choose_size(vcpu, memory_bytes))
        before = worker.machine
        await worker.submit(order, caller.user_id).done()
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
        machine = self.machine(caller, ref)
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
        await self.team.destroy(self.machine(caller, ref).id, caller.user_id)

    def suggest_name(self, caller: Caller) -> str:
        """A name that is free now."""
        return self._creation.suggest_name()

    # ------------------------------------------------------------------------------------------------ ways in

    async def arrange_ways(self) -> None:
        """Listen for all machines; call once, before they are recovered. Clients wait until theirs is there."""
        for machine in self._store.machines():
            if not machine.ssh_port:  # made before machines had one
                machine = await self._store.update_machine(machine.id, ssh_port=self._creation.free_ssh_port())
            await self._routes.arrange(machine)

    async def routes(self, caller: Caller, ref: str = "") -> Sequence[RouteView]:
        """The routes of a machine, or of all the caller's machines."""
        found = [self.machine(caller, ref)] if ref else self.machines(caller)
        return [view for machine in found for view in await self._routes.listed(machine)]

    async def create_route(self, caller: Caller, ref: str, name: str, port: int) -> RouteView:
        """Give a machine a named route."""
        machine = self.machine(caller, ref)
        return RouteView(await self._routes.create(machine, name, port), machine, port)

    async def set_route_port(self, caller: Caller, ref: str, name: str, port: str) -> None:
        """Let a route lead to another port; "auto" lets the default route find its port."""
        await self._routes.set_port(self.machine(caller, ref), name, port)

    async def delete_route(self, caller: Caller, ref: str, name: str) -> None:
        """Remove a named route."""
        await self._routes.delete(self.machine(caller, ref), name)

    async def expose_port(self, caller: Caller, ref: str, port: int, protocol: str) -> tuple[Machine, ExposedPort]:
        """Give a machine's port a public one."""
        machine = self.machine(caller, ref)
        return machine, await self._routes.expose(machine, port, protocol)

    async def unexpose_port(self, caller: Caller, ref: str, port: int) -> tuple[Machine, ExposedPort]:
        """Take a port's public one away."""
        machine = self.machine(caller, ref)
        return machine, await self._routes.unexpose(machine, port)

    def exposed_ports(self, caller: Caller, ref: str = "") -> Sequence[tuple[Machine, ExposedPort]]:
        """The exposed ports of a machine, or of all the caller's machines."""
        found = [self.machine(caller, ref)] if ref else self.machines(caller)
        return [(machine, exposed) for machine in found for exposed in self._routes.exposed(machine)]

    def last_hold(self, caller: Caller, ref: str) -> Held:
        """What the machine's last swap cost those who came in meanwhile."""
        return self._worker(caller, ref).last_hold

    # -------------------------------------------------------------------------------------------- checkpoints

    async def save_checkpoint(self, caller: Caller, ref: str, name: str) -> Checkpoint:
        """Admit a save; answers once the checkpoint is on record as pending."""
        worker = self._worker(caller, ref)
        if name:
            names.check_checkpoint_name(name)
        else:
            name = names.generate_checkpoint_name({c.name for c in self._store.checkpoints(worker.id)})
        order = Save(checkpoint_id=names.new_checkpoint_id(), name=name, created_by=caller.user_id)
        await worker.submit(order, caller.user_id).recorded()
        found = self._store.checkpoint(worker.id, name)
        if found is None:
            raise checkpoint_not_found(name, worker.machine.name)
        return found

    async def checkpoints(self, caller: Caller, ref: str) -> Sequence[CheckpointView]:
        """A machine's checkpoints with their usage, oldest first."""
        machine = self.machine(caller, ref)
        listed = self._store.checkpoints(machine.id)
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
        job = worker.repeated(order, caller.user_id) or worker.submit(order, caller.user_id)
        await job.done(caller.user_id)
        return worker.machine

    async def remove_checkpoint(self, caller: Caller, ref: str, name: str) -> None:
        """Remove a checkpoint and its bytes."""
        worker = self._worker(caller, ref)
        names.check_checkpoint_name(name)
        await worker.submit(Remove(name), caller.user_id).done()

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
        users = {user.id: user.name for user in self._store.users()}
        found = self._store.events(self.machine(caller, ref).id, min(limit or EVENT_LIMIT, EVENT_LIMIT))
        return [(event, users.get(event.actor, "")) for event in found]

    # -------------------------------------------------------------------------------------------------- guest

    async def _agent(self, caller: Caller, ref: str) -> Agent:
        worker = self._worker(caller, ref)
        agent = await worker.reachable_agent()
        now = time.time_ns() // 1_000_000
        if now - worker.machine.last_connected_ms > CONNECTED_EVERY_MS:
            self._later(self._note_connected(worker.id, now))
        return agent

    async def _note_connected(self, machine_id: str, now: int) -> None:
        await self._store.update_machine(machine_id, last_connected_ms=now)

    async def exec(self, caller: Caller, ref: str, request: ExecRequest) -> ExecSession:
        """Start a command in the guest."""
        return await (await self._agent(caller, ref)).exec(request)

    async def upload(self, caller: Caller, ref: str, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        """Write a file in the guest, atomically."""
        return await (await self._agent(caller, ref)).upload(path, total_size, data)

    async def download(self, caller: Caller, ref: str, path: str) -> tuple[int, AsyncIterator[bytes]]:
        """Read a file of the guest."""
        return await (await self._agent(caller, ref)).download(path)

    async def list_dir(self, caller: Caller, ref: str, path: str) -> Listing:
        """List a directory of the guest."""
        return await (await self._agent(caller, ref)).list_dir(path, LIST_LIMIT)

    async def mkdir(self, caller: Caller, ref: str, path: str) -> None:
        """Make a directory in the guest."""
        await (await self._agent(caller, ref)).mkdir(path)

    async def rename_path(self, caller: Caller, ref: str, old: str, new: str) -> None:
        """Rename in the guest."""
        await (await self._agent(caller, ref)).rename(old, new)

    async def delete_path(self, caller: Caller, ref: str, path: str) -> None:
        """Delete a file or tree in the guest."""
        await (await self._agent(caller, ref)).delete(path)

    async def copy_path(self, caller: Caller, ref: str, old: str, new: str) -> None:
        """Copy a file or tree in the guest."""
        await (await self._agent(caller, ref)).copy(old, new)

    # ----------------------------------------------------------------------------------------- images and host

    def images(self, caller: Caller) -> Sequence[Image]:
        """All images of this host."""
        return self._images.listed()

    def build_image(self, caller: Caller, name: str) -> AsyncIterator[Progress | Image]:
        """Build or join or reuse; progress, then the image."""
        return self._images.build(name)

    async def remove_image(self, caller: Caller, name: str) -> None:
        """Remove an image that no machine uses."""
        await self._images.remove(name)

    def default_image(self) -> str:
        """Name of the default image."""
        return self._images.default

    async def doctor(self, caller: Caller) -> Sequence[Finding]:
        """What this host offers and lacks."""
        return await self._examine()
