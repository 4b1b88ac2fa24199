"""The store as the daemon uses it: reads are plain calls, writes are awaited and durable when they return.

A read takes the last committed state and never waits for a writer, so it may be made on the event loop's thread.
Writes are queued for one thread, see `writer`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openboxd.model import Event, Image, Machine, Operation
from openboxd.store import engine, events, facts, images, journal, machines
from openboxd.store.captures import Captures
from openboxd.store.credentials import Credentials
from openboxd.store.engine import translated
from openboxd.store.people import People
from openboxd.store.rows import encode
from openboxd.store.upgrade import bring_up
from openboxd.store.ways import Ways
from openboxd.store.writer import Writer


def open_store(path: Path) -> SqlStore:
    """Open the store in `path`, make it if there is none, bring it up if it is older.

    Raises:
        HostUnfit: another daemon has it open, it is damaged, or a newer release made it.
        WrongState: the disk is full.
    """
    return SqlStore(path)


class SqlStore(Captures, Ways, Credentials, People):
    """Everything boxd remembers. Implements `ports.Store`, and the rest is for control."""

    def __init__(self, path: Path) -> None:
        self._lock = engine.take_lock(path)
        writing = engine.writing_engine(path)
        try:
            engine.make_private_file(path)
            with translated(), writing.begin() as connection:
                bring_up(connection)
        except BaseException:
            writing.dispose()
            os.close(self._lock)
            raise
        self._writer = Writer(writing)
        self._reading = engine.reading_engine(path)
        self._closed = False

    def close(self) -> None:
        """Finish the writes that were asked for and let go of the file. Harmless twice."""
        if self._closed:
            return
        self._closed = True
        self._reading.dispose()
        self._writer.close()
        os.close(self._lock)

    # -- machines

    def machine(self, machine_id: str) -> Machine | None:
        return self._read(machines.by_id, machine_id)

    def machine_named(self, name: str) -> Machine | None:
        """The machine that bears this name now; destroyed ones have none."""
        return self._read(machines.by_name, name)

    def machine_of_run(self, run_id: str) -> Machine | None:
        """The machine whose run this is now."""
        return self._read(machines.by_run, run_id)

    def machines(self) -> Sequence[Machine]:
        return self._read(machines.alive)

    def machines_using_image(self, digest: str) -> Sequence[Machine]:
        """Machines that need this image, destroyed ones excluded."""
        return self._read(machines.of_image, digest)

    def addresses_in_use(self) -> frozenset[str]:
        """Addresses of all machines but the destroyed ones."""
        return self._read(machines.addresses)

    async def add_machine(self, machine: Machine) -> None:
        """Raises AlreadyExists; NotFound if its image is not in the store (any more)."""
        await self._writer.write(machines.add, machine)

    async def update_machine(self, machine_id: str, **values: Any) -> Machine:
        return await self._writer.write(machines.change, machine_id, values)

    # -- journal

    async def begin_operation(self, machine_id: str, kind: str, detail: Mapping[str, Any]) -> int:
        # Encoded here: the caller may change its mapping before the writer's turn comes.
        now = time.time_ns() // 1_000_000
        return await self._writer.write(journal.begin, machine_id, kind, encode(detail), now)

    async def step_operation(self, operation_id: int, step: str, **detail: Any) -> None:
        await self._writer.write(journal.step, operation_id, step, encode(detail))

    async def end_operation(self, operation_id: int) -> None:
        await self._writer.write(journal.end, operation_id)

    def open_operations(self) -> Sequence[Operation]:
        return self._read(journal.under_way)

    # -- facts

    def fact(self, name: str) -> str:
        return self._read(facts.value, name)

    async def keep_fact(self, name: str, value: str) -> None:
        await self._writer.write(facts.keep, name, value)

    # -- events

    async def add_event(self, event: Event) -> None:
        """Append to a machine's event log; the oldest beyond the limit are forgotten."""
        await self._writer.write(events.add, event)

    def events(self, machine_id: str, limit: int) -> Sequence[Event]:
        """The last `limit` events of a machine, oldest first."""
        return self._read(events.newest, machine_id, limit)

    # -- images

    def image(self, digest: str) -> Image | None:
        return self._read(images.by_digest, digest)

    def image_named(self, name: str) -> Image | None:
        """The newest image of this name."""
        return self._read(images.by_name, name)

    def images(self) -> Sequence[Image]:
        """All images, newest first."""
        return self._read(images.all_images)

    async def add_image(self, image: Image) -> None:
        """Harmless if its digest is known."""
        await self._writer.write(images.add, image)

    async def delete_image(self, digest: str) -> None:
        """Forget an image. Harmless twice. Raises WrongState naming the machines that still need it."""
        await self._writer.write(images.remove, digest)
