"""One connection to a monitor of QEMU: a thin layer over `qemu.qmp` with deadlines and three kinds of error.

A monitor serves one client at a time; ours has two, one for the daemon and one for savers. Waits follow one
rule: listen first, ask second, wait third, so that no event falls in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from qemu.qmp import EventListener, ExecuteError, QMPClient, QMPError, Runstate

ANSWER = 5.0
"""Seconds within which QEMU answers, unless its host is in trouble."""

Event = dict[str, Any]


class QmpError(Exception):
    """Base of what can go wrong on a monitor."""


class Refused(QmpError):
    """QEMU said no; the text is QEMU's."""


class Silent(QmpError):
    """No answer in time; the command may still be carried out."""


class Gone(QmpError):
    """The connection has ended, as a rule with the process."""


class Monitor:
    """A connected monitor."""

    def __init__(self, client: QMPClient) -> None:
        self._client = client
        client.events.event_filter = lambda event: False  # else it keeps every event for ever
        self._shutdowns: EventListener = EventListener(names=("SHUTDOWN",))
        client.register_listener(self._shutdowns)

    @classmethod
    async def connect(cls, path: Path, label: str, timeout: float = ANSWER) -> Monitor:
        """Connect to a listening monitor. Raises Gone, or Silent if another client holds it."""
        client = QMPClient(label)
        try:
            async with asyncio.timeout(timeout):
                await client.connect(str(path))
        except TimeoutError as error:
            raise Silent("QEMU's monitor does not answer") from error
        except (QMPError, OSError, EOFError) as error:
            raise Gone("QEMU's monitor cannot be reached") from error
        return cls(client)

    async def ask(self, command: str, arguments: dict[str, object] | None = None, timeout: float = ANSWER) -> Any:
        """Run a command; its answer. Raises Refused, Silent or Gone."""
        try:
            async with asyncio.timeout(timeout):
                return await self._client.execute(command, arguments)
        except TimeoutError as error:
            raise Silent(f"QEMU did not answer within {timeout:.0f} s") from error
        except ExecuteError as error:
            raise Refused(str(error)) from error
        except (QMPError, OSError, EOFError) as error:
            raise Gone("the connection to QEMU has ended") from error

    async def give(self, name: str, descriptor: int) -> None:
        """Hand QEMU a copy of a descriptor under a name (`getfd`)."""
        try:
            self._client.send_fd_scm(descriptor)
        except (QMPError, OSError) as error:
            raise Gone("the connection to QEMU has ended") from error
        await self.ask("getfd", {"fdname": name})

    @contextmanager
    def listen(self, *names: str) -> Iterator[EventListener]:
        """Events of these names from now on; also ended by the connection's end (see `wait_closed`)."""
        listener = EventListener(names=names)
        with self._client.listen(listener):
            yield listener

    def shutdown_event(self) -> Event | None:
        """The first SHUTDOWN event since the connection, if there was one."""
        for event in self._shutdowns.history:
            return dict(event)
        return None

    async def wait_closed(self) -> None:
        """Until the connection has ended, everything that QEMU sent before having been taken in."""
        while self._client.runstate is Runstate.RUNNING:
            await self._client.runstate_changed()

    async def close(self) -> None:
        """Let go of the connection; harmless twice."""
        with suppress(QMPError, OSError, EOFError, asyncio.TimeoutError):
            async with asyncio.timeout(ANSWER):
                await self._client.disconnect()


def seconds(event: Event) -> float:
    """QEMU's time of an event, epoch seconds."""
    stamp = event["timestamp"]
    return float(stamp["seconds"]) + float(stamp["microseconds"]) / 1e6
