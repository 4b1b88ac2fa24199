"""Clients that come to a machine's SSH port all the time: some only to be greeted, one to log in for real."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.guests.coming import Seen, coming

LIMIT = 120.0
AT_ONCE = 6
GREETING = b"SSH-2.0-"


@dataclass(frozen=True)
class Login:
    """One login: when it began and ended (monotonic seconds), and what went wrong, if anything did."""

    began: float
    ended: float
    wrong: str


def greet(port: int) -> None:
    """Connect and wait for the greeting. Raises OSError."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
        said = connection.recv(256)
    if not said.startswith(GREETING):
        raise ConnectionError(f"it said {said!r}")


def knocking(port: int, every: float) -> AbstractContextManager[Seen]:
    """A new connection every `every` seconds while the block runs, unless `AT_ONCE` wait already: a guest in software
    needs a third of a second to greet one, on a busy host more than one. All have been greeted when it is over."""
    return coming(lambda: greet(port), every, AT_ONCE)


@contextmanager
def logging_in(login: Callable[[], str]) -> Iterator[list[Login]]:
    """Log in again and again, one after the other, while the block runs; `login` returns what went wrong, if anything
    did. The last one has ended when it is over."""
    over, logins = threading.Event(), list[Login]()

    def again() -> None:
        while not over.is_set():
            began = time.monotonic()
            wrong = login()
            logins.append(Login(began, time.monotonic(), wrong))

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield logins
    finally:
        over.set()
        thread.join(LIMIT)
    assert not thread.is_alive(), "a login neither succeeds nor fails"
