"""The agent's new identity, in a network namespace: address, MAC, routes, connections; and what it does when told."""

from __future__ import annotations

import dataclasses
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from openboxd.guest.agent import connections, identity, network
from openboxd.guest.agent.hostkey import HostKey
from openboxd.guest.agent.identity import Identity
from openboxd.guest.agent.link import Link
from openboxd.guest.connector import ChannelConnector
from openboxd.model import Identity as ModelIdentity
from openboxd.network.tap import open_tap
from tests.guest.rig import FAST, LABEL, LIMIT, Rig
from tests.lab import run
from tests.network.namespaces import in_namespace, inside

OLD, NEW, OTHER, GATEWAY = "10.213.0.10", "10.213.0.77", "10.213.0.99", "10.213.0.1"
MAC = "52:54:00:12:34:56"
FILE = f"[Match]\nName=eth0\n\n[Network]\n\n[Address]\nAddress={OLD}/16\n\n[Route]\nGateway={GATEWAY}\n"


@pytest.fixture
def namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A network with a card as a guest has it, and the files that networkd reads."""
    monkeypatch.setattr(network, "FILES", str(tmp_path))
    monkeypatch.setattr(network, "NETWORKD", str(tmp_path / "procs"))
    own = [(table.replace("/proc/net", "/proc/thread-self/net"), family) for table, family in connections.TABLES]
    monkeypatch.setattr(connections, "TABLES", own)  # only a thread of the test is in the namespace
    (tmp_path / "70-eth0.network").write_text(FILE)
    name = f"boxdtest-{secrets.token_hex(3)}-i"
    run("ip", "netns", "add", name)
    card = inside(name, lambda: open_tap("eth0"))
    try:
        in_namespace(
            name,
            "ip link set lo up; ip link set eth0 up;"
            f"ip addr add {OLD}/16 brd 10.213.255.255 dev eth0;"
            f"ip route add default via {GATEWAY} dev eth0 proto static;"
            f"ip route add 198.51.100.0/24 via {GATEWAY} dev eth0 src {OLD} metric 50",
        )
        yield name
    finally:
        os.close(card)
        run("ip", "netns", "delete", name)


def test_the_card_has_another_address_and_mac_and_the_same_routes(namespace: str, tmp_path: Path) -> None:
    assert inside(namespace, network.card_address) == OLD
    for _ in range(2):  # twice is harmless
        inside(namespace, lambda: network.become(OLD, NEW, MAC))
    shown = in_namespace(namespace, "ip addr show eth0; ip route")
    assert f"inet {NEW}/16 brd 10.213.255.255" in shown and MAC in shown and OLD not in shown
    assert f"default via {GATEWAY} dev eth0 proto static" in shown
    assert f"198.51.100.0/24 via {GATEWAY} dev eth0 src {NEW} metric 50" in shown
    assert (tmp_path / "70-eth0.network").read_text() == FILE.replace(OLD, NEW)


def test_a_second_address_of_the_card_stays(namespace: str) -> None:
    in_namespace(namespace, "sysctl -qw net.ipv4.conf.all.promote_secondaries=1; ip addr add 10.213.9.9/16 dev eth0")
    inside(namespace, lambda: network.become(OLD, NEW, MAC))
    shown = in_namespace(namespace, "ip addr show eth0")
    assert f"inet {NEW}/16" in shown and "inet 10.213.9.9/16" in shown and f"inet {OLD}/" not in shown


def _pair(family: int, address: str, bound: str) -> tuple[socket.socket, socket.socket, socket.socket]:
    """Both ends of a connection to `address` in this namespace, and the listener."""
    listener = socket.socket(family)
    listener.bind((bound, 0))
    listener.listen()
    client = socket.create_connection((address, listener.getsockname()[1]), timeout=10)
    return client, listener.accept()[0], listener


def test_connections_of_the_old_address_are_reset_and_others_go_on(namespace: str) -> None:
    in_namespace(namespace, f"ip addr add {OTHER}/32 dev lo")

    def body() -> int:
        old = _pair(socket.AF_INET, OLD, "0.0.0.0")  # from and to the old address
        mapped = _pair(socket.AF_INET6, OLD, "::")
        loop = _pair(socket.AF_INET, "127.0.0.1", "127.0.0.1")
        network.become(OLD, NEW, MAC)
        count = connections.reset(OLD)
        for end in (*old[:2], *mapped[:2]):
            end.settimeout(10)
            with pytest.raises((ConnectionResetError, ConnectionAbortedError, BrokenPipeError)):
                assert end.recv(1) == b"", "it was ended instead"
                end.send(b"x")
        loop[0].send(b"x")
        assert loop[1].recv(1) == b"x"
        assert connections.reset(OLD) == 0, "nothing is left"
        again = _pair(socket.AF_INET, "127.0.0.1", "0.0.0.0")
        for each in (*old, *mapped, *loop, *again):
            each.close()
        return count

    assert inside(namespace, body) == 4


class _Link:
    """Takes what the agent sends."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.loop = self
        self.later: list[Any] = []

    def after(self, seconds: float, action: Any) -> None:
        self.later.append(action)

    def send(self, frame: bytes) -> None:
        self.sent.append(frame)


class _HostKey:
    """Counts the questions; answers when told to."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def ask(self, link: Any, done: Any = lambda: None) -> None:
        self.done.append(done)


class _System:
    """What would be done to the system."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.log: list[Any] = []
        (directory / "machine-id").write_text("a" * 32 + "\n")
        (directory / "journal" / ("a" * 32)).mkdir(parents=True)
        for name, file in (("MACHINE_ID", "machine-id"), ("HOSTNAME", "hostname"), ("JOURNALS", "journal")):
            monkeypatch.setattr(identity, name, str(directory / file))
        monkeypatch.setattr(identity._socket, "sethostname", lambda name: self.log.append(("hostname", name)))
        monkeypatch.setattr(network, "become", lambda *args: self.log.append(("card", *args)))
        monkeypatch.setattr(network, "card_address", lambda: OLD)
        monkeypatch.setattr(connections, "reset", lambda address: self.log.append(("reset", address)))


FIRST = {"name": "web", "machine_id": "a" * 32, "address": OLD, "mac": MAC}
COPY = {"name": "web-fork", "machine_id": "b" * 32, "address": NEW, "mac": "52:54:00:00:00:02"}


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _System:
    return _System(tmp_path, monkeypatch)


def _told(*messages: dict[str, Any]) -> tuple[_Link, _HostKey]:
    link, key = _Link(), _HostKey()
    subject = Identity(cast(HostKey, key))
    for message in messages:
        subject.hear(cast(Link, link), message)
    return link, key


def test_a_machine_that_was_booted_as_itself_does_nothing_and_says_so(system: _System) -> None:
    link, key = _told(FIRST, FIRST)
    assert system.log == [] and len(link.sent) == 2 and len(key.done) == 2


@pytest.mark.parametrize("known", [True, False])
def test_a_copy_becomes_another_machine_and_says_so_when_its_host_key_is_there(system: _System, known: bool) -> None:
    (system.directory / "hostname").write_text("web\n")
    link, key = _told(*([FIRST] if known else []), COPY)
    assert system.log == [("hostname", "web-fork"), ("card", OLD, NEW, COPY["mac"]), ("reset", OLD)]
    assert link.later == [network.tell_networkd]
    assert (system.directory / "machine-id").read_text() == "b" * 32 + "\n"
    assert (system.directory / "hostname").read_text() == "web-fork\n"
    assert (system.directory / "journal" / ("b" * 32)).readlink() == Path("a" * 32)
    before = len(link.sent)
    key.done[-1]()
    assert len(link.sent) == before + 1


def test_another_name_alone_is_taken_without_touching_the_network(system: _System) -> None:
    link, _ = _told(FIRST, FIRST | {"name": "shop"})
    assert system.log == [("hostname", "shop")] and len(link.sent) == 2


def test_what_fails_is_said_and_tried_again(system: _System, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: str) -> None:
        raise OSError("no such card")

    with monkeypatch.context() as broken:
        broken.setattr(network, "become", fail)
        link, _ = _told(FIRST, COPY)
    assert b"no such card" in link.sent[-1]


def test_a_tests_agent_leaves_the_host_alone(system: _System) -> None:
    link, key = _Link(), _HostKey()
    Identity(cast(HostKey, key), takes=False).hear(cast(Link, link), COPY)
    assert system.log == [] and len(link.sent) == 1


WHO = ModelIdentity("web", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", NEW, MAC)

WRONG = {
    "older": ("main.py", "VERSION = 2", "VERSION = 0x1", "its agent is older than copies"),
    "silent": (
        "identity.py",
        '{"identity": reason}',
        '{"other": reason}',
        "its agent did not say that it took its identity",
    ),
    "unable": (
        "identity.py",
        '{"identity": reason}',
        '{"identity": "no card\\x1b[2J"}',
        "no card\N{REPLACEMENT CHARACTER}[2J",
    ),
}


async def test_the_daemon_hears_that_a_guest_is_who_it_is_told_to_be(rig: Rig) -> None:
    agent = await ChannelConnector(FAST).connect(rig.socket, LABEL, WHO)
    await agent.wait_ready(LIMIT)
    assert agent.identity_refusal == ""
    await agent.close("the test is over")


@pytest.mark.parametrize("how", WRONG)
async def test_the_daemon_hears_why_it_is_not(rig: Rig, how: str) -> None:
    file, old, new, reason = WRONG[how]
    await rig.stop()
    path = rig.program / "openboxd/guest/agent" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    await rig.start()
    timing = dataclasses.replace(FAST, identity_wait=0.3)
    agent = await ChannelConnector(timing).connect(rig.socket, LABEL, WHO)
    await agent.wait_ready(LIMIT)
    assert agent.identity_refusal == reason
    await agent.close("the test is over")
