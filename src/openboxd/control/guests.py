"""Use-cases inside a guest: commands and files."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openboxd.control.base import Base
from openboxd.control.using import UsingPieces, UsingSession
from openboxd.model import LIST_LIMIT, Caller, ExecRequest, Listing
from openboxd.ports import Agent, ExecSession
from openboxd.worker.machine import MachineWorker
from openboxd.worker.reach import reachable_agent

CONNECTED_EVERY_MS = 10_000
"""How exactly `last_connected_ms` is kept: a write for every command would be more work than many commands."""


class Guests(Base):
    """Commands and files of guests."""

    @asynccontextmanager
    async def _agent(self, caller: Caller, ref: str) -> AsyncIterator[Agent]:
        """The agent of a machine, which is woken if it sleeps and is in use while the block runs."""
        worker = self._worker(caller, ref)
        with worker.use.held():
            yield await self._reach(worker)

    async def _reach(self, worker: MachineWorker) -> Agent:
        agent = await reachable_agent(worker)
        now = time.time_ns() // 1_000_000
        if now - worker.machine.last_connected_ms > CONNECTED_EVERY_MS:
            self._later(self._note_connected(worker.id, now))
        return agent

    async def _note_connected(self, machine_id: str, now: int) -> None:
        await self._store.update_machine(machine_id, last_connected_ms=now)

    async def exec(self, caller: Caller, ref: str, request: ExecRequest) -> ExecSession:
        """Start a command in the guest."""
        worker = self._worker(caller, ref)
        end = worker.use.begin()
        try:
            session = await (await self._reach(worker)).exec(request)
        except BaseException:
            end()
            raise
        return UsingSession(session, end, lambda: self.team.waking.used(worker.id))

    async def upload(self, caller: Caller, ref: str, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        """Write a file in the guest, atomically."""
        async with self._agent(caller, ref) as agent:
            return await agent.upload(path, total_size, data)

    async def download(self, caller: Caller, ref: str, path: str) -> tuple[int, AsyncIterator[bytes]]:
        """Read a file of the guest."""
        worker = self._worker(caller, ref)
        end = worker.use.begin()
        try:
            size, pieces = await (await self._reach(worker)).download(path)
        except BaseException:
            end()
            raise
        return size, UsingPieces(pieces, end)

    async def list_dir(self, caller: Caller, ref: str, path: str) -> Listing:
        """List a directory of the guest."""
        async with self._agent(caller, ref) as agent:
            return await agent.list_dir(path, LIST_LIMIT)

    async def mkdir(self, caller: Caller, ref: str, path: str) -> None:
        """Make a directory in the guest."""
        async with self._agent(caller, ref) as agent:
            await agent.mkdir(path)

    async def rename_path(self, caller: Caller, ref: str, old: str, new: str) -> None:
        """Rename in the guest."""
        async with self._agent(caller, ref) as agent:
            await agent.rename(old, new)

    async def delete_path(self, caller: Caller, ref: str, path: str) -> None:
        """Delete a file or tree in the guest."""
        async with self._agent(caller, ref) as agent:
            await agent.delete(path)

    async def copy_path(self, caller: Caller, ref: str, old: str, new: str) -> None:
        """Copy a file or tree in the guest."""
        async with self._agent(caller, ref) as agent:
            await agent.copy(old, new)
