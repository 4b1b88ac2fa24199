"""A real guest on the bridge, its daemon in a network namespace of the test's own."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from openboxd.network.addresses import GATEWAY, host_resolver
from tests.lab import GOLDEN, Daemon, Lab
from tests.network.namespaces import HOST, WORLD, World, in_namespace, inside, world
from tests.network.test_bridge import Service
from tests.network.test_reach import EchoService, NameService

LIMIT = 600
"""Seconds for a test: a boot in software takes minutes where the host is busy."""

pytestmark = [
    pytest.mark.guest,
    pytest.mark.timeout(LIMIT),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces"),
]


@pytest.fixture
def place() -> Iterator[World]:
    with world() as made, contextlib.ExitStack() as stack:
        for namespace, address, port, line in (
            (made.world, WORLD, 80, b"world for "),
            (made.host, "0.0.0.0", 5000, b"host for "),
        ):
            stack.callback(Service(namespace, address, port, socket.SOCK_STREAM, line).close)
        stack.callback(EchoService(made.world, WORLD, 7).close)
        if resolver := host_resolver():  # here it is nobody's but ours
            in_namespace(made.world, f"ip addr add {resolver}/32 dev lo")
            stack.callback(NameService(made.world, {"world.test": WORLD}, resolver).close)
        yield made


def ask(daemon: Daemon, address: str, port: int, source: str = "", limit: int = 20, machine: str = GOLDEN) -> str:
    """What a service answers to the guest within `limit` seconds."""
    connect = f"socket.create_connection(('{address}',{port}),{limit},('{source}',0))"
    program = f"import socket; s={connect}; print(s.recv(99).decode().strip())"
    return daemon.boxd("machine", "exec", machine, "--", "python3", "-c", program, check=False).stdout.strip()


def reaches_nothing_else(daemon: Daemon, other: str) -> None:
    """Neither the host, nor its loopback by way of the card, nor another owner's machine (which has the address
    `other` and answers), nor anything in another's name."""
    assert heard(other, 8000) == "other"  # by the host
    for address, port in ((GATEWAY, 5000), (HOST, 5000), (other, 8000)):
        assert ask(daemon, address, port, limit=3) == ""
    daemon.sh(FORGING)
    assert ask(daemon, "127.9.9.9", 5000, source="10.213.0.10", limit=3) == ""
    daemon.sh(HONEST)
    for forged in ("10.213.0.99", other):
        daemon.sh(f"sudo ip addr add {forged}/16 dev eth0")
        assert ask(daemon, WORLD, 80, source=forged, limit=3) == ""
        daemon.sh(f"sudo ip addr del {forged}/16 dev eth0")
    assert ask(daemon, WORLD, 80) == f"world for {HOST}"


def heard(address: str, port: int) -> str:
    """What a service says to the host."""
    with socket.create_connection((address, port), 60) as connection:
        return connection.recv(99).decode().strip()


def another_owners(daemon: Daemon) -> str:
    """Address of a machine of somebody else, in which a service answers."""
    key = daemon.boxd("admin", "user", "add", "bob").stdout.strip()
    env = daemon.env | {"BOXD_BASE_URL": daemon.url, "BOXD_API_KEY": key}
    daemon.boxd("machine", "new", "theirs", "--vcpu", 1, "--memory", "1G", env=env)
    daemon.boxd("machine", "exec", "theirs", "--", "sh", "-c", SERVING, env=env)
    return daemon.boxd("machine", "exec", "theirs", "--", "hostname", "-I", env=env).stdout.split()[0]


SERVING = """cat >serve.py <<'END'
import socket
service = socket.create_server(('', 8000))
while True:
    connection, _ = service.accept()
    connection.sendall(b'other')
    connection.close()
END
setsid python3 serve.py >/dev/null 2>&1 </dev/null &
timeout 60 sh -c 'until ss -ltn | grep -q :8000 && hostname -I | grep -q 10.213; do sleep 0.2; done'
"""


def booted(daemon: Daemon) -> None:
    """After a boot the machine has address, way out and name service by its command line."""
    daemon.boxd("machine", "reboot", GOLDEN)
    daemon.sh("timeout 120 sh -c 'until ip route | grep -q default; do sleep 0.2; done'")  # the agent is early
    address = daemon.sh("ip -4 -o addr show eth0 | tr -s ' ' | cut -d' ' -f4").strip()
    shown = daemon.sh("ip route; networkctl status eth0")
    assert address == "10.213.0.10/16", shown
    assert f"default via {GATEWAY} dev eth0" in shown
    looks_up(daemon)


def looks_up(daemon: Daemon) -> None:
    """A name, by the host's resolver; where machines cannot use that, the host's owner is told."""
    if host_resolver():
        found = daemon.sh("timeout 60 sh -c 'until getent ahostsv4 world.test; do sleep 0.5; done'")
        assert found.split()[0] == WORLD, found
    else:
        assert "no DNS" in daemon.boxd("doctor", check=False).stdout


FORGING = f"""sudo sh -c '
ip rule add pref 10 lookup local; ip rule del pref 0; ip rule add pref 5 to 127.9.9.9 lookup 100
ip route add 127.9.9.9 via {GATEWAY} dev eth0 table 100
sysctl -qw net.ipv4.conf.all.route_localnet=1 net.ipv4.conf.eth0.route_localnet=1'"""
"""An address of the host's loopback, led out of the card rather than to the guest's own."""

HONEST = "sudo sh -c 'ip rule add pref 0 lookup local; ip rule del pref 5; ip rule del pref 10'"

CONTAINER = """sudo sh -c '
ip link add br-c type bridge; ip addr add 172.18.0.1/16 dev br-c; ip link set br-c up
ip netns add c; ip link add v0 type veth peer name eth0 netns c; ip link set v0 master br-c; ip link set v0 up
ip -n c addr add 172.18.0.2/16 dev eth0; ip -n c link set eth0 up; ip -n c route add default via 172.18.0.1
sysctl -qw net.ipv4.ip_forward=1
nft add table ip docker; nft add chain ip docker out "{ type nat hook postrouting priority srcnat; }"
nft add rule ip docker out ip saddr 172.18.0.0/16 oifname != br-c masquerade'
"""
"""A network as Docker makes one for its containers."""

FETCH = f"import socket; print(socket.create_connection(('{WORLD}',80),30).recv(99).decode())"
IN_CONTAINER = f'sudo ip netns exec c python3 -c "{FETCH}"'

TALKER = """cat >talk.py <<'END'
import os, socket, time
c = socket.create_connection(('198.51.100.2', 7), 30)
c.settimeout(30)
open('ready', 'w').close()
while True:
    while not os.path.exists('say'):
        time.sleep(0.05)
    try:
        c.sendall(b'later')
        said = c.recv(99).decode()
    except OSError as error:
        said = type(error).__name__
    os.remove('say')
    with open('new', 'w') as file:
        file.write(said)
    os.rename('new', 'heard')
END
rm -f say heard ready; setsid python3 talk.py >/dev/null 2>&1 </dev/null &
timeout 60 sh -c 'until [ -e ready ]; do sleep 0.1; done'
"""
"""Keeps a connection to the world open, and uses it when it is told to."""

TALK = "echo now >say; timeout 60 sh -c 'until [ -s heard ]; do sleep 0.1; done'; cat heard"

INSIDE = "ip -4 addr; ip route; sudo nft list ruleset | grep -v counter"


def on_the_bridge(place: World, lab: Lab, work: Callable[[Daemon], None]) -> None:
    """A daemon with a bridge in the namespace; nothing of it is left when it has ended."""

    def body() -> None:
        with lab.daemon(extra={"BOXD_NETWORK": "bridge", "BOXD_WARM": "on"}) as daemon:
            work(daemon)
            daemon.boxd("machine", "stop", GOLDEN)
            daemon.end()  # nothing runs: nothing is left

    inside(place.host, body, LIMIT)
    assert in_namespace(place.host, "nft list tables") == ""
    assert "boxd-" not in in_namespace(place.host, "ip link show")


def test_a_guest_reaches_the_world_and_not_the_host_also_after_a_restore(lab: Lab, place: World) -> None:
    def work(daemon: Daemon) -> None:
        assert ask(daemon, WORLD, 80) == f"world for {HOST}"
        other = another_owners(daemon)
        daemon.boxd("machine", "checkpoint", "save", GOLDEN, "linked")
        reaches_nothing_else(daemon, other)
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "linked", "-y")
        reaches_nothing_else(daemon, other)
        daemon.boxd("admin", "user", "remove", "bob", "--remove-machines", "-y")
        daemon.restart()  # the machine runs on, and so does its network
        assert ask(daemon, WORLD, 80) == f"world for {HOST}"
        assert "bridge" in daemon.boxd("doctor", check=False).stdout

    on_the_bridge(place, lab, work)


def test_networks_inside_and_connections_of_a_later_self_after_a_restore(lab: Lab, place: World) -> None:
    def work(daemon: Daemon) -> None:
        daemon.sh(CONTAINER)
        daemon.sh(TALKER)
        assert daemon.sh(IN_CONTAINER).strip() == f"world for {HOST}"
        network = daemon.sh(INSIDE)
        daemon.boxd("machine", "checkpoint", "save", GOLDEN, "linked")
        assert daemon.sh(TALK).strip() == "later"
        for _ in range(2):
            daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "linked", "-y")
            # Networks that somebody made inside are as they were, and lead out.
            assert daemon.sh(IN_CONTAINER).strip() == f"world for {HOST}"
            assert daemon.sh(INSIDE) == network
            # What was open ends at its first use: the world has heard of a later self.
            assert daemon.sh(TALK).strip() == "ConnectionResetError"
        daemon.boxd("machine", "egress", GOLDEN, "192.0.2.1")
        assert ask(daemon, WORLD, 80) == ""
        daemon.boxd("machine", "egress", GOLDEN, "--clear")
        assert ask(daemon, WORLD, 80) == f"world for {HOST}"
        booted(daemon)

    on_the_bridge(place, lab, work)


NOTING = """cat >note.py <<'END'
import socket
service, seen = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), set()
service.bind(('', 9000))
while True:
    word, client = service.recvfrom(99)
    seen.add(word)
    service.sendto(f'{word.decode()} {len(seen)} {socket.gethostname()}'.encode(), client)
END
setsid python3 note.py >/dev/null 2>&1 </dev/null &
timeout 60 sh -c 'until ss -lun | grep -q :9000; do sleep 0.2; done'
"""
"""A service of datagrams: how many different words it has heard (a repeated one does no harm), and who it is."""


def note(client: socket.socket, port: int, word: str) -> str:
    """What that service answers, behind an exposed port. Datagrams may be lost: they are said again."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        client.sendto(word.encode(), ("127.0.0.1", port))
        with contextlib.suppress(TimeoutError, ConnectionRefusedError):
            while (heard := client.recv(99).decode()).split()[0] != word:
                pass
            return heard
    raise AssertionError(f"nobody answers '{word}' at port {port}")


def test_copies_are_machines_of_their_own_and_datagrams_come_in_through_restores(lab: Lab, place: World) -> None:
    def work(daemon: Daemon) -> None:
        daemon.sh(SERVING + NOTING)
        port = daemon.json("machine", "expose", GOLDEN, 9000, "--udp")["public_port"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(1)
            assert note(client, port, "one") == f"one 1 {GOLDEN}"
            daemon.boxd("machine", "checkpoint", "save", GOLDEN, "noted")
            assert note(client, port, "two") == f"two 2 {GOLDEN}"
            daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "noted", "-y")
            assert note(client, port, "three") == f"three 2 {GOLDEN}", "the same client, the same port"
            daemon.sh(TALKER)
            daemon.boxd("machine", "fork", GOLDEN, "twin")
            daemon.boxd("machine", "new", "fresh", "--vcpu", 1, "--memory", "1G")
            twins = daemon.json("machine", "expose", "twin", 9000, "--udp")["public_port"]
            assert note(client, twins, "four") == "four 3 twin"
            assert note(client, port, "five") == f"five 3 {GOLDEN}"
        assert daemon.log.count("made from") == 2, "neither was booted"
        they_meet(daemon, {name: address_of(daemon, name) for name in (GOLDEN, "twin", "fresh")})
        assert daemon.sh(TALK).strip() == "later"
        assert daemon.sh(TALK, "twin").strip() in CUT
        for name in ("twin", "fresh"):
            daemon.boxd("machine", "remove", name, "-y")

    on_the_bridge(place, lab, work)


CUT = ("ConnectionAbortedError", "ConnectionResetError")
"""What a connection's owner hears of its end, by the agent or by the network."""


def address_of(daemon: Daemon, machine: str) -> str:
    """The one address on the guest's card."""
    daemon.sh("timeout 60 sh -c 'until ip route | grep -q default; do sleep 0.2; done'", machine)
    [address] = daemon.sh("ip -4 -o addr show eth0 | tr -s ' ' | cut -d' ' -f4 | cut -d/ -f1", machine).split()
    return address


def they_meet(daemon: Daemon, addresses: dict[str, str]) -> None:
    """All reach the world, each has an address of its own, and source and fork reach each other at theirs."""
    assert len(set(addresses.values())) == len(addresses), addresses
    for name in addresses:
        assert ask(daemon, WORLD, 80, machine=name) == f"world for {HOST}"
    for here, there in ((GOLDEN, "twin"), ("twin", GOLDEN), ("fresh", "twin")):
        assert ask(daemon, addresses[there], 8000, machine=here) == "other", (here, there)
