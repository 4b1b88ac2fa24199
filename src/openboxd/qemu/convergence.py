"""Watches an outgoing pre-copy migration until QEMU has paused the vCPUs and ended the stream.

passes over dirty memory ──► STOP ──► completed
    │ too long: throttle the vCPUs
    │ still too long: pause them ("forced"): the pause is then what is left to read
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qemu.qmp import EventListener

from openboxd.qemu.qmp import Monitor, seconds

EVENTS = ("STOP", "RESUME", "MIGRATION", "MIGRATION_PASS")

THROTTLED = {"throttle-trigger-threshold": 20, "cpu-throttle-increment": 25, "max-cpu-throttle": 95}
AT_FIRST = {
    "max-bandwidth": 0,
    "throttle-trigger-threshold": 100,
    "cpu-throttle-initial": 1,
    "cpu-throttle-increment": 1,
    "max-cpu-throttle": 50,
}
"""Throttling can only be armed before the start; as good as off until it is needed."""


class TakeFailed(Exception):
    """A save cannot succeed; a clause for people."""


@dataclass(frozen=True)
class Limits:
    """When the vCPUs are paused.

    Attributes:
        downtime_ms: QEMU pauses them by itself when it believes that the rest takes no longer. With 0 it would
            pause them after the first pass, however much is left.
        throttle: seconds after the first pass until a guest that dirties memory too fast is slowed down.
        pause: seconds after the first pass until it is paused in any case.
    """

    downtime_ms: int = 20
    throttle: float = 5.0
    pause: float = 15.0


@dataclass(frozen=True)
class Paused:
    """The vCPUs stand still: since when (epoch seconds, QEMU's stamp), and whether they had to be forced."""

    at: float
    forced: bool


class Convergence:
    """One migration, from its start."""

    def __init__(self, monitor: Monitor, limits: Limits, on_pass: Callable[[int], None]) -> None:
        self._monitor = monitor
        self._limits = limits
        self._on_pass = on_pass
        self._paused_at = 0.0
        self._first_pass_done = 0.0  # monotonic
        self._throttled = self._forced = False

    async def wait(self, events: EventListener, reading: asyncio.Future[None]) -> Paused:
        """Until the vCPUs stand still and the stream is complete in QEMU's eyes.

        Raises:
            TakeFailed: the migration failed or was cancelled.
            Whatever the reader raises, at once.
        """
        while True:
            event = asyncio.ensure_future(events.get())
            gone = asyncio.ensure_future(self._monitor.wait_closed())
            try:
                waiting: set[asyncio.Future[Any]] = {event, gone} if reading.done() else {event, gone, reading}
                await asyncio.wait(waiting, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
                if event.done():
                    if await self._take(dict(event.result())):
                        return Paused(self._paused_at, self._forced)
                elif gone.done():
                    raise TakeFailed("QEMU has ended")
                elif reading.done() and reading.exception() is not None:
                    reading.result()
            finally:
                event.cancel()
                gone.cancel()
            await self._press()

    async def _take(self, event: dict[str, object]) -> bool:
        """Note an event; True when the migration is complete."""
        name = event["event"]
        if name == "STOP":
            self._paused_at = seconds(event)
        elif name == "RESUME":
            self._paused_at = 0.0
        data = event.get("data")
        if not isinstance(data, dict):
            return False
        if name == "MIGRATION_PASS":
            if int(data["pass"]) > 1 and not self._first_pass_done:
                self._first_pass_done = time.monotonic()
            self._on_pass(int(data["pass"]))
        elif name == "MIGRATION" and data["status"] in ("failed", "cancelled"):
            reason = (await self._monitor.ask("query-migrate")).get("error-desc", data["status"])
            raise TakeFailed(f"QEMU gave the save up ({reason})")
        if name == "MIGRATION" and data["status"] == "completed":
            self._paused_at = self._paused_at or seconds(event)
            return True
        return False

    async def _press(self) -> None:
        """Be harder on a guest that dirties memory faster than it is read."""
        if not self._first_pass_done or self._paused_at:
            return
        waited = time.monotonic() - self._first_pass_done
        if waited > self._limits.throttle and not self._throttled:
            self._throttled = True
            await self._monitor.ask("migrate-set-parameters", dict(THROTTLED))
        if waited > self._limits.pause and not self._forced:
            self._forced = True
            await self._monitor.ask("stop")
