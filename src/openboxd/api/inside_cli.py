"""The `boxd` command as it is typed in a machine: run here, its streams played there.

The command is a process of its own (`openboxd.cli.inside`) that can reach nothing but a socket of ours, and what
comes over that is the machine's, by the run whose channel brought the command. It is ended when the guest's side
goes, unless it asked to be kept over a restore of its own machine: then the process in the restored guest, which is
the one of the captured moment, comes back and asks what became of it. Such a command, a guard, is carried on by the
next daemon if this one ends before it; and once by this one if it was cut off otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from openboxd.api.inside_guards import GuardNote, GuardNotes
from openboxd.api.inside_nursery import Nursery
from openboxd.api.inside_run import REFUSED, Run, Serve
from openboxd.api.inside_wire import SIGNALS, Frames, Start, parse_size, parse_start
from openboxd.errors import BoxdError, Exhausted, Interrupted, InvalidArgument
from openboxd.host.files import make_directory
from openboxd.model import Machine
from openboxd.ports import GuestConnection

PER_MACHINE, PER_OWNER, ALTOGETHER = 8, 32, 128
"""Commands at a time: of a machine, of all that one owner has, and of all. One takes some 20 MB of its own."""

KEEP = 600.0
"""Seconds for which the outcome of a command that outlives a restore is kept."""

log = logging.getLogger(__name__)


class Commands:
    """The commands of all machines."""

    def __init__(
        self, directory: Path, guards: Path, machine_of: Callable[[str], Machine], api: Callable[[str], Serve]
    ) -> None:
        """
        Args:
            directory: where the commands have their roots.
            guards: where guards are noted.
            machine_of: the machine of an id. Raises BoxdError: there is none any more.
            api: serves what a command says for the machine of an id.
        """
        self._directory = directory
        self._guards = GuardNotes(guards)
        self._machine_of = machine_of
        self._api = api
        self._closing = False
        self._unsettled: dict[str, GuardNote] = {}  # guards that are carried on if they are cut off
        self._nursery = Nursery()
        self._runs: dict[str, Run] = {}
        self._work: dict[str, asyncio.Task[None]] = {}
        self._owners: dict[str, str] = {}  # of the machines of those at work

    async def serve(self, machine: Machine, connection: GuestConnection) -> None:
        """One connection of a guest's command. Raises Interrupted if the guest goes first."""
        frames = Frames(connection)
        try:
            first = await frames.read()
            if first is None:
                return
            run = self._begin(machine, frames, *first)
            await self._attend(run, frames)
        except Interrupted:
            raise
        except BoxdError as error:
            await frames.write(b"X", f"error: {error.message}\n".encode())
            await frames.write(b"C", bytes([REFUSED]))

    def running(self, machine_id: str) -> int:
        """How many commands of a machine run now."""
        return sum(self._runs[ident].machine_id == machine_id for ident in self._work)

    def _begin(self, machine: Machine, frames: Frames, kind: bytes, payload: bytes) -> Run:
        """The command that is asked for: a new one, or one that its machine was restored under."""
        if kind == b"A":
            found = self._runs.get(payload.decode("ascii", "replace"))
            if found is None or found.machine_id != machine.id or not found.kept_over:
                raise InvalidArgument("this machine was restored, and nothing is known of the command any more")
            found.frames = frames
            return found
        if kind != b"S":
            raise InvalidArgument("that is not how a command begins")
        self._check_limits(machine)
        start, ident = parse_start(payload), secrets.token_hex(16)
        run = Run(ident, machine.id, frames, partial(self._note, ident, machine.id, start.args))
        self._carry_out(run, machine, start)
        return run

    def _check_limits(self, machine: Machine) -> None:
        """Raises Exhausted."""
        whose = list(self._owners.values())
        if self.running(machine.id) >= PER_MACHINE:
            limit, where = PER_MACHINE, f"machine '{machine.name}'"
        elif whose.count(machine.owner_id) >= PER_OWNER:
            limit, where = PER_OWNER, f"the machines of the owner of machine '{machine.name}'"
        elif len(whose) >= ALTOGETHER:
            limit, where = ALTOGETHER, "the machines of this host"
        else:
            return
        raise Exhausted(f"{limit} boxd commands run in {where} already; wait for one to end")

    async def _note(
        self, ident: str, machine_id: str, args: tuple[str, ...], checkpoint: str, ended: int | None
    ) -> None:
        note = self._unsettled[ident] = GuardNote(ident, machine_id, args, checkpoint, ended)
        await asyncio.to_thread(self._guards.put, note)  # which waits for the disk

    def resume(self) -> None:
        """Carry on the guards that were under way when the last daemon ended."""
        shutil.rmtree(self._directory, ignore_errors=True)  # what commands of a killed daemon had left of their world
        for note in self._guards.left():
            run = Run(note.ident, note.machine_id, None, partial(self._note, note.ident, note.machine_id, note.args))
            if self._carry_on(run, note):
                self._unsettled[note.ident] = note
            else:
                self._guards.forget(note.ident)

    def _carry_on(self, run: Run, note: GuardNote) -> bool:
        """Do what is left of a guard that was cut off; whether its machine is still there."""
        try:
            machine = self._machine_of(note.machine_id)
        except BoxdError as error:
            log.warning("the guard with checkpoint %s is not carried on: %s", note.checkpoint, error)
            return False
        log.info("machine %s: carrying on the guard with checkpoint %s", machine.id, note.checkpoint)
        run.keep_over()
        self._carry_out(run, machine, Start(note.carried_on(), "/", False, (False, False, False), (80, 24), ()))
        return True

    def _carry_out(self, run: Run, machine: Machine, start: Start) -> None:
        self._runs[run.id] = run
        make_directory(self._directory)
        root = self._directory / run.id[:12]
        work = run.carry_out(self._nursery, root, machine.name, start, self._api(machine.id))
        task = self._work[run.id] = asyncio.create_task(work, name=f"command of machine {machine.name}")
        self._owners[run.id] = machine.owner_id
        task.add_done_callback(lambda done: self._ended(run, done))

    def _ended(self, run: Run, task: asyncio.Task[None]) -> None:
        del self._work[run.id], self._owners[run.id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a command of machine %s failed", run.machine_id, exc_info=error)
        note = self._unsettled.pop(run.id, None)
        if run.status is None and note is not None and not self._closing and self._carry_on(run, note):
            return  # once and now: later, what was done in the machine since then would be lost
        run.end()
        if run.status is not None or not self._closing:  # else it goes on with the next daemon
            self._guards.forget(run.id)
        if not run.kept_over:
            del self._runs[run.id]
            return
        asyncio.get_running_loop().call_later(KEEP, self._runs.pop, run.id, None)
        kept = [
            ident for ident, each in self._runs.items() if each.machine_id == run.machine_id and each.ended.is_set()
        ]
        for ident in kept[:-PER_MACHINE]:  # the oldest ones
            del self._runs[ident]

    async def _attend(self, run: Run, frames: Frames) -> None:
        """Listen to the guest's side until either is through."""
        await run.catch_up(frames)
        hearing = asyncio.create_task(_hear(run, frames))
        ended = asyncio.create_task(run.ended.wait())
        try:
            await asyncio.wait([hearing, ended], return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                self._left(run, frames, hearing)
                return
        finally:
            for task in (hearing, ended):
                task.cancel()
            await asyncio.wait([hearing, ended])
        if run.frames is frames:
            await frames.write(b"C", bytes([REFUSED if run.status is None else run.status]))

    def _left(self, run: Run, frames: Frames, hearing: asyncio.Task[None]) -> None:
        """The guest's side has gone: by itself, or with its whole machine."""
        if run.frames is not frames:
            return  # it has come back on another connection
        run.frames = None
        error = None if hearing.cancelled() else hearing.exception()
        if not (run.kept_over and isinstance(error, Interrupted)):
            run.give_up()
        if error is not None and not isinstance(error, Interrupted):
            raise error

    async def close(self) -> None:
        """End all commands."""
        self._closing = True
        for task in list(self._work.values()):
            task.cancel()
        if self._work:
            await asyncio.wait(list(self._work.values()))
        await self._nursery.close()


async def _hear(run: Run, frames: Frames) -> None:
    """What the guest's side says, until it goes. Raises Interrupted, InvalidArgument."""
    while (frame := await frames.read()) is not None:
        kind, payload = frame
        if kind == b"I":
            await run.feed(payload)
        elif kind == b"E":
            await run.feed_end()
        elif kind == b"W":
            with suppress(ValueError):
                run.resize(parse_size(payload))
        elif kind == b"K" and len(payload) == 1 and payload[0] in SIGNALS:
            run.signal(payload[0])
        elif kind == b"R":
            run.known()
        else:
            raise InvalidArgument("that is nothing that a command is told")
