"""Agents of fake guests: the channel finds the guest behind a socket path through the FakeHost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from openboxd.errors import Interrupted, Unavailable
from openboxd.model import ExecRequest, Identity, Listing
from openboxd.ports import RunState
from tests.fakes import agent_files
from tests.fakes.agent_exec import FakeExecSession
from tests.fakes.guest import FakeGuest
from tests.fakes.host import FakeHost, FakeProcess
from tests.fakes.hypervisor import Fault, no_fault
from tests.fakes.killing import Switch

T = TypeVar("T")

POINTS = ("connect", "answer", "exec", "file")
"""Names for `fault` and `FakeHost.hold`; `answer` is passed by every wait for a guest's answer."""

PIECE = 64 * 1024


class FakeAgentConnector:
    """See ports.AgentConnector. `agents` are all it ever made, oldest first."""

    def __init__(self, host: FakeHost, fault: Fault = no_fault, switch: Switch | None = None) -> None:
        self.host = host
        self.fault = fault
        self.switch = switch or Switch()
        self.agents: list[FakeAgent] = []

    async def at(self, point: str) -> None:
        """One of POINTS is reached."""
        assert point in POINTS, point
        self.switch.check()
        self.fault(point)
        await self.host.wait_at(point)
        self.switch.check()

    async def connect(self, socket: Path, label: str, identity: Identity | None = None) -> FakeAgent:
        await self.at("connect")
        process = self.host.at(socket)
        if process is None:
            raise Unavailable(f"the agent of machine '{label}' cannot be reached: nobody listens")
        process.channels += 1
        agent = FakeAgent(self, process, label, identity)
        self.agents.append(agent)
        return agent


class FakeAgent:
    """See ports.Agent. In step while its guest's vCPUs run and the guest's agent answers."""

    def __init__(
        self, connector: FakeAgentConnector, process: FakeProcess, label: str, identity: Identity | None = None
    ) -> None:
        self.process = process
        self.identity = identity
        self.label = label
        self.closed = ""
        self.resting = False
        self._connector = connector
        self._sessions: list[FakeExecSession] = []
        self._watch = asyncio.create_task(self._watch_process(), name=f"fake agent of {label}")

    @property
    def ready(self) -> bool:
        return not self.closed and self.process.state is RunState.RUNNING and self.process.answers

    async def _watch_process(self) -> None:
        """Count the epoch when the guest first answers; interrupt what runs when it is gone."""
        await self.process.until(lambda: self.ready or bool(self.closed or self.process.end))
        if self.ready:
            self.process.epochs += 1
            if self.identity is not None and not self.process.identity_refusal:
                self.process.guest.memory.identity = asdict(self.identity)
        await self.process.until(lambda: bool(self.closed or self.process.end))
        end = self.process.end
        self._interrupt(self.closed or f"the machine stopped: {end.text if end else 'it is gone'}")

    def _interrupt(self, reason: str) -> None:
        for session in self._sessions:
            session.interrupt(reason)
        self._sessions.clear()

    @property
    def identity_refusal(self) -> str:
        return self.process.identity_refusal if self.identity is not None else ""

    async def wait_ready(self, timeout: float) -> None:
        await self._connector.at("answer")
        try:
            async with asyncio.timeout(timeout):
                await self.process.until(lambda: self.ready or bool(self.closed))
        except TimeoutError as error:
            raise Unavailable(f"the agent of machine '{self.label}' has not answered within {timeout:g} s") from error
        if self.closed:
            raise Interrupted(self.closed)
        self._connector.switch.check()

    def rest(self) -> None:
        self._connector.switch.check()
        self.resting = True

    async def awaken(self, timeout: float) -> None:
        self.resting = False
        await self.wait_ready(timeout)
        self.process.clocks += 1

    async def close(self, reason: str) -> None:
        self._connector.switch.check()
        if not self.closed:
            self.closed = reason
            self._interrupt(reason)
            self.process.tell()

    def _must_be_ready(self) -> None:
        if self.closed:
            raise Interrupted(self.closed)
        if not self.ready:
            raise Unavailable(f"the agent of machine '{self.label}' does not answer; try again")

    # -- commands

    async def exec(self, request: ExecRequest) -> FakeExecSession:
        await self._connector.at("exec")
        self._must_be_ready()
        session = FakeExecSession(self, request)
        self._sessions.append(session)
        return session

    # -- files

    async def _file(self, action: Callable[[FakeGuest], T]) -> T:
        await self._connector.at("file")
        self._must_be_ready()
        self.process.guest.memory.counter += 1
        return action(self.process.guest)

    async def upload(self, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        received = b"".join([piece async for piece in data])
        agent_files.check_size(total_size, len(received))
        await self._file(lambda guest: agent_files.write(guest, agent_files.resolve(path), received))
        return total_size

    async def download(self, path: str) -> tuple[int, AsyncIterator[bytes]]:
        content = await self._file(lambda guest: agent_files.read(guest, agent_files.resolve(path)))

        async def pieces() -> AsyncIterator[bytes]:
            for offset in range(0, len(content), PIECE):
                if self.closed:
                    raise Interrupted(self.closed)
                yield content[offset : offset + PIECE]

        return len(content), pieces()

    async def list_dir(self, path: str, limit: int) -> Listing:
        return await self._file(lambda guest: agent_files.listing(guest, agent_files.resolve(path), limit))

    async def mkdir(self, path: str) -> None:
        await self._file(lambda guest: agent_files.mkdir(guest, agent_files.resolve(path)))

    async def rename(self, old: str, new: str) -> None:
        await self._file(lambda guest: agent_files.rename(guest, agent_files.resolve(old), agent_files.resolve(new)))

    async def delete(self, path: str) -> None:
        await self._file(lambda guest: agent_files.delete(guest, agent_files.resolve(path)))

    async def copy(self, old: str, new: str) -> None:
        await self._file(lambda guest: agent_files.copy(guest, agent_files.resolve(old), agent_files.resolve(new)))
