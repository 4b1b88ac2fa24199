"""A job: an admitted order, its task, the moment it is on record, and its outcome."""

from __future__ import annotations

import asyncio
import time

from openboxd.errors import BoxdError
from openboxd.worker.orders import Order


class Job:
    """See the module."""

    def __init__(self, order: Order, actor: str = "") -> None:
        self.order = order
        self.actor = actor  # id of the user who gave it, or of an organization's key
        self.task: asyncio.Task[None] | None = None
        self.abandoned: set[str] = set()
        self.concludes = False  # what is shown from now on is its outcome; what is left to do is only for boxd
        self.begun_at = time.monotonic()
        self.took_us = 0  # how long its vCPUs took to be paused or resumed, where that is what was ordered
        self.finished_at = 0.0
        loop = asyncio.get_running_loop()
        self._recorded: asyncio.Future[None] = loop.create_future()
        self._done: asyncio.Future[None] = loop.create_future()
        for future in (self._recorded, self._done):
            future.add_done_callback(_retrieve)

    def record(self) -> None:
        """The order is on record in the store: its caller may be told so."""
        if not self._recorded.done():
            self._recorded.set_result(None)

    def finish(self, error: BoxdError | None) -> None:
        """Set the outcome; once."""
        self.finished_at = time.monotonic()
        for future in (self._recorded, self._done):
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    async def recorded(self) -> None:
        """Wait until the order is on record. Cancelling cancels the waiting only."""
        await asyncio.shield(self._recorded)

    async def done(self, asker: str = "") -> None:
        """Wait for the outcome; raises what the operation raised. Cancelling cancels the waiting only.

        Who is cancelled before the outcome is known counts as `abandoned`; who hears it does not any more.
        """
        try:
            await asyncio.shield(self._done)
        except asyncio.CancelledError:
            self.abandoned.add(asker)
            raise
        except BoxdError:
            self.abandoned.discard(asker)
            raise
        self.abandoned.discard(asker)


def _retrieve(future: asyncio.Future[None]) -> None:
    """Mark an exception as seen: nobody may be waiting for it any more."""
    if not future.cancelled():
        future.exception()


def finished(order: Order) -> Job:
    """The job of an order for which nothing is to be done."""
    job = Job(order)
    job.finish(None)
    return job
