"""boxd beside what other tools do with QEMU: the same guest, host, QEMU and load, in one run.

* `snapshot-save` and `snapshot-load` on qcow2: QEMU's internal snapshots, as libvirt makes them;
* stop, migrate to a file, copy the disk by reflink, go on; a restore loads the file: what needs no more than QEMU;
* `mapped-ram`: a live migration into a file in which every page has its place.

No other guest runs meanwhile. None of them but ours syncs what it has copied of the disk, compares with an earlier
save or takes digests.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import spread
from bench.peer_machine import Origin, PeerMachine
from bench.place import PROGRAMS, Place
from bench.result import Result
from openboxd.host import reflink
from openboxd.host.extents import allocated_bytes
from tests.guests.direct import sh
from tests.lab import BOOTED, GOLDEN
from tests.lab import run as program

RATE = 10
"""MiB a second that the guest writes meanwhile."""


@dataclass(frozen=True)
class Save:
    """One save: milliseconds of standstill and in all, and bytes that it put on disk."""

    pause: float
    total: float
    written: int


class Peer(ABC):
    """A way of saving and restoring. Its files are in `home`, which has reflinks."""

    name = ""

    def __init__(self, origin: Origin, home: Path) -> None:
        self.origin, self.home = origin, home
        self.machine: PeerMachine | None = None

    @property
    def here(self) -> PeerMachine:
        """The machine that runs."""
        assert self.machine is not None
        return self.machine

    async def start(self) -> None:
        """Let the guest run as it was captured."""
        disk = self.disk()
        self.machine = await PeerMachine.start(
            self.origin, self.home, disk, ram_of=self.origin.capture / "memory.img"
        )
        await self.machine.load(self.origin.capture / "devices.state")

    def disk(self) -> Mapping[str, Any]:
        """A raw disk of its own."""
        (self.home / "disk.raw").unlink(missing_ok=True)
        program("cp", "--reflink=always", self.origin.capture / "disk.raw", self.home / "disk.raw")
        return self.raw(self.home / "disk.raw")

    @staticmethod
    def raw(path: Path) -> Mapping[str, Any]:
        """A block device on a raw file, as ours are."""
        cache = {"direct": False, "no-flush": False}
        return {"driver": "raw", "cache": cache, "file": {"driver": "file", "filename": str(path)}}

    @abstractmethod
    async def save(self, number: int) -> Save:
        """Save the running guest."""

    @abstractmethod
    async def restore(self, number: int) -> None:
        """Take the guest back; it runs and has a new channel to its agent when this returns."""

    async def timed(self, work: Callable[[], Awaitable[None]], size: Callable[[], int]) -> Save:
        """Carry out a save; the standstill is from QEMU's STOP to its RESUME event."""
        before, begun = size(), time.monotonic()
        with self.here.monitor.listen("STOP", "RESUME") as events:
            await work()
            total = time.monotonic() - begun
            moments = {"STOP": [], "RESUME": []}
            while not events.empty():
                event = await events.get()
                stamp = event["timestamp"]
                moments[event["event"]].append(stamp["seconds"] + stamp["microseconds"] / 1e6)
        pause = max(moments["RESUME"]) - min(moments["STOP"])
        return Save(1000 * pause, 1000 * total, size() - before)


class InternalSnapshots(Peer):
    """QEMU's own, inside the qcow2 file."""

    name = "snapshot-save (qcow2)"

    def disk(self) -> Mapping[str, Any]:
        path = self.home / "disk.qcow2"
        path.unlink(missing_ok=True)
        backing = self.origin.capture / "disk.raw"
        program("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", backing, path)
        return {"driver": "qcow2", "file": {"driver": "file", "filename": str(path)}}

    async def save(self, number: int) -> Save:
        return await self.timed(
            lambda: self._job("snapshot-save", number), lambda: allocated_bytes(self.home / "disk.qcow2")
        )

    async def restore(self, number: int) -> None:
        await self._job("snapshot-load", number)
        await self.here.reconnect()

    async def _job(self, command: str, number: int) -> None:
        machine, name = self.here, f"{command}-{number}"
        values = {"job-id": name, "tag": f"s{number}", "vmstate": "disk", "devices": ["disk"]}
        await machine.ask(command, values)
        while True:
            job = next(job for job in await machine.ask("query-jobs") if job["id"] == name)
            if job["status"] == "concluded":
                break
            await asyncio.sleep(0.005)
        assert "error" not in job, job
        await machine.ask("job-dismiss", {"id": name})
        if not (await machine.ask("query-status"))["running"]:
            await machine.ask("cont")


class StopAndMigrate(Peer):
    """The guest stands still while all of its memory is written."""

    name = "stop, migrate to a file"
    capabilities: Sequence[str] = ()
    stands_still = True

    def state(self, number: int) -> Path:
        """The file of a save."""
        return self.home / f"state.{number}"

    async def save(self, number: int) -> Save:
        return await self.timed(
            lambda: self._save(number), lambda: sum(allocated_bytes(file) for file in self.home.glob("state.*"))
        )

    async def _save(self, number: int) -> None:
        machine, state = self.here, self.state(number)
        state.unlink(missing_ok=True)
        if self.stands_still:
            await machine.ask("stop")
        await self._set_up(machine)
        address = {"transport": "file", "filename": str(state), "offset": 0}
        await machine.ask("migrate", {"channels": [{"channel-type": "main", "addr": address}]})
        await machine.until_migrated()
        copy = self.home / f"disk.{number}"
        copy.unlink(missing_ok=True)
        reflink.clone_file(self.home / "disk.raw", copy)  # as quick as ours, in the same pause
        await machine.ask("cont")
        await asyncio.to_thread(program, "sync", state)

    async def _set_up(self, machine: PeerMachine) -> None:
        await machine.ask("migrate-set-parameters", {"max-bandwidth": 0, "downtime-limit": 20})
        on = [{"capability": name, "state": True} for name in self.capabilities]
        if on:
            await machine.ask("migrate-set-capabilities", {"capabilities": on})

    async def restore(self, number: int) -> None:
        await self.here.end()
        program("cp", "--reflink=always", self.home / f"disk.{number}", self.home / "disk.raw")
        self.machine = await PeerMachine.start(self.origin, self.home, self.raw(self.home / "disk.raw"), ram_of=None)
        await self._set_up(self.machine)
        await self.machine.load(self.state(number))


class MappedRam(StopAndMigrate):
    """The guest runs while its memory is written, page by page to its place in the file."""

    name = "mapped-ram"
    capabilities = ("mapped-ram",)
    stands_still = False


async def run(place: Place) -> Result:
    """Every peer, then ours, each with the same load."""
    origin, count = await _origin(place), 1 if place.options.short else max(3, place.options.runs // 4)
    rows = []
    async with place.alone(""):
        for kind in (InternalSnapshots, StopAndMigrate, MappedRam):
            rows.append(await _measure_peer(kind, origin, place, count))
    rows.append(await _measure_ours(place, count))
    ours = rows[-1]
    for row in rows:
        for column in ("pause", "save", "second MB", "reply"):
            row[f"{column} / ours"] = round(row[column].p50 / max(ours[column].p50, 0.001), 1)
    notes = (
        f"a guest that writes {RATE} MiB/s; reply: from the order until a command in the guest has answered",
        "beside snapshot-save: pause {pause / ours} times shorter (target: 50), "
        "restore to the first reply {reply / ours} times faster (target: 5)".format_map(rows[0]),
    )
    return Result("peers", "Beside other ways of QEMU (milliseconds, MB)", rows, notes)


async def _origin(place: Place) -> Origin:
    machine = await place.client.machine(GOLDEN)
    found = {info.name: info.checkpoint_id for info in await place.client.checkpoints(GOLDEN)}
    pool = place.daemon.home / "pool"
    images = [path for path in (pool / "images").iterdir() if (path / "vmlinuz").exists()]
    capture = pool / "machines" / machine.vm_id / "checkpoints" / found[BOOTED]
    return Origin(capture, images[0], machine.vm_id, GOLDEN, machine.public_ip)


@asynccontextmanager
async def _running(kind: type[Peer], origin: Origin, home: Path) -> AsyncIterator[Peer]:
    home.mkdir()
    peer = kind(origin, home)
    await peer.start()
    try:
        yield peer
    finally:
        await peer.here.end()
        shutil.rmtree(home)


async def _measure_peer(kind: type[Peer], origin: Origin, place: Place, count: int) -> dict[str, Any]:
    place.tell(kind.name)
    async with _running(kind, origin, place.daemon.home / "p") as peer:
        await _load(peer)
        await peer.save(0)
        saves, replies = [], []
        for number in range(1, count + 1):
            saves.append(await peer.save(number))
            begun = time.monotonic()
            await peer.restore(number)
            await peer.here.sh("true")
            replies.append(1000 * (time.monotonic() - begun))
    return _row(kind.name, saves, replies)


async def _load(peer: Peer) -> None:
    data = (PROGRAMS / "dirty.py").read_bytes()

    async def once() -> AsyncIterator[bytes]:
        yield data

    agent = peer.here.agent
    assert agent is not None
    await peer.here.sh("true")
    await agent.upload("/home/boxd/dirty.py", len(data), once())
    await peer.here.sh(f"setsid python3 /home/boxd/dirty.py {RATE} 64 >/dev/null 2>&1 </dev/null &")
    await peer.here.sh("for i in $(seq 100); do [ -s /tmp/dirty.rate ] && exit; sleep 0.1; done; exit 1")


async def _measure_ours(place: Place, count: int) -> dict[str, Any]:
    client, saves, replies = place.client, [], []
    place.tell("boxd")
    async with place.busy(GOLDEN, RATE):
        await client.save(GOLDEN, "zero")
        await client.checkpoint_done(GOLDEN, "zero")
        for _ in range(count):
            begun = time.monotonic()
            await client.save(GOLDEN, "one")
            done = await client.checkpoint_done(GOLDEN, "one")
            assert done.status == "ready", done
            saves.append(
                Save(done.pause_us / 1000, 1000 * (time.monotonic() - begun), done.total_bytes - done.shared_bytes)
            )
            begun = time.monotonic()
            await client.restore(GOLDEN, "one")
            await sh(client, "true")
            replies.append(1000 * (time.monotonic() - begun))
            await client.remove_checkpoint(GOLDEN, "one")
    return _row("boxd", saves, replies)


def _row(name: str, saves: Sequence[Save], replies: Sequence[float]) -> dict[str, Any]:
    return {
        "way": name,
        "runs": len(saves),
        "pause": spread([save.pause for save in saves]),
        "save": spread([save.total for save in saves]),
        "second MB": spread([save.written / 1e6 for save in saves]),
        "reply": spread(replies),
    }
