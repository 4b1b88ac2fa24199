"""Clients that come in all the time, each on a connection of its own, while something happens to the machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LIMIT = 120.0
"""Seconds for the last ones to be served, or to give up."""


@dataclass
class Seen:
    """What they have seen; waits in seconds, of those that were served."""

    started: int = 0
    waits: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def coming(visit: Callable[[], object], every: float, at_once: int = 1000) -> Iterator[Seen]:
    """A new client every `every` seconds while the block runs, unless `at_once` are there already.

    `visit` raises OSError if it is not served. When the block is over all have ended, and each has been counted.
    """
    seen, over, threads = Seen(), threading.Event(), list[threading.Thread]()
    free = threading.Semaphore(at_once)

    def one() -> None:
        began = time.monotonic()
        try:
            visit()
            seen.waits.append(time.monotonic() - began)
        except OSError as error:
            seen.failures.append(repr(error))
        finally:
            free.release()

    def begin() -> None:
        while not over.wait(every):
            if free.acquire(blocking=False):
                threads.append(threading.Thread(target=one))
                threads[-1].start()
                seen.started += 1

    beginner = threading.Thread(target=begin)
    beginner.start()
    try:
        yield seen
    finally:
        over.set()
        beginner.join()
        deadline = time.monotonic() + LIMIT
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a client is neither served nor gives up"
    assert len(seen.waits) + len(seen.failures) == seen.started
