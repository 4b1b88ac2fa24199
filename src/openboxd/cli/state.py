"""What every command of one invocation shares: the output form, the address, and the way to the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

if TYPE_CHECKING:
    from openboxd.client.client import Client

T = TypeVar("T")


class Keeper(Protocol):
    """What lets a guard outlive a restore of its own machine, and a daemon that is started anew."""

    def keep(self, checkpoint: str) -> None:
        """From now on whoever typed this gets its outcome, also in the restored machine. `checkpoint` is the name
        under which that is about to be saved."""

    def ended(self, status: int) -> None:
        """The guarded command has ended with this status: what is left to be done follows from it."""


@dataclass(frozen=True)
class Here:
    """The machine that a command is typed in, which the daemon runs for it.

    Attributes:
        name: what the machine is called now.
        machine_id: what it is called for ever.
        directory: where the command was typed: a path of the machine.
        superuser: it was root who typed it.
        keeper: for a guard of this machine.
    """

    name: str
    machine_id: str
    directory: str
    superuser: bool
    keeper: Keeper

    def is_meant(self, ref: str) -> bool:
        """Whether a reference to a machine is to this one."""
        return ref in (self.name, self.machine_id)


@dataclass
class State:
    """Options that may stand before or after any command, and the one connection of this process."""

    json: bool = False
    api_url: str = ""
    last_word: str = ""
    """What to say if Ctrl-C ends the command."""

    here: Here | None = None
    """Set in a machine."""

    _runner: asyncio.Runner | None = None
    _connection: AbstractAsyncContextManager[Client] | None = None
    _client: Client | None = None

    def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Do `work` with the client, which is connected once. Ctrl-C cancels the work and is a KeyboardInterrupt.

        The connection is never closed, it ends with the process: gRPC can abort a process that tears it down, and
        the daemon takes a closed socket for what it is. gRPC is imported here, because loading it takes longer than
        `--help` may take altogether.
        """

        async def connected() -> T:
            return await work(await self._connect())

        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(connected())

    async def _connect(self) -> Client:
        if self._client is None:
            from openboxd.client.client import open_client
            from openboxd.client.endpoint import AT_HAND, resolve

            self._connection = open_client(resolve(self.api_url) if self.here is None else AT_HAND)
            self._client = await self._connection.__aenter__()
        return self._client


pass_state = click.make_pass_decorator(State, ensure=True)
