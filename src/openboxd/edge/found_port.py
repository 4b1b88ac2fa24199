"""The port of a default route that nobody has pinned, found when somebody comes for it.

The guest is asked what it listens on only when the port in use does not answer, so a machine that is idle, or whose
port is right, costs nothing.
"""

from __future__ import annotations

import asyncio
import time

from openboxd.edge.default_port import FALLBACK, REST, STEADY, Watch, begin, observe
from openboxd.edge.streams import Stream
from openboxd.edge.through_agent import Guest, dial_agent, listening

LOOK_EVERY = 0.25
"""Seconds between looks while a candidate has to stay the same."""

PATIENCE = REST + 2 * STEADY
"""Seconds for which a connection waits for a candidate: the longest that the rule can make it wait, and a little."""


class FoundPort:
    """The port of one machine's default route."""

    def __init__(self) -> None:
        self._watch: Watch | None = None
        self._looking = asyncio.Lock()

    @property
    def port(self) -> int:
        """The port in use."""
        return self._watch.port if self._watch else FALLBACK

    def begin_anew(self) -> None:
        """The machine was swapped or booted: what was seen of it is past, and it need not rest."""
        if self._watch is not None:
            self._watch = Watch(self._watch.port, changed_at=time.monotonic() - REST)

    async def look(self, guest: Guest) -> int:
        """Ask the guest once; the port in use afterwards. Raises OSError if it does not answer."""
        async with self._looking:
            found, now = await listening(guest), time.monotonic()
            self._watch = observe(self._watch, found, now) if self._watch else begin(found, now)
            return self._watch.port

    async def dial(self, guest: Guest) -> Stream:
        """Connect to the port in use, or to the one that takes over. Raises OSError if there is none."""
        await self._begin(guest)
        refused = self.port
        try:
            return await dial_agent(guest, refused)
        except TimeoutError:  # somebody may well listen there, and is busy
            raise
        except OSError:
            await self._takes_over(guest, refused)
        return await dial_agent(guest, self.port)

    async def _begin(self, guest: Guest) -> None:
        """Ask the guest if nobody has yet: once for all who come first. Raises OSError if it does not answer."""
        if self._watch is None:
            async with self._looking:
                if self._watch is None:
                    self._watch = begin(await listening(guest), time.monotonic())

    async def _takes_over(self, guest: Guest, refused: int) -> None:
        """Wait until another port has taken over. Raises ConnectionRefusedError if none is about to."""
        deadline = time.monotonic() + PATIENCE
        while await self.look(guest) == refused:
            watch = self._watch
            if watch is None or not watch.candidates or time.monotonic() > deadline:
                raise ConnectionRefusedError(f"nothing listens on port {refused}, nor on another known one")
            await asyncio.sleep(LOOK_EVERY)
