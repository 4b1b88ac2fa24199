"""The drivers behind ports.AgentConnector and Agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from openboxd.guest import dial, transfer
from openboxd.guest.call import Call
from openboxd.guest.channel import Channel
from openboxd.guest.dial import GuestDatagrams
from openboxd.guest.requests import Receive, receive_none, refuse_all
from openboxd.guest.session import AgentExecSession, start_command
from openboxd.guest.timing import Timing
from openboxd.guest.transfer import check_path
from openboxd.guest.visit import Visit
from openboxd.model import ExecRequest, Identity, Listing
from openboxd.ports import GuestConnection


class ChannelAgent:
    """Implements ports.Agent over a channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    @property
    def ready(self) -> bool:
        return self._channel.ready

    @property
    def identity_refusal(self) -> str:
        return self._channel.identity_refusal

    async def wait_ready(self, timeout: float) -> None:
        await self._channel.wait_ready(timeout)

    def rest(self) -> None:
        self._channel.rest()

    async def awaken(self, timeout: float) -> None:
        await self._channel.awaken(timeout)

    async def exec(self, request: ExecRequest) -> AgentExecSession:
        return await start_command(self._channel, request)

    async def upload(self, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        return await transfer.upload(self._channel, path, total_size, data)

    async def download(self, path: str) -> tuple[int, AsyncIterator[bytes]]:
        return await transfer.download(self._channel, path)

    async def list_dir(self, path: str, limit: int) -> Listing:
        return await transfer.list_dir(self._channel, path, limit)

    async def mkdir(self, path: str) -> None:
        await transfer.request(self._channel, "mkdir", path=check_path(path))

    async def rename(self, old: str, new: str) -> None:
        await transfer.request(self._channel, "rename", old=check_path(old), new=check_path(new))

    async def delete(self, path: str) -> None:
        await transfer.request(self._channel, "delete", path=check_path(path))

    async def copy(self, old: str, new: str) -> None:
        await transfer.request(self._channel, "copy", old=check_path(old), new=check_path(new))

    async def dial(self, port: int) -> dial.GuestConnection:
        return await dial.dial(self._channel, port)

    async def datagrams(self, port: int) -> GuestDatagrams:
        return await dial.datagrams(self._channel, port)

    async def listeners(self) -> Sequence[int]:
        return await dial.listeners(self._channel)

    async def close(self, reason: str) -> None:
        await self._channel.close(reason)


Questions = Callable[[Path, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers what a guest asks; the socket says which run it is."""

Visits = Callable[[Path, str, GuestConnection], Awaitable[None]]
"""Serves what a process of a guest has connected to the door of this name; the socket says which run it is."""


class ChannelConnector:
    """Implements ports.AgentConnector."""

    def __init__(
        self, timing: Timing | None = None, questions: Questions | None = None, visits: Visits | None = None
    ) -> None:
        self._timing = timing or Timing()
        self._questions = questions
        self._visits = visits

    async def connect(self, socket: Path, label: str, identity: Identity | None = None) -> ChannelAgent:
        """Raises Unavailable if nothing listens on `socket`."""
        respond = partial(self._questions, socket) if self._questions else refuse_all
        channel = Channel(socket, label, self._timing, respond, identity, self._receiver(socket, label))
        await channel.start()
        return ChannelAgent(channel)

    def _receiver(self, socket: Path, label: str) -> Receive:
        visits = self._visits
        if visits is None:
            return receive_none

        async def receive(door: str, call: Call) -> None:
            await visits(socket, door, Visit(call, label))

        return receive
