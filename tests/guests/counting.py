"""A web app in a real guest that counts its answers in memory, and clients of its HTTPS domain."""

from __future__ import annotations

import socket
import ssl
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.guests.coming import Seen, coming
from tests.lab import GOLDEN, HTTPS, Daemon

ZONE = "boxd.localhost"
LIMIT = 60.0
AT_ONCE = 40
"""Clients at one time. A guest in software serves some ten in a second; those who come in the seconds of a daemon's
restart would be in each other's way for a minute, which says nothing of the daemon."""

APP = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class App(BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        App.count += 1
        body = f"{App.count} {self.headers['Host']} {self.headers['X-Forwarded-Proto']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass

ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"""


def start(daemon: Daemon, port: int, machine: str = GOLDEN) -> None:
    """Start the app in the guest, and wait until it listens."""
    script = f"cat > app.py <<'END'\n{APP}\nEND\nsetsid python3 app.py {port} >/dev/null 2>&1 &"
    daemon.sh(script, machine)
    daemon.sh(f"while ! ss -ltn | grep -q :{port}; do sleep 0.2; done", machine)


def metric(daemon: Daemon, name: str) -> float:
    """The value of a metric without labels."""
    with urllib.request.urlopen(f"{daemon.url}/metrics", timeout=LIMIT) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


def trusting(root: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(root))


def ask(context: ssl.SSLContext, host: str = f"{GOLDEN}.{ZONE}", port: int = HTTPS) -> tuple[int, str]:
    """Status and body of a GET on a connection of its own. Raises OSError."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
    with plain, context.wrap_socket(plain, server_hostname=host) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    if not answer:
        raise ConnectionError("the connection was ended without an answer")
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def serving(context: ssl.SSLContext) -> None:
    """Wait until Caddy serves; it starts beside the daemon."""
    deadline = time.monotonic() + LIMIT
    while True:
        with suppress(OSError):
            ask(context)
            return
        assert time.monotonic() < deadline, "HTTPS is not served"
        time.sleep(0.1)


@contextmanager
def load(context: ssl.SSLContext, every: float) -> Iterator[Seen]:
    """One comes to the domain every `every` seconds, unless `AT_ONCE` are there; each must be answered by 200."""

    def visit() -> None:
        status, body = ask(context)
        if status != 200:
            raise ConnectionError(f"{status} {body}")

    with coming(visit, every, AT_ONCE) as seen:
        yield seen


def plain(port: int) -> int:
    """Status of a GET at an exposed port."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return int(b"".join(iter(lambda: connection.recv(65536), b"")).split()[1])


def first_line(port: int) -> str:
    """What a service that speaks first says."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection,
        connection.makefile("rb") as said,
    ):
        return said.readline().decode()
