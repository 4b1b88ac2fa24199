"""The HTTPS domain of a real machine: found port, routes, exposed ports, and what a restore is from outside."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
from pathlib import Path

import pytest

from openboxd.host import pidfd
from tests.guests import counting
from tests.guests.counting import ZONE, ask
from tests.lab import BOOTED, GOLDEN, HTTPS, Daemon, Lab

pytestmark = pytest.mark.guest

EVERY = 0.02
"""Seconds between new connections."""

ROUNDS = 10

KEPT = ("id", "ssh_port", "public_ip")
"""What a machine keeps when it is given another name."""


@pytest.fixture
def context(daemon: Daemon, tmp_path: Path) -> ssl.SSLContext:
    """See context_of."""
    return context_of(daemon, tmp_path)


def context_of(daemon: Daemon, tmp_path: Path) -> ssl.SSLContext:
    """A client that trusts what `boxd edge ca` prints, and nothing else. HTTPS is served."""
    root = tmp_path / "root.crt"
    root.write_text(daemon.boxd("edge", "ca").stdout)
    made = counting.trusting(root)
    counting.serving(made)
    return made


def test_a_restore_is_a_short_wait_for_those_outside(daemon: Daemon, context: ssl.SSLContext) -> None:
    status, text = ask(context)
    assert (status, text.strip()) == (502, f"nothing answers on the web server of machine '{GOLDEN}'")
    counting.start(daemon, 3000)  # not the default: it is found
    counts = [int(ask(context)[1].split()[0]) for _ in range(3)]
    assert counts == [1, 2, 3]
    assert ask(context)[1] == f"4 {GOLDEN}.{ZONE} https"
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "at-four")
    assert int(ask(context)[1].split()[0]) == 5
    before = daemon.json("machine", "get", GOLDEN)
    held, waits = [], []
    for _ in range(ROUNDS):
        with counting.load(context, EVERY) as seen:
            done = daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "at-four", "-y")
            match = re.search(r"held (\d+) connections, longest wait (\d+) ms", done.stdout)
            assert match is not None, done.stdout
            held.append((int(match[1]), int(match[2])))
        assert seen.failures == []
        assert len(seen.waits) > 1, "somebody came while it was restored"
        waits += seen.waits
        assert 5 <= int(ask(context)[1].split()[0]) <= 5 + len(seen.waits)  # back at four, and then on
    assert max(number for number, _ in held) > 0
    assert counting.metric(daemon, "boxd_hold_wait_seconds_count") >= sum(number for number, _ in held)
    after = daemon.json("machine", "get", GOLDEN)
    assert {k: after[k] for k in ("name", "id", "url", "ssh", "public_ip")} == {
        k: before[k] for k in ("name", "id", "url", "ssh", "public_ip")
    }
    print(f"\n{len(waits)} requests, 0 failed, longest {max(waits):.1f} s; held (number, ms): {held}")


def test_routes_and_exposed_ports_lead_into_the_machine_and_end_with_it(
    daemon: Daemon, context: ssl.SSLContext
) -> None:
    counting.start(daemon, 9000)
    daemon.boxd("machine", "proxy", "new", "api", "--vm", GOLDEN, "--port", 9000)
    assert ask(context, f"api.{GOLDEN}.{ZONE}")[1] == f"1 api.{GOLDEN}.{ZONE} https"
    twice = daemon.boxd("machine", "proxy", "new", "api", "--vm", GOLDEN, "--port", 80, check=False)
    assert (twice.returncode, twice.stderr) == (
        1,
        f"error: machine '{GOLDEN}' already has a route 'api'; it was not changed\n",
    )
    daemon.boxd("machine", "proxy", "set-port", "--vm", GOLDEN, "--port", 9000)
    assert ask(context)[0] == 200
    routes = daemon.json("machine", "proxy", "list", "--vm", GOLDEN)
    assert [(r["name"], r["port"], r["mode"]) for r in routes] == [
        ("default", 9000, "locked"),
        ("api", 9000, "locked"),
    ]
    exposed = daemon.json("machine", "expose", GOLDEN, 9000)
    daemon.boxd("machine", "domain", "new", "www.example.org", "--vm", GOLDEN)
    daemon.restart()
    counting.serving(context)
    assert ask(context, "www.example.org")[1].split()[1:] == ["www.example.org", "https"]
    assert ask(context, "api.www.example.org")[1].split()[1:] == ["api.www.example.org", "https"]
    daemon.boxd("machine", "domain", "remove", "www.example.org")
    assert ask(context, "www.example.org")[0] == 404
    assert daemon.json("machine", "expose", "--list") == [exposed]
    assert counting.plain(exposed["public_port"]) == 200
    daemon.boxd("machine", "stop", GOLDEN)
    status, text = ask(context)
    assert (status, text.strip()) == (503, f"machine '{GOLDEN}' is stopped; start it first")
    renamed(daemon, context)
    daemon.boxd("machine", "remove", "silver", "-y")
    assert ask(context, f"silver.{ZONE}")[0] == 404
    assert daemon.json("machine", "expose", "--list") == []


def renamed(daemon: Daemon, context: ssl.SSLContext) -> None:
    """The stopped machine gets a name that it keeps outside also when it goes back to before that. Its routes go with
    it, and nothing else of it changes."""
    before = daemon.json("machine", "get", GOLDEN)
    daemon.boxd("machine", "rename", GOLDEN, "silver")
    daemon.boxd("machine", "checkpoint", "restore", "silver", BOOTED, "-y")
    after = daemon.json("machine", "get", "silver")
    assert [after[key] for key in KEPT] == [before[key] for key in KEPT]
    assert (after["name"], after["url"]) == ("silver", before["url"].replace(GOLDEN, "silver"))
    counting.start(daemon, 9000, "silver")
    for host in (f"silver.{ZONE}", f"api.silver.{ZONE}"):
        assert ask(context, host)[1].split()[1:] == [host, "https"]
        assert ask(context, host.replace("silver", GOLDEN))[0] == 404
    assert counting.first_line(after["ssh_port"]).startswith("SSH-2.0-")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_of_the_daemon_is_a_wait_and_no_failure(
    daemon: Daemon, context: ssl.SSLContext, number: signal.Signals
) -> None:
    counting.start(daemon, 8000)
    before = daemon.helpers()
    with counting.load(context, EVERY) as seen:
        daemon.restart(number)
        assert ask(context)[0] == 200
    print(f"\n{len(seen.waits)} requests, longest {max(seen.waits):.1f} s")
    assert seen.failures == [], daemon.log[-3000:]
    assert daemon.helpers() == before  # Caddy, and what holds the listening sockets


def test_without_https_all_else_goes_on_and_it_comes_when_it_can(lab: Lab, tmp_path: Path) -> None:
    """Somebody else has the port; later Caddy is killed."""
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", HTTPS))
        squatter.listen()
        with lab.daemon() as daemon:
            doctor = daemon.boxd("doctor", check=False).stdout
            assert f"127.0.0.1:{HTTPS} cannot be listened on (address already in use)" in " ".join(doctor.split())
            assert daemon.sh("echo all else") == "all else\n"
            port = daemon.json("machine", "get", GOLDEN)["ssh_port"]
            assert counting.first_line(port).startswith("SSH-2.0-")
            counting.start(daemon, 8000)
            squatter.close()
            made = context_of(daemon, tmp_path)
            assert ask(made)[0] == 200
            [caddy] = [pid for pid in daemon.helpers() if "caddy" in "".join(pidfd.arguments_of(pid)[:1])]
            os.kill(caddy, signal.SIGKILL)
            counting.serving(made)
            assert ask(made)[0] == 200
