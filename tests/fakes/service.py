"""A stateful fake of `api.ports.Service`: machines are rows in memory, their disks directories, commands are real.

It refuses what the real service refuses, in the same words, so that clients can be wrong against it. Tests steer it:
`boot` and `save` are gates that hold a boot or a save until set, `fail_boot` and `fail_save` name a failure.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import contextmanager
from pathlib import Path

from openboxd.api.ports import NewMachine
from openboxd.control import changes, names, sizes
from openboxd.control.permits import check_egress, check_networks
from openboxd.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    Unauthenticated,
    WrongState,
    machine_not_found,
)
from openboxd.metrics import Metrics
from openboxd.model import (
    GIB,
    MIB,
    Caller,
    Checkpoint,
    Event,
    Finding,
    Image,
    Machine,
    MachineStatus,
    Membership,
    Org,
    Outcome,
    Progress,
    Size,
    Space,
    SshKey,
    User,
)
from openboxd.worker.admission import Already, Refuse, Situation, admit
from openboxd.worker.orders import Order, Reboot, Rename, Resize, Start, Stop
from tests.fakes.service_checkpoints import ServiceCheckpoints
from tests.fakes.service_exec import LocalExec
from tests.fakes.service_files import LocalFiles
from tests.fakes.service_forks import ServiceForks
from tests.fakes.service_guest import ServiceGuest
from tests.fakes.service_routes import ServiceRoutes
from tests.fakes.service_sleep import ServiceSleep
from tests.fakes.service_snapshots import ServiceSnapshots

KEY = "bxd_" + "k" * 40
IMAGE = Image("sha256:d1", "debian", 1_795_000_000, 8 * GIB, "6.12.0")
PLENTY = Space(1 << 50, 1 << 50)


class FakeService(ServiceCheckpoints, ServiceForks, ServiceSnapshots, ServiceSleep, ServiceGuest, ServiceRoutes):
    """See api.ports.Service. Build it inside a running loop; `close` ends what it started."""

    zone = "boxd.test"
    https_port = 443
    warm: Sequence[Size] = ()
    ssh_host_key = "ssh-ed25519 AAAAfake"
    data_dir = "/var/lib/boxd"

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.key = KEY
        self.boot = asyncio.Event()
        self.save = asyncio.Event()
        self.boot.set()
        self.save.set()
        self.fail_boot = ""
        self.fail_save = ""
        self.damaged: set[str] = set()
        self.sessions: list[LocalExec] = []
        self.keys: list[SshKey] = []
        self.known_images = [IMAGE]
        self.restores = 0
        self.noted: list[Event] = []
        self._machines: dict[str, Machine] = {}
        self._checkpoints: dict[str, list[Checkpoint]] = {}
        self._files: dict[str, LocalFiles] = {}
        self._busy: dict[str, Order] = {}
        self._watchers: dict[str, set[asyncio.Queue[Progress]]] = {}
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._names = 0
        self.measured = Metrics()

    async def metrics(self) -> bytes:
        return self.measured.text()

    def count_error(self, error: BaseException) -> None:
        self.measured.failed(error, "call")

    async def close(self) -> None:
        for session in self.sessions:
            await session.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- state

    async def _set(self, machine: Machine, **values) -> Machine:
        changed = dataclasses.replace(self._machines[machine.id], **values)
        self._machines[machine.id] = changed
        await self._notify()
        return changed

    async def _set_checkpoint(self, checkpoint: Checkpoint, **values) -> Checkpoint:
        changed = dataclasses.replace(checkpoint, **values)
        rows = self._checkpoints[checkpoint.machine_id]
        rows[[row.id for row in rows].index(checkpoint.id)] = changed
        await self._notify()
        return changed

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something that this service keeps is so."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(condition)

    def home(self, ref: str) -> Path:
        """The directory that stands for a machine's /home/boxd."""
        return self._files[self.machine(None, ref).id].home

    def _report(self, machine: Machine, operation: str, step: str, fraction: float | None) -> None:
        for queue in self._watchers.get(machine.id, ()):
            queue.put_nowait(Progress(operation, step, fraction))

    @contextmanager
    def _operation(self, machine: Machine, order: Order):
        """Admit an order as the worker does, and hold the machine for it; whether there is anything to do."""
        known = self._checkpoints[machine.id]
        verdict = admit(order, Situation(machine, self._busy.get(machine.id), known, PLENTY))
        if isinstance(verdict, Refuse):
            raise verdict.error
        if isinstance(verdict, Already):
            yield False
            return
        self._busy[machine.id] = order
        try:
            yield True
        finally:
            del self._busy[machine.id]

    # -- machines

    def authenticate(self, credential: str) -> Caller:
        if credential != self.key:
            raise Unauthenticated("the API key is not valid")
        return Caller("u_owner", "k_1")

    def on_revoked(self, listener: Callable[[str, str], None]) -> None:
        """Nothing is ever revoked here: see service_accounts for keys that come and go."""

    async def create_machine(self, caller: Caller, new: NewMachine) -> Machine:
        if new.restart_policy not in ("", "always", "never"):
            raise InvalidArgument(f"the restart policy is 'always' or 'never', not '{new.restart_policy}'")
        size = sizes.choose_size(new.vcpu, new.memory_bytes)
        name = new.name or self.suggest_name(caller)
        names.check_machine_name(name)
        self._check_free(name)
        if new.image and new.image not in [image.name for image in self.known_images]:
            raise NotFound(f"image '{new.image}' not found; see: boxd image list")
        number = len(self._machines) + 2
        machine = Machine(
            id=str(uuid.uuid4()),
            name=name,
            owner_id=caller.user_id,
            ssh_port=9998 + number,
            image=IMAGE.digest,
            image_name=new.image or IMAGE.name,
            size=size,
            disk_bytes=new.disk_bytes or 8 * GIB,
            address=f"10.99.0.{number}",
            mac=f"52:54:00:00:00:{number:02x}",
            status=MachineStatus.STARTING,
            created_at=int(time.time()),
            restart_policy=new.restart_policy or "always",
            labels=dict(new.labels),
            auto_suspend_secs=new.auto_suspend_secs,
            auto_hibernate_secs=new.auto_hibernate_secs,
            idle_ignore_outbound=new.idle_ignore_outbound,
            isolated=new.isolated,
        )
        self._machines[machine.id] = machine
        self._checkpoints[machine.id] = []
        self._files[machine.id] = LocalFiles(self.root / machine.id / "disk")
        self._spawn(self._boot(machine))
        return machine

    def _check_free(self, name: str) -> None:
        if any(machine.name == name for machine in self._machines.values()):
            raise AlreadyExists(f"a machine named '{name}' exists already; choose another name")

    async def _boot(self, machine: Machine) -> Machine:
        self._report(machine, "start", "boot", None)
        await self.boot.wait()
        if self.fail_boot:
            return await self._set(machine, status=MachineStatus.FAILED, status_reason=self.fail_boot)
        return await self._set(machine, status=MachineStatus.RUNNING, status_reason="", boot_time_ms=1900)

    def machine(self, caller: Caller, ref: str) -> Machine:
        for machine in self._machines.values():
            if ref in (machine.id, machine.name):
                return machine
        raise machine_not_found(ref)

    def machines(
        self, caller: Caller, selector: Sequence[str] = (), org: str = "", *, everywhere: bool = False
    ) -> Sequence[Machine]:
        if org:
            raise NotFound(f"organization '{org}' not found")
        return [machine for machine in self._machines.values() if all(_matches(machine, s) for s in selector)]

    async def start_machine(self, caller: Caller, ref: str) -> Machine:
        machine = self.machine(caller, ref)
        if machine.status is MachineStatus.STARTING:  # join
            await self.until(lambda: self._machines[machine.id].status is not MachineStatus.STARTING)
            return self._machines[machine.id]
        with self._operation(machine, Start()) as needed:
            return await self._rebooted(machine) if needed else machine

    async def _rebooted(self, machine: Machine, **values) -> Machine:
        await self._set(machine, status=MachineStatus.STARTING, **values)
        return await self._boot(machine)

    async def stop_machine(self, caller: Caller, ref: str) -> Machine:
        machine = self.machine(caller, ref)
        with self._operation(machine, Stop()) as needed:
            return await self._set(machine, status=MachineStatus.STOPPED) if needed else machine

    async def reboot_machine(self, caller: Caller, ref: str) -> Machine:
        machine = self.machine(caller, ref)
        with self._operation(machine, Reboot()):
            return await self._rebooted(machine)

    async def rename_machine(self, caller: Caller, ref: str, name: str) -> Machine:
        machine = self.machine(caller, ref)
        names.check_machine_name(name)
        if machine.name != name:
            self._check_free(name)
        return await self._changed_with_reboot(machine, Rename(name), name=name)

    async def resize_machine(self, caller: Caller, ref: str, vcpu: int, memory_bytes: int) -> tuple[Machine, bool]:
        machine = self.machine(caller, ref)
        if not vcpu and not memory_bytes:
            raise InvalidArgument("say how many vCPUs or how much memory the machine is to have")
        size = sizes.choose_size(vcpu, memory_bytes)
        rebooted = machine.status is MachineStatus.RUNNING and machine.size != size
        return await self._changed_with_reboot(machine, Resize(size), size=size), rebooted

    async def _changed_with_reboot(self, machine: Machine, order: Order, **values) -> Machine:
        with self._operation(machine, order) as needed:
            if not needed:
                return machine
            if machine.status is not MachineStatus.RUNNING:
                return await self._set(machine, **values)
            return await self._rebooted(machine, **values)

    async def update_labels(self, caller: Caller, ref: str, wanted, remove, *, replace_all: bool):
        machine = self.machine(caller, ref)
        labels = changes.labels_after(machine.labels, wanted, remove, replace_all=replace_all)
        return (await self._set(machine, labels=labels)).labels

    async def set_delete_after(self, caller: Caller, ref: str, secs: int, cron: str) -> Machine:
        at = changes.deadline_ms(secs, cron, int(time.time() * 1000))
        return await self._set(self.machine(caller, ref), delete_at_ms=at, delete_after_cron=cron)

    async def set_idle_ignore_outbound(self, caller: Caller, ref: str, *, enabled: bool) -> None:
        await self._set(self.machine(caller, ref), idle_ignore_outbound=enabled)

    async def set_networks(self, caller: Caller, ref: str, networks: Sequence[str]) -> Machine:
        return await self._set(self.machine(caller, ref), networks=check_networks(networks))

    async def set_egress_allow(self, caller: Caller, ref: str, entries: Sequence[str]) -> Machine:
        return await self._set(self.machine(caller, ref), egress_allow=check_egress(entries))

    async def set_bot_protection(self, caller: Caller, ref: str, mode: str, *, enabled: bool) -> None:
        chosen = changes.bot_protection_mode(mode, enabled=enabled)
        await self._set(self.machine(caller, ref), bot_protection=chosen)

    async def logs(self, caller: Caller, ref: str, *, follow: bool) -> AsyncIterator[bytes]:
        """Two pieces that are no text, then, if it is followed, the end of the machine."""
        machine = self.machine(caller, ref)
        yield b"Linux version 6.12\r\n"
        yield b"\x1b[2J\xff\n"
        if follow:
            async with self._changed:
                await self._changed.wait_for(lambda: machine.id not in self._machines)

    async def destroy_machine(self, caller: Caller, ref: str) -> None:
        machine = self.machine(caller, ref)
        del self._machines[machine.id]
        del self._checkpoints[machine.id]
        await self._notify()

    def suggest_name(self, caller: Caller) -> str:
        self._names += 1
        return f"brave-otter-{self._names}"

    def events(self, caller: Caller, ref: str, limit: int) -> Sequence[tuple[Event, str]]:
        machine = self.machine(caller, ref)
        at = machine.created_at * 1000
        noted = [(event, "Owner") for event in self.noted if event.machine_id == machine.id]
        known = [
            (Event(machine.id, at, caller.user_id, "start", "", Outcome.OK, 1900), "Owner"),
            *noted,
            (Event(machine.id, at + 5, "", "run ended", "", Outcome.FAILED, 0, "QEMU was killed by signal 9"), ""),
        ]
        return known[-(limit or 1000) :]

    async def progress(self, caller: Caller, ref: str) -> AsyncIterator[Progress]:
        machine = self.machine(caller, ref)
        queue: asyncio.Queue[Progress] = asyncio.Queue()
        watchers = self._watchers.setdefault(machine.id, set())
        watchers.add(queue)
        await self._notify()
        try:
            while True:
                yield await queue.get()
        finally:
            watchers.discard(queue)
            await self._notify()

    @property
    def watching(self) -> int:
        """How many are watching any machine."""
        return sum(len(queues) for queues in self._watchers.values())

    # -- images, host, account

    def images(self, caller: Caller) -> Sequence[Image]:
        return self.known_images

    def warm_sizes(self, image: Image) -> Sequence[Size]:
        return self.warm

    def boots_first(self, machine: Machine) -> bool:
        return bool(self.warm) and machine.size not in self.warm

    async def build_image(self, caller: Caller, name: str) -> AsyncIterator[Progress | Image]:
        yield Progress("build", "packages", 0.25, "base-files")
        yield Progress("build", "disk", None)
        image = dataclasses.replace(IMAGE, name=name)
        self.known_images = [*(known for known in self.known_images if known.name != name), image]
        yield image

    async def warm_image(
        self, caller: Caller, name: str, vcpu: int, memory_bytes: int
    ) -> AsyncIterator[Progress | Image]:
        found = next((image for image in self.known_images if image.name == name), None)
        if found is None:
            raise NotFound(f"image '{name}' not found; see: boxd image list")
        size = sizes.choose_size(vcpu, memory_bytes)
        yield Progress("build", "warming: boot", None, f"{size.vcpu} vCPU, {size.memory_bytes // MIB} MiB")
        yield found

    async def remove_image(self, caller: Caller, name: str) -> None:
        if name not in [image.name for image in self.known_images]:
            raise NotFound(f"image '{name}' not found; see: boxd image list")
        users = [machine.name for machine in self._machines.values() if machine.image_name == name]
        if users:
            raise WrongState(f"image '{name}' was not removed: it is used by {', '.join(users)}; remove them first")
        self.known_images = [image for image in self.known_images if image.name != name]

    def default_image(self) -> str:
        return IMAGE.name

    async def doctor(self, caller: Caller) -> Sequence[Finding]:
        return [Finding("qemu", "ok", "10.0.2"), Finding("kvm", "warning", "not usable", "load the kvm module")]

    def user(self, caller: Caller) -> User:
        return User(caller.user_id, "Owner", is_owner=True)

    def user_name(self, user_id: str) -> str:
        return "Owner"

    def org_name(self, org_id: str) -> str:
        return ""

    def orgs(self, caller: Caller) -> Sequence[tuple[Org, Membership]]:
        return []

    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]:
        return self.keys

    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None:
        self.keys = [key for key in self.keys if not device_id or key.device_id != device_id]
        self.keys.append(SshKey(caller.user_id, public_key, "SHA256:fake", device_id, label))


def _matches(machine: Machine, selector: str) -> bool:
    key, equals, value = selector.partition("=")
    return key in machine.labels and (not equals or machine.labels[key] == value)
