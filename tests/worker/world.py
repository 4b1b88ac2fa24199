"""A whole service over fakes: the real control, workers, store and pool; a fake host, guests and agents.

`World` outlives its daemons: `start()` makes one, `kill()` ends it as SIGKILL would, and the next `start()` recovers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from openboxd.api.ports import NewMachine
from openboxd.control.control import Control
from openboxd.model import (
    MIB,
    Caller,
    CheckpointStatus,
    ExecRequest,
    Finding,
    Image,
    Machine,
    MachineStatus,
    Snapshot,
    User,
)
from openboxd.pool import DirectoryPool
from openboxd.pool.directory import Kind
from openboxd.ports import Network, Report, Ways
from openboxd.settings import Settings
from openboxd.store import SqlStore, open_store
from openboxd.worker.drivers import Drivers
from openboxd.worker.links import NoNetwork
from openboxd.worker.steps import Fault, no_fault
from openboxd.worker.ways import NoWays
from tests.fakes.agent import FakeAgentConnector
from tests.fakes.host import FakeHost
from tests.fakes.hypervisor import FakeHypervisor
from tests.fakes.killing import Switch, mortal

OWNER = Caller("u_owner", "key_owner")
LIMIT = 30.0


class FakeBuilder:
    """Builds an image of three small files."""

    def __init__(self) -> None:
        self.builds = 0

    def names(self) -> Sequence[str]:
        return ["debian-13"]

    def digest(self, name: str) -> str:
        return "d1"

    async def build(self, name: str, staging: Path, report: Report) -> Image:
        self.builds += 1
        for file in ("disk.raw", "vmlinuz", "initrd"):
            (staging / file).write_bytes(b"pristine")
        return Image(digest=self.digest(name), name=name, created_at=1, disk_bytes=8)


class World:
    """See the module."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.host = FakeHost()
        self.builder = FakeBuilder()
        self.fault: Fault = no_fault
        self.ways: Ways = NoWays()
        self.steps: list[str] = []
        self.switch = Switch()
        self.host_boot = "boot 1"
        self.warm = False  # whether machines go on from templates
        self.reach = "owner"  # of machines that speak for themselves
        self.pool_kind: Kind = "copy"
        self.network: Network = NoNetwork()
        self._store: SqlStore | None = None

    async def start(self) -> Control:
        """A daemon on this home; settles first what an earlier one left."""
        settings = Settings(
            home=self.home,
            run_root=self.home / "run",
            warm=self.warm,
            reach=self.reach,
            stop_timeout=0.2,
            boot_timeout=1.0,
            restore_timeout=1.0,
        )
        self.switch = Switch()
        store = self._store = open_store(settings.database)
        if not store.users():
            await store.add_user(User(OWNER.user_id, "ada", is_owner=True))
        self.pool = DirectoryPool(self.home / "pool", self.pool_kind, "it is a test's")
        self.hypervisor = FakeHypervisor(self.host, switch=self.switch)
        drivers = self.drivers = Drivers(
            settings=settings,
            store=mortal(store, self.switch),
            pool=mortal(self.pool, self.switch),
            hypervisor=self.hypervisor,
            connector=FakeAgentConnector(self.host, switch=self.switch),
            cmdline=lambda name, machine_id: f"systemd.hostname={name}",
            network=self.network,
            boot_id=self.host_boot,
            ways=self.ways,
            fault=self._at,
        )

        async def examine() -> Sequence[Finding]:
            return []

        self.control = Control(drivers, mortal(store, self.switch), self.builder, examine)
        await self.control.team.recover()
        return self.control

    def _at(self, point: str) -> None:
        self.switch.check()
        self.steps.append(point)
        self.fault(point)

    @property
    def store(self) -> SqlStore:
        assert self._store is not None
        return self._store

    def drop(self) -> None:
        """Forget a daemon that is dead (see Switch); its store's file is free again."""
        if self._store is not None:
            self._store.close()
            self._store = None

    async def stop(self) -> None:
        """End the daemon in an orderly way."""
        await self.control.close(LIMIT)
        self.drop()

    async def close(self) -> None:
        """The test is over."""
        if self._store is not None and not self.switch.dead:
            await self.stop()
        self.drop()
        self.host.close()
        await asyncio.sleep(0)

    # -- what tests say

    async def image(self) -> None:
        async for _ in self.control.build_image(OWNER, ""):
            pass

    async def machine(self, name: str = "web") -> Machine:
        """A running machine with one vCPU and 512 MiB."""
        await self.image()
        await self.control.create_machine(OWNER, NewMachine(name=name, vcpu=1, memory_bytes=512 * MIB))
        return await self.settled(name)

    async def settled(self, name: str = "web") -> Machine:
        """The machine once nothing is under way."""
        async with asyncio.timeout(LIMIT):
            await self.control.team.worker(self.control.machine(OWNER, name).id).idle()
        return self.control.machine(OWNER, name)

    async def seen(self, status: MachineStatus, name: str = "web") -> None:
        """Wait until the machine is shown in a status that nobody ordered."""
        for _ in range(6000):  # 30 s
            if self.control.machine(OWNER, name).status is status:
                return
            await asyncio.sleep(0.005)
        raise TimeoutError(f"machine {name} never became {status}")

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something that nobody tells of is so."""
        for _ in range(6000):  # 30 s
            if condition():
                return
            await asyncio.sleep(0.005)
        raise TimeoutError("it never came to be")

    async def sh(self, command: str, name: str = "web") -> str:
        """Run a command in the fake guest; its output."""
        async with asyncio.timeout(LIMIT):
            session = await self.control.exec(OWNER, name, ExecRequest(command))
            await session.write_eof()
            return b"".join([piece.data async for piece in session.output()]).decode()

    async def save(self, checkpoint: str, name: str = "web") -> None:
        """Save and wait until it is ready."""
        await self.control.save_checkpoint(OWNER, name, checkpoint)
        async with asyncio.timeout(LIMIT):
            view = await self.control.checkpoint_done(OWNER, name, checkpoint)
        assert view.checkpoint.status is CheckpointStatus.READY, view.checkpoint.failure_reason

    async def snapshot(self, snapshot: str, name: str = "web") -> Snapshot:
        """Save a version of a snapshot and wait until it is ready."""
        begun = await self.control.save_snapshot(OWNER, name, snapshot)
        async with asyncio.timeout(LIMIT):
            found = (await self.control.snapshot_done(OWNER, snapshot)).snapshot
        assert found.version == begun.version + 1 and not found.failure_reason, found
        await self.settled(name)
        return found

    def leftovers(self) -> list[str]:
        """What must not be there when nothing is under way."""
        found = [f"staging: {path.name}" for path in (self.pool.root / "staging").iterdir()]
        found += [f"file: {path.name}" for path in (self.pool.root / "machines").glob("*/disk.next")]
        found += [f"journal: {operation.kind}" for operation in self.store.open_operations()]
        versions = {self.pool.snapshot_dir(s.id, s.version) for s in self.store.snapshots() if s.version}
        found += [f"snapshot: {path}" for path in versions ^ set((self.pool.root / "snapshots").glob("*/*"))]
        found += [f"empty: {path}" for path in self.pool.snapshot_dirs() if not any(path.iterdir())]
        found += [f"being saved: {s.name}" for s in self.store.snapshots() if s.saving]
        for machine in self.store.machines():
            owned = {c.id for c in self.store.checkpoints(machine.id) if c.status is CheckpointStatus.READY}
            on_disk = {path.name for path in (self.pool.machine_dir(machine.id) / "checkpoints").iterdir()}
            found += [f"checkpoint: {name}" for name in owned ^ on_disk]
            runs = [process for process in self.host.alive() if process.spec.machine_id == machine.id]
            hibernated = (self.pool.machine_dir(machine.id) / "hibernated").exists()
            wakes = machine.status is MachineStatus.HIBERNATED, machine.hibernated_at_ms > 0
            found += [f"capture to wake from: {hibernated}, {wakes}"] if len({hibernated, *wakes}) > 1 else []
            expected = 1 if machine.status in (MachineStatus.RUNNING, MachineStatus.SUSPENDED) else 0
            if len(runs) != expected:
                found.append(f"runs of {machine.name}: {len(runs)} while {machine.status}")
        known = {machine.id for machine in self.store.machines()}
        found += [
            f"machine of nobody: {d.name}" for d in (self.pool.root / "machines").iterdir() if d.name not in known
        ]
        images = {image.digest for image in self.store.images()}
        on_disk = {path.name for path in (self.pool.root / "images").iterdir()}
        found += [f"image: {digest}" for digest in images ^ on_disk]
        found += [f"run of nobody: {p.spec.run_id}" for p in self.host.alive() if p.spec.machine_id not in known]
        return found
