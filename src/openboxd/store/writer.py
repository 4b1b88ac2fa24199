"""The one thread that writes.

Writes are done in the order in which they were asked for, one transaction each. The caller waits for the commit;
a caller that is cancelled stops waiting, while its write still takes place, whole, in its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine

from openboxd.errors import Unavailable
from openboxd.store.engine import translated

P = ParamSpec("P")
T = TypeVar("T")

Change = Callable[Concatenate[Connection, P], T]
"""Something to do inside one transaction; if it raises, the transaction is rolled back."""


class Writer:
    """Runs changes one after the other, each in a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-writer")

    async def write(self, change: Change[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `change` and commit; its result once that is on disk.

        Raises:
            WrongState: the disk is full or fails; nothing was changed.
            Unavailable: the store was closed; nothing was changed.
        """
        try:
            outcome = self._thread.submit(self._transact, lambda connection: change(connection, *args, **kwargs))
        except RuntimeError as error:
            raise Unavailable("boxd is stopping; nothing was changed; try again when it is back") from error
        # Without the shield a cancelled caller would take its change out of the queue.
        return await asyncio.shield(asyncio.wrap_future(outcome))

    def _transact(self, change: Callable[[Connection], T]) -> T:
        with translated(), self._engine.begin() as connection:
            return change(connection)

    def close(self) -> None:
        """Finish what was asked for, then end the thread. Harmless twice."""
        self._thread.shutdown(wait=True)
        self._engine.dispose()
