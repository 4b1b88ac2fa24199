"""Network namespaces that a test makes and removes, and machines without QEMU in them.

    w (world) 198.51.100.2 ── 198.51.100.1 h (host: the bridge, its rules) ── tap ··frames·· tap of g1, g2 (machines)

A machine here is a namespace with a tap device of its own; a thread carries the frames between that and the tap that
`prepare` has made, as QEMU would. Nothing leaves these namespaces.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import secrets
import select
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from openboxd.network.tap import open_tap
from tests.lab import run

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
OWN_LOOPBACK, HOST, WORLD = "127.0.0.1", "198.51.100.1", "198.51.100.2"


def inside(namespace: str, work: Callable[[], T], limit: float = 200) -> T:
    """Run `work` in a thread whose network, and that of all it starts, is the namespace's; `limit` in seconds."""
    result: list[Any] = []

    def body() -> None:
        try:
            with Path(f"/run/netns/{namespace}").open() as file:
                assert _LIBC.setns(file.fileno(), _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            result.append((True, work()))
        except BaseException as error:
            result.append((False, error))

    thread = threading.Thread(target=body, daemon=True)  # one that hangs fails its test, not the run
    thread.start()
    thread.join(limit)
    assert not thread.is_alive(), "it hangs"
    good, value = result[0]
    if not good:
        raise value
    return value  # type: ignore[no-any-return]


def go(namespace: str, work: Callable[[], Awaitable[T]]) -> T:
    """The same with an event loop."""

    async def main() -> T:
        return await work()

    return inside(namespace, lambda: asyncio.run(main()))


@dataclass
class Guest:
    """A machine without QEMU."""

    namespace: str
    mac: str
    fds: list[int] = field(default_factory=list)

    def plug(self, host_fd: int) -> None:
        """Carry frames between the card and this device, until `unplug`, as one run's QEMU would."""
        self.unplug()
        stop, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._carry, args=(host_fd, stop), daemon=True)
        self._thread.start()

    def unplug(self) -> None:
        """The run ends, and its device with it."""
        if getattr(self, "_thread", None) is not None:
            os.close(self._stop)
            self._thread.join(10)
            assert not self._thread.is_alive()
            self._thread = None  # type: ignore[assignment]

    def _carry(self, host_fd: int, stop: int) -> None:
        card = self.fds[0]
        poll = select.poll()
        for fd in (card, host_fd, stop):
            poll.register(fd, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if stop in ready:
                break
            for source, target in ((card, host_fd), (host_fd, card)):
                if source in ready:
                    with contextlib.suppress(OSError):  # the device is not up (yet), or full
                        os.write(target, os.read(source, 70_000))
        os.close(host_fd)
        os.close(stop)

    def sh(self, command: str, *, check: bool = True) -> str:
        """Run a shell line in the machine."""
        return in_namespace(self.namespace, command, check=check)


def in_namespace(namespace: str, command: str, *, check: bool = True) -> str:
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, "sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class World:
    """The namespaces."""

    def __init__(self) -> None:
        self._tag = secrets.token_hex(3)
        self.host, self.world = self._new("h"), self._new("w")
        run(
            "ip", "link", "add", "up0", "netns", self.host, "type", "veth", "peer", "name", "up0", "netns", self.world
        )
        for name, address in ((self.host, HOST), (self.world, WORLD)):
            in_namespace(name, f"ip addr add {address}/24 dev up0; ip link set up0 up; ip link set lo up")
        in_namespace(self.host, f"ip route add default via {WORLD}")
        self.guests: list[Guest] = []

    def _new(self, kind: str) -> str:
        name = f"boxdtest-{self._tag}-{kind}"
        run("ip", "netns", "add", name)
        self.names = [*getattr(self, "names", []), name]
        return name

    def guest(self, address: str, mac: str, gateway: str) -> Guest:
        """A machine, not plugged in yet."""
        name = self._new(f"g{len(self.guests)}")
        guest = Guest(name, mac, [inside(name, lambda: open_tap("eth0"))])
        guest.sh(f"ip link set lo up; ip link set eth0 address {mac} up; sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
        guest.sh(f"ip addr add {address}/16 dev eth0; ip route add default via {gateway}")
        self.guests.append(guest)
        return guest

    def close(self) -> None:
        for guest in self.guests:
            guest.unplug()
            for fd in guest.fds:
                os.close(fd)
        for name in self.names:
            run("ip", "netns", "delete", name)


@contextlib.contextmanager
def world() -> Iterator[World]:
    made = World()
    try:
        yield made
    finally:
        made.close()
