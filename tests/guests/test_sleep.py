"""Sleep of a real guest: its memory and processes go on, its clock is right, and whoever comes wakes it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.guests import counting, keeping
from tests.guests.test_https import context_of
from tests.guests.test_undo import clocks
from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

LIMIT = 60.0


def status(daemon: Daemon) -> str:
    return str(daemon.json("machine", "get", GOLDEN)["status"])


def seen(daemon: Daemon, wanted: str) -> float:
    """Wait until the machine has come into this state by itself; the seconds it took. Looking wakes nobody."""
    began = time.monotonic()
    while status(daemon) != wanted:
        assert time.monotonic() < began + LIMIT, f"the machine is {status(daemon)} and never became {wanted}"
        time.sleep(0.1)
    return time.monotonic() - began


def banner(daemon: Daemon) -> bytes:
    """What the guest's sshd says to somebody who comes by the machine's SSH port."""
    port = daemon.json("machine", "get", GOLDEN)["ssh_port"]
    with socket.create_connection(("127.0.0.1", port), LIMIT) as connection:
        connection.settimeout(LIMIT)
        return connection.recv(64)


def timed(what: str, action: Callable[[], object]) -> None:
    began = time.monotonic()
    action()
    print(f"{what}: {1000 * (time.monotonic() - began):.0f} ms")


def refused_while_damaged(daemon: Daemon, state: Path) -> None:
    """A hibernated machine whose file of device states has changed is not woken, and keeps all that it has."""
    good = state.read_bytes()
    for damaged in (good[: len(good) // 2], bytes(4096) + good[4096:]):
        state.write_bytes(damaged)
        refused = daemon.boxd("machine", "wake", GOLDEN, check=False)
        assert refused.returncode == 1 and "stays hibernated" in refused.stderr, refused
        print(refused.stderr.strip())
        assert (status(daemon), daemon.qemus()) == ("hibernated", [])
        assert state.read_bytes() == damaged
    state.write_bytes(good)


def test_a_machine_sleeps_and_goes_on(daemon: Daemon) -> None:
    keeping.start(daemon)
    first = keeping.state(daemon)

    # suspended: memory stays, time stands still, the clock is right afterwards
    done = daemon.json("machine", "suspend", GOLDEN)
    assert done["status"] == "standby" == status(daemon)
    print(f"suspended after {done['suspend_us'] / 1000:.1f} ms")
    [pid] = daemon.qemus()
    time.sleep(4)  # what is tested is that this much time has gone by
    daemon.boxd("machine", "checkpoint", "list", GOLDEN)
    daemon.boxd("machine", "events", GOLDEN)
    assert status(daemon) == "standby", "looking wakes nobody"
    refused = daemon.boxd("machine", "checkpoint", "save", GOLDEN, "x", check=False)
    assert refused.returncode == 1 and "it is suspended; resume it first" in refused.stderr
    print(f"resumed after {daemon.json('machine', 'resume', GOLDEN)['resume_us'] / 1000:.1f} ms")
    off, _ = clocks(daemon)
    print(f"its clock is {off:.3f} s off after a suspension")
    assert off < 1
    second = keeping.state(daemon)
    assert (second["pid"], second["digest"]) == (first["pid"], first["digest"])
    assert second["counter"] > first["counter"] and daemon.qemus() == [pid]

    # it stays suspended over a restart of the daemon, and a command wakes it
    daemon.boxd("machine", "suspend", GOLDEN)
    daemon.restart()
    assert status(daemon) == "standby"
    timed("a command at a suspended machine", lambda: daemon.sh("true"))
    assert status(daemon) == "running" and daemon.qemus() == [pid]

    # hibernated: no process, no memory; the same processes go on
    timed("hibernate", lambda: daemon.boxd("machine", "hibernate", GOLDEN))
    shown = daemon.json("machine", "get", GOLDEN)
    assert (shown["status"], shown["resident_bytes"]) == ("hibernated", 0)
    assert daemon.qemus() == []
    daemon.restart()
    assert (status(daemon), daemon.qemus()) == ("hibernated", [])
    refused_while_damaged(daemon, daemon.home / "pool/machines" / shown["id"] / "hibernated/devices.state")
    timed("wake", lambda: daemon.boxd("machine", "wake", GOLDEN))
    print([line for line in daemon.log.splitlines() if "woken" in line][-1])
    off, _ = clocks(daemon)
    print(f"its clock is {off:.3f} s off after a hibernation")
    assert off < 1
    third = keeping.state(daemon)
    assert (third["pid"], third["digest"]) == (first["pid"], first["digest"])
    assert third["counter"] >= second["counter"]
    assert not (daemon.home / "pool/machines" / shown["id"] / "hibernated").exists()

    # from suspended to hibernated; somebody at the SSH port wakes it
    daemon.boxd("machine", "suspend", GOLDEN)
    daemon.boxd("machine", "hibernate", GOLDEN)
    timed("SSH's greeting from a hibernated machine", lambda: print(banner(daemon)))
    assert status(daemon) == "running"
    daemon.boxd("machine", "suspend", GOLDEN)
    timed("SSH's greeting from a suspended machine", lambda: print(banner(daemon)))
    assert keeping.state(daemon)["digest"] == first["digest"]


VISITORS = 5


def test_a_web_request_wakes_a_hibernated_machine(daemon: Daemon, tmp_path: Path) -> None:
    """Through Caddy and the machine's gate: who comes waits, and is answered by the process that was there before."""
    context = context_of(daemon, tmp_path)
    counting.start(daemon, 8000)
    here = f"{GOLDEN}.{counting.ZONE} https"
    assert counting.ask(context) == (200, f"1 {here}")

    daemon.boxd("machine", "hibernate", GOLDEN)
    assert (status(daemon), daemon.qemus()) == ("hibernated", [])
    with ThreadPoolExecutor(VISITORS) as visitors:  # who come at once wake it once
        answers = list(visitors.map(lambda _: counting.ask(context), range(VISITORS)))
    assert sorted(answers) == [(200, f"{number} {here}") for number in range(2, 2 + VISITORS)]
    assert status(daemon) == "running" and len(daemon.qemus()) == 1
    print([line for line in daemon.log.splitlines() if "woken" in line])
    assert daemon.log.count("woken") == 1

    daemon.boxd("machine", "hibernate", GOLDEN)
    daemon.restart()  # a daemon that has never seen the machine run
    timed("an HTTPS request to a hibernated machine", lambda: print(counting.ask(context)))
    assert status(daemon) == "running" and daemon.log.count("woken") == 2
    daemon.boxd("machine", "suspend", GOLDEN)
    timed("an HTTPS request to a suspended machine", lambda: print(counting.ask(context)))
    assert counting.ask(context) == (200, f"{VISITORS + 4} {here}")


def test_a_machine_that_nobody_uses_falls_asleep(daemon: Daemon) -> None:
    daemon.boxd("machine", "config", "set", GOLDEN, "auto-suspend.timeout", 2)
    daemon.boxd("machine", "config", "set", GOLDEN, "auto-hibernate.timeout", 6)
    began = time.monotonic()
    assert daemon.sh("sleep 7; echo through") == "through\n", "a command that runs keeps it awake"
    assert time.monotonic() - began >= 7
    print(f"suspended {seen(daemon, 'standby'):.1f} s after the command")
    print(f"hibernated {seen(daemon, 'hibernated'):.1f} s later")
    assert daemon.qemus() == []
    daemon.boxd("machine", "config", "set", GOLDEN, "auto-suspend.timeout", 0)
    daemon.boxd("machine", "config", "set", GOLDEN, "auto-hibernate.timeout", 0)
    assert status(daemon) == "hibernated"

    # undo takes it back from there; and what is captured is not what it fell asleep with
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "booted", "-y")
    assert status(daemon) == "running"
    machine = daemon.json("machine", "get", GOLDEN)["id"]
    assert not (daemon.home / "pool/machines" / machine / "hibernated").exists()
    assert daemon.sh("echo back") == "back\n"
