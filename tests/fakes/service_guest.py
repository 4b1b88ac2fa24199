"""Guests of the fake service: commands that really run, files that are really there."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd.errors import (
    WrongState,
)
from openboxd.model import (
    Caller,
    ExecRequest,
    Listing,
    Machine,
    MachineStatus,
)
from tests.fakes.service_exec import LocalExec
from tests.fakes.service_files import LocalFiles


class ServiceGuest:
    """The part of `api.ports.Service` that is about commands and files."""

    def _running(self, caller: Caller, ref: str) -> Machine:
        machine = self.machine(caller, ref)
        if machine.status is not MachineStatus.RUNNING:
            raise WrongState(f"machine '{machine.name}' is {machine.status}; start it first")
        return machine

    def _disk(self, caller: Caller, ref: str) -> LocalFiles:
        return self._files[self._running(caller, ref).id]

    async def exec(self, caller: Caller, ref: str, request: ExecRequest) -> LocalExec:
        session = LocalExec(request, self._disk(caller, ref).home)
        self.sessions.append(session)
        session.start()
        return session

    async def upload(self, caller: Caller, ref: str, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        return await self._disk(caller, ref).upload(path, total_size, data)

    async def download(self, caller: Caller, ref: str, path: str) -> tuple[int, AsyncIterator[bytes]]:
        return await self._disk(caller, ref).download(path)

    async def list_dir(self, caller: Caller, ref: str, path: str) -> Listing:
        return self._disk(caller, ref).list_dir(path)

    async def mkdir(self, caller: Caller, ref: str, path: str) -> None:
        self._disk(caller, ref).mkdir(path)

    async def rename_path(self, caller: Caller, ref: str, old: str, new: str) -> None:
        self._disk(caller, ref).rename(old, new)

    async def delete_path(self, caller: Caller, ref: str, path: str) -> None:
        self._disk(caller, ref).delete(path)

    async def copy_path(self, caller: Caller, ref: str, old: str, new: str) -> None:
        self._disk(caller, ref).copy(old, new)
