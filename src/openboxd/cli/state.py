"""What every command of one invocation shares: the output form, the address, and the way to the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from openboxd.client.client import Client

T = TypeVar("T")


@dataclass
class State:
    """Options that may stand before or after any command."""

    json: bool = False
    api_url: str = ""

    def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Connect, do `work`, close. Ctrl-C cancels the work and arrives as KeyboardInterrupt.

        gRPC is imported here: it takes longer to load than `--help` may take altogether.
        """
        from openboxd.client.client import open_client
        from openboxd.client.endpoint import resolve

        async def connected() -> T:
            async with open_client(resolve(self.api_url)) as client:
                return await work(client)

        return asyncio.run(connected())


pass_state = click.make_pass_decorator(State, ensure=True)
