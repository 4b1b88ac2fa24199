"""Clients that come to a machine's SSH port all the time: some only to be greeted, one to log in for real."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LIMIT = 120.0
AT_ONCE = 12
GREETING = b"SSH-2.0-"


@dataclass
class Seen:
    """What they have seen. Times are of the monotonic clock, waits in seconds."""

    waits: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    logins: list[tuple[float, float, str]] = field(default_factory=list)  # begun, ended, what went wrong


def greet(port: int) -> float:
    """Connect and wait for the greeting; how long it took. Raises OSError."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
        said = connection.recv(256)
    if not said.startswith(GREETING):
        raise ConnectionError(f"it said {said!r}")
    return time.monotonic() - began


@contextmanager
def knocking(port: int, every: float) -> Iterator[Seen]:
    """A new connection every `every` seconds while the block runs, unless `AT_ONCE` wait already: a guest in software
    needs a third of a second to greet one. All have been greeted when it is over."""
    seen, over, threads = Seen(), threading.Event(), list[threading.Thread]()
    free = threading.Semaphore(AT_ONCE)

    def one() -> None:
        try:
            seen.waits.append(greet(port))
        except OSError as error:
            seen.failures.append(repr(error))
        finally:
            free.release()

    def begin() -> None:
        while not over.wait(every):
            if free.acquire(blocking=False):
                threads.append(threading.Thread(target=one))
                threads[-1].start()

    beginner = threading.Thread(target=begin)
    beginner.start()
    try:
        yield seen
    finally:
        over.set()
        beginner.join()
        for thread in threads:
            thread.join(LIMIT)


@contextmanager
def logging_in(login: Callable[[], str], seen: Seen) -> Iterator[None]:
    """Log in again and again while the block runs; `login` returns what went wrong, or nothing."""
    over = threading.Event()

    def again() -> None:
        while not over.is_set():
            began = time.monotonic()
            wrong = login()
            seen.logins.append((began, time.monotonic(), wrong))

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(LIMIT)
