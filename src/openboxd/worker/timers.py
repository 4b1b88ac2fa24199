"""Removal timers: a machine whose moment has come is destroyed, whatever state it is in.

The moment is a column, so a timer survives the daemon; one that went off meanwhile is carried out at the next start.
Wall-clock time decides, and it is looked at often enough that setting the host's clock does no harm.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from openboxd.errors import BoxdError
from openboxd.model import Machine
from openboxd.ports import Store
from openboxd.worker.rounds import LOOK_AGAIN, SOONEST, Rounds

log = logging.getLogger(__name__)


class Timers:
    """Waits for the next timer of any machine."""

    def __init__(self, store: Store, destroy: Callable[[str], Awaitable[None]]) -> None:
        self._store, self._carry_out = store, destroy
        self._rounds = Rounds("removal timers", self._round)

    def start(self) -> None:
        """Begin to watch; once."""
        self._rounds.start()

    async def close(self) -> None:
        """Stop watching. Harmless twice."""
        await self._rounds.close()

    def changed(self) -> None:
        """A timer was set or cleared."""
        self._rounds.changed()

    async def _round(self) -> float:
        """Destroy what is due; seconds until the next look."""
        timed = [machine for machine in self._store.machines() if machine.delete_at_ms]
        now = time.time_ns() // 1_000_000
        due = [machine for machine in timed if machine.delete_at_ms <= now]
        await asyncio.gather(*(self._destroy(machine) for machine in due))
        later = min((machine.delete_at_ms for machine in timed if machine not in due), default=now + 10**9)
        return min(LOOK_AGAIN, max(SOONEST, (later - now) / 1000))

    async def _destroy(self, machine: Machine) -> None:
        log.info("machine %s (%s): its removal timer went off", machine.name, machine.id)
        try:
            await self._carry_out(machine.id)
        except BoxdError as error:
            log.warning("machine %s was not removed by its timer and will be tried again: %s", machine.name, error)
