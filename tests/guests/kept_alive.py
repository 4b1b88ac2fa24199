"""Clients that keep their connection: HTTP/1.1 with keep-alive, and a WebSocket. Both come again when it breaks."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.guests.counting import LIMIT, ZONE
from tests.lab import GOLDEN, HTTPS

HOST = f"{GOLDEN}.{ZONE}"


def connect(context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", HTTPS), timeout=LIMIT)
    return context.wrap_socket(plain, server_hostname=HOST)


@dataclass
class Asked:
    """What a client with keep-alive has seen."""

    connects: int = 0
    statuses: list[int] = field(default_factory=list)


@contextmanager
def asking(context: ssl.SSLContext) -> Iterator[Asked]:
    """Ask again and again on one connection while the block runs; on a new one at once when it breaks."""
    seen, over = Asked(), threading.Event()

    def ask() -> None:
        connection = connect(context)
        seen.connects += 1
        while not over.wait(0.02):
            try:
                connection.sendall(f"GET /count HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
                answer = http.client.HTTPResponse(connection, method="GET")
                answer.begin()
                answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                connection = connect(context)
                seen.connects += 1
            else:
                seen.statuses.append(answer.status)
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join(LIMIT)
    assert not thread.is_alive(), "the client still waits for an answer"


class WebSocket:
    """A WebSocket that only listens."""

    def __init__(self, context: ssl.SSLContext, path: str) -> None:
        self._connection = connect(context)
        self._connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        answer = http.client.HTTPResponse(self._connection, method="GET")
        answer.begin()
        self.status = answer.status

    def text(self) -> str:
        """The next message, a short one; empty when it was cut."""
        try:
            head = self._connection.recv(2)
            return self._connection.recv(head[1]).decode() if len(head) == 2 else ""
        except OSError:
            return ""

    def close(self) -> None:
        self._connection.close()


def last_text(websocket: WebSocket) -> float:
    """Read until it is cut; when that was."""
    while websocket.text():
        pass
    websocket.close()
    return time.monotonic()
