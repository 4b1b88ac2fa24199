"""Use-cases inside a guest: commands and files."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from openboxd.control.base import Base
from openboxd.model import LIST_LIMIT, Caller, ExecRequest, Listing
from openboxd.ports import Agent, ExecSession

CONNECTED_EVERY_MS = 10_000
"""How exactly `last_connected_ms` is kept: a write for every command would be more work than many commands."""


class Guests(Base):
    """Commands and files of guests."""

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
