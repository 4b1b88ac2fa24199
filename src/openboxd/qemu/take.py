"""Takes a capture of a running guest: memory, devices and disk of one instant, while it runs.

    sync disk, clone parent's memory ──► migrate into a pipe ──► vCPUs paused, stream complete
      ──► clone disk, nobody has resumed? ──► resume ──► drain the pipe, sync files, digests of what is new

Runs in a saver process, with a monitor of its own. However it ends the vCPUs run again, unless QEMU is gone. Those of
a guest that stood still before are left so.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openboxd.host import digests, reflink
from openboxd.host.files import sync_directory, sync_file
from openboxd.model import SaveReport
from openboxd.qemu.convergence import AT_FIRST, EVENTS, Convergence, Limits, Paused, TakeFailed
from openboxd.qemu.memory_image import MEMORY, MemoryImage
from openboxd.qemu.qmp import Monitor, QmpError
from openboxd.qemu.ram_file import Trail
from openboxd.qemu.rescue import cancel_migration, let_run, let_stand, resume
from openboxd.qemu.stream import PAGE, Splitter, StreamCut

STATE = "devices.state"
DISK = "disk.raw"

MIGRATED = frozenset({"finish-migrate", "postmigrate"})
"""QEMU's words for vCPUs that have stood still since their migration ended; whoever lets them run changes that."""

_PIPE = 1 << 20  # bytes; what an unprivileged process may ask for
_FD_NAME = "capture"
_BEAT = 0.5  # seconds between signs of life; the daemon takes long silence for death

Emit = Callable[[str, Mapping[str, Any]], None]
"""Tells whoever listens that a step is under way, and how far."""

AfterPause = Callable[[Monitor], Awaitable[None]]


@dataclass(frozen=True)
class Order:
    """What to take: RAM of the guest, the pid of its QEMU, its disk, where to, and the parent's directory.

    `paused`: the vCPUs stand still already, and are left so.
    """

    ram_bytes: int
    pid: int
    disk: Path
    staging: Path
    parent: Path | None = None
    paused: bool = False


class Take:
    """One save."""

    def __init__(
        self,
        monitor: Monitor,
        order: Order,
        emit: Emit,
        *,
        limits: Limits | None = None,
        after_pause: AfterPause | None = None,
    ) -> None:
        """`after_pause` is called while the vCPUs stand still; for tests, given by whoever builds a saver."""
        self._monitor = monitor
        self._order = order
        self._emit = emit
        self._limits = limits or Limits()
        self._after_pause = after_pause
        self._image: MemoryImage | None = None
        self._reading: asyncio.Future[None] | None = None
        self._syncing: asyncio.Future[None] | None = None

    async def run(self) -> SaveReport:
        """Take the capture.

        Raises:
            TakeFailed, StreamError, IncompleteImage, OSError: it failed, the vCPUs run.
            QmpError: QEMU is gone or does not answer.
        """
        began = time.monotonic()
        await (let_stand if self._order.paused else cancel_migration)(self._monitor)  # what a dead saver left behind
        if (await self._monitor.ask("query-status"))["running"] is self._order.paused:
            raise TakeFailed("its vCPUs run" if self._order.paused else "its vCPUs do not run")
        beating = asyncio.create_task(self._beat())
        try:
            paused, resumed = await self._capture()
            await self._finish()
        finally:
            beating.cancel()
            await self._let_go()
        assert self._image is not None
        return SaveReport(
            pause_us=max(0, round((resumed - paused.at) * 1e6)),
            seen_bytes=self._image.seen_pages * PAGE,
            written_bytes=self._image.written_pages * PAGE,
            duration_ms=round((time.monotonic() - began) * 1000),
            forced=paused.forced,
        )

    async def _capture(self) -> tuple[Paused, float]:
        """Everything up to the resume. The resume is armed before anything can pause."""
        try:
            await asyncio.to_thread(self._prepare)
            with self._monitor.listen(*EVENTS) as events:
                await self._migrate()
                assert self._reading is not None
                paused = await Convergence(self._monitor, self._limits, self._on_pass).wait(events, self._reading)
            await self._copy_disk()
            if self._after_pause is not None:
                await self._after_pause(self._monitor)
            await self._check_stood_still()
            if not self._order.paused:
                await resume(self._monitor)
            return paused, time.time()
        except BaseException as error:
            with suppress(QmpError):
                await (let_stand if self._order.paused else let_run)(self._monitor)
            if isinstance(error, TakeFailed):
                await self._raise_cause(error)
            raise

    async def _raise_cause(self, error: TakeFailed) -> None:
        """QEMU gives up when its reader has: then the reader's error is the one that tells."""
        if self._reading is not None:
            await asyncio.wait({self._reading})
            cause = self._reading.exception()
            if cause is not None and not isinstance(cause, StreamCut):
                raise cause from error

    def _prepare(self) -> None:
        """What takes time and may be done while the guest runs. Blocks."""
        sync_file(self._order.disk)  # so that the clone in the pause has little to flush
        parent = self._order.parent / MEMORY if self._order.parent else None
        self._image = MemoryImage(self._order.staging / MEMORY, self._order.ram_bytes, parent)

    async def _migrate(self) -> None:
        """Start the migration into a pipe, and its reader."""
        on = [{"capability": name, "state": True} for name in ("events", "auto-converge")]
        await self._monitor.ask("migrate-set-capabilities", {"capabilities": on})
        await self._monitor.ask("migrate-set-parameters", {**AT_FIRST, "downtime-limit": self._limits.downtime_ms})
        read, write = os.pipe()
        try:
            with suppress(OSError):  # a smaller pipe is only slower
                fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE)
            await self._monitor.give(_FD_NAME, write)
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        self._reading = asyncio.ensure_future(asyncio.to_thread(self._read, read))
        try:
            await self._monitor.ask("migrate", {"uri": f"fd:{_FD_NAME}"})
        except QmpError:
            with suppress(QmpError):
                await self._monitor.ask("closefd", {"fdname": _FD_NAME})
            raise

    def _read(self, pipe: int) -> None:
        """Split the stream up to its end. Blocks. Closes the pipe, so QEMU never waits for a reader that gave up."""
        assert self._image is not None
        trail = Trail(self._image, self._order.pid)
        try:
            with (self._order.staging / STATE).open("xb") as kept:
                source = lambda view: os.readv(pipe, [view])  # noqa: E731
                Splitter(source, trail, kept, self._order.ram_bytes).run()
                kept.flush()
                os.fsync(kept.fileno())
        finally:
            trail.close()
            os.close(pipe)

    def _on_pass(self, number: int) -> None:
        """Between two passes write the disk's pages back again: less for the clone to flush in the pause."""
        if number > 1 and (self._syncing is None or self._syncing.done()):
            self._syncing = asyncio.ensure_future(asyncio.to_thread(sync_file, self._order.disk))

    async def _copy_disk(self) -> None:
        """The disk as it is now. A clone takes less than the way to a thread and back, so it is made at once.

        On a filesystem without reflinks it is copied: the pause then lasts as long as that."""
        target = self._order.staging / DISK
        try:
            reflink.clone_file(self._order.disk, target)
        except OSError as error:
            if error.errno not in reflink.CANNOT_SHARE:
                raise
            await asyncio.to_thread(reflink.copy_file, self._order.disk, target)

    async def _check_stood_still(self) -> None:
        """Raises TakeFailed if somebody has let the vCPUs run, also for an instant: the disk would be of later than
        the memory. `stalls` may, when it has asked before the end of the migration and acts after it."""
        status = (await self._monitor.ask("query-status"))["status"]
        if status not in MIGRATED:
            raise TakeFailed(f"its vCPUs were let run while its disk was copied (QEMU tells '{status}')")

    async def _finish(self) -> None:
        """After the resume: the rest of the stream, and everything on disk for good."""
        assert self._reading is not None and self._image is not None
        await self._reading
        self._emit("sync", {})
        await asyncio.to_thread(self._image.finish)
        await asyncio.to_thread(sync_file, self._order.staging / DISK)
        self._emit("digest", {})
        await asyncio.to_thread(digests.take, self._order.staging, (MEMORY, STATE, DISK), self._order.parent)
        await asyncio.to_thread(sync_directory, self._order.staging)

    async def _let_go(self) -> None:
        """Wait for the threads; their errors were raised where they counted."""
        for thread in (self._reading, self._syncing):
            if thread is not None:
                await asyncio.wait({thread})
                thread.exception()
        if self._image is not None:
            self._image.close()

    async def _beat(self) -> None:
        while True:
            image = self._image
            total = self._order.ram_bytes // PAGE
            done = image.arrived_pages / total if image else 0.0
            self._emit("memory", {"fraction": round(done, 3), "seen": image.seen_pages * PAGE if image else 0})
            await asyncio.sleep(_BEAT)
