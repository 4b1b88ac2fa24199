"""Entries of a machine's event log. A log that cannot be written is no reason for anything else to fail."""

from __future__ import annotations

import logging
import time

from openboxd.errors import BoxdError
from openboxd.model import Event, Outcome
from openboxd.ports import Store

RUN_ENDED = "run ended"
"""The operation of an end that nobody ordered: a crash, a kill, a guest that powered itself off."""

STALLED = "stalled"
"""The operation of a guest that stands still because there is no room for what it writes."""

STANDS_STILL = (
    "the guest stands still because the pool is full; remove a checkpoint or add space, and it goes on by itself"
)

log = logging.getLogger(__name__)


def now_ms() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def happened(machine_id: str, operation: str, detail: str = "", error: str = "") -> Event:
    """An event that nobody ordered and that took no time."""
    outcome = Outcome.FAILED if error else Outcome.OK
    return Event(machine_id, now_ms(), "", operation, detail, outcome, 0, error)


async def note(store: Store, event: Event) -> None:
    """Append to the log."""
    try:
        await store.add_event(event)
    except BoxdError as error:
        log.warning("machine %s: '%s' is missing in its event log: %s", event.machine_id, event.operation, error)
