"""The bridge, seen from inside machines and from the world, in namespaces of the test's own."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from openboxd.errors import HostUnfit
from openboxd.model import Machine
from openboxd.network.addresses import GATEWAY, RESOLVER
from openboxd.network.bridge import BridgeNetwork
from tests.contracts.rows import a_machine
from tests.network.namespaces import HOST, WORLD, Guest, World, go, in_namespace, inside, world

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces")

HOME = "0123abcd"
RUNS = ("aaaaaaaaaaaa", "bbbbbbbbbbbb")


class Service:
    """Answers every TCP connection (and datagram) in a namespace with one line."""

    def __init__(self, namespace: str, address: str, port: int, kind: socket.SocketKind, line: bytes) -> None:
        program = (
            "import socket,sys\n"
            f"s=socket.socket(socket.AF_INET,{int(kind)}); s.setsockopt(1,2,1); s.bind(('{address}',{port}))\n"
            f"stream={kind == socket.SOCK_STREAM}\n"
            "stream and s.listen(50)\nprint('up',flush=True)\n"
            "while True:\n"
            "  if stream:\n"
            f"    c,a=s.accept(); c.sendall({line!r}+a[0].encode()+b'\\n'); c.close()\n"
            "  else:\n"
            f"    d,a=s.recvfrom(2000); s.sendto({line!r}+a[0].encode()+b'\\n',a)\n"
        )
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, "python3", "-c", program], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "up\n"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclasses.dataclass
class Lab:
    """A bridge with two machines on it."""

    world: World
    network: BridgeNetwork
    machines: list[Machine]
    guests: list[Guest]
    stack: contextlib.ExitStack

    def serve(self, namespace: str, address: str, port: int, line: bytes, *, udp: bool = False) -> None:
        kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
        self.stack.callback(Service(namespace, address, port, kind, line).close)

    def start(self, number: int, run_id: str) -> None:
        """A run of a machine comes, as at a boot."""
        machine, guest = self.machines[number], self.guests[number]
        link = go(self.world.host, lambda: self.network.prepare(machine, run_id))
        guest.plug(link.tap)
        go(self.world.host, lambda: self.network.attach(machine, run_id, 0))

    def host(self, command: str) -> str:
        return in_namespace(self.world.host, command)


ANSWER = 20.0
"""Seconds for an answer that has to come: a busy host is no failure."""
SILENCE = 1.5
"""Seconds in which none comes."""


def ask(guest: Guest, address: str, port: int, limit: float = ANSWER) -> str:
    """What a TCP service answers; why there was no answer otherwise."""
    return guest.sh(_CLIENT.format(address=address, port=port, limit=limit), check=False).strip()


_CLIENT = """python3 -c "
import socket
s = socket.socket(); s.settimeout({limit})
try:
    s.connect(('{address}', {port})); print(s.recv(100).decode())
except OSError as e:
    print('error', e)
" """

_DATAGRAM = """python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout({limit})
s.connect(('{address}', {port})); s.send(b'?')
try:
    print(s.recv(100).decode())
except OSError as e:
    print('error', e)
" """


@pytest.fixture
def lab() -> Iterator[Lab]:
    with world() as made, contextlib.ExitStack() as stack:
        # Nobody is asked at this address: the world's, which serves DNS in one of the tests.
        network = inside(made.host, lambda: BridgeNetwork(HOME, resolver=WORLD))
        machines = [
            a_machine(id=f"m{n}", name=f"web{n}", address=f"10.213.0.{10 + n}", mac=mac)
            for n, mac in enumerate(("52:54:00:00:00:01", "52:54:00:00:00:02"))
        ]
        guests = [made.guest(machine.address, machine.mac, GATEWAY) for machine in machines]
        go(made.host, lambda: network.open([]))
        stack.callback(lambda: go(made.host, network.close))
        found = Lab(made, network, machines, guests, stack)
        for number, run_id in enumerate(RUNS):
            found.start(number, run_id)
        yield found


def test_the_world_is_reached_in_the_hosts_name(lab: Lab) -> None:
    lab.serve(lab.world.world, WORLD, 80, b"world for ")
    for guest in lab.guests:
        assert ask(guest, WORLD, 80) == f"world for {HOST}"


def test_dns_goes_to_the_hosts_resolver(lab: Lab) -> None:
    lab.serve(lab.world.world, WORLD, 53, b"dns for ", udp=True)
    assert lab.guests[0].sh(_DATAGRAM.format(address=RESOLVER, port=53, limit=ANSWER)).strip() == f"dns for {HOST}"


def test_the_host_is_not_reached(lab: Lab) -> None:
    lab.serve(lab.world.host, "0.0.0.0", 5000, b"host for ")
    lab.serve(lab.world.host, "127.0.0.1", 5001, b"loopback for ")
    lab.serve(lab.world.host, "0.0.0.0", 5002, b"datagram for ", udp=True)
    guest = lab.guests[0]
    for address in (GATEWAY, RESOLVER, HOST):
        assert ask(guest, address, 5000, SILENCE).startswith("error")
        assert "error" in guest.sh(_DATAGRAM.format(address=address, port=5002, limit=SILENCE))
    guest.sh(f"ip addr del 127.0.0.1/8 dev lo; ip route add 127.0.0.0/8 via {GATEWAY} dev eth0")
    guest.sh("ip route del local 127.0.0.0/8 dev lo table local || true", check=False)
    assert ask(guest, "127.0.0.1", 5001, SILENCE).startswith("error")
    assert ask(guest, GATEWAY, 5001, SILENCE).startswith("error")


def test_the_clouds_metadata_is_not_reached(lab: Lab) -> None:
    in_namespace(lab.world.world, "ip addr add 169.254.169.254/32 dev lo")
    lab.serve(lab.world.world, "169.254.169.254", 80, b"credentials for ")
    assert ask(lab.guests[0], "169.254.169.254", 80, SILENCE).startswith("error")


def test_the_host_reaches_a_machine(lab: Lab) -> None:
    lab.serve(lab.guests[0].namespace, "0.0.0.0", 8000, b"app for ")
    asked = in_namespace(lab.world.host, _CLIENT.format(address="10.213.0.10", port=8000, limit=ANSWER))
    assert asked.strip() == f"app for {GATEWAY}"


def test_the_world_does_not_reach_a_machine(lab: Lab) -> None:
    lab.serve(lab.guests[0].namespace, "0.0.0.0", 8000, b"app for ")
    in_namespace(lab.world.world, f"ip route add 10.213.0.0/16 via {HOST}")
    asked = in_namespace(lab.world.world, _CLIENT.format(address="10.213.0.10", port=8000, limit=SILENCE))
    assert "error" in asked


def test_machines_are_apart(lab: Lab) -> None:
    one, two = lab.guests
    lab.serve(two.namespace, "0.0.0.0", 8000, b"other for ")
    assert ask(one, "10.213.0.11", 8000, SILENCE).startswith("error")
    # Nor by way of the host, nor with the other's MAC known.
    one.sh(f"ip route add 10.213.0.11/32 via {GATEWAY}")
    assert ask(one, "10.213.0.11", 8000, SILENCE).startswith("error")
    one.sh(f"ip route del 10.213.0.11/32; ip neigh replace 10.213.0.11 lladdr {two.mac} dev eth0")
    assert ask(one, "10.213.0.11", 8000, SILENCE).startswith("error")


@pytest.mark.parametrize(
    "forge",
    [
        "ip addr flush dev eth0; ip addr add 10.213.0.99/16 dev eth0; ip route replace default via {gateway}",
        "ip addr flush dev eth0; ip addr add 10.213.0.11/16 dev eth0; ip route replace default via {gateway}",
        "ip link set eth0 down; ip link set eth0 address 52:54:00:00:00:99; ip link set eth0 up; "
        "ip route replace default via {gateway}",
        "ip link set eth0 down; ip link set eth0 address 52:54:00:00:00:02; ip link set eth0 up; "
        "ip route replace default via {gateway}",
    ],
    ids=["a free address", "another machine's address", "a free MAC", "another machine's MAC"],
)
def test_what_is_forged_goes_nowhere(lab: Lab, forge: str) -> None:
    lab.serve(lab.world.world, WORLD, 80, b"world for ")
    one, two = lab.guests
    assert ask(one, WORLD, 80) == f"world for {HOST}"
    before = dropped(lab)
    one.sh(forge.format(gateway=GATEWAY))
    one.sh(f"ip neigh replace {GATEWAY} lladdr {bridge_mac(lab)} dev eth0")
    assert ask(one, WORLD, 80, SILENCE).startswith("error")
    assert dropped(lab) > before
    assert ask(two, WORLD, 80) == f"world for {HOST}"  # and the other machine is not disturbed


def dropped(lab: Lab) -> int:
    """Frames that the bridge's rules have dropped."""
    listed = json.loads(lab.host(f"nft -j list chain bridge boxd-{HOME} machine"))["nftables"]
    rules = [entry["rule"]["expr"] for entry in listed if "rule" in entry]
    return sum(int(part["counter"]["packets"]) for rule in rules for part in rule if "counter" in part)


def bridge_mac(lab: Lab) -> str:
    return str(json.loads(lab.host(f"ip -json link show {lab.network.bridge}"))[0]["address"])


def test_an_arp_answer_in_anothers_name_is_not_believed(lab: Lab) -> None:
    before = lab.host("ip neigh show 10.213.0.11")
    forged = (
        'ip addr add 10.213.0.11/32 dev eth0; python3 -c "import socket; s=socket.socket(socket.AF_PACKET,'
        "socket.SOCK_RAW); s.bind(('eth0',0)); m=bytes.fromhex('525400000001'); s.send(b'\\xff'*6+m+"
        "bytes.fromhex('08060001080006040002')+m+socket.inet_aton('10.213.0.11')+b'\\xff'*6+"
        "socket.inet_aton('10.213.0.1'))\""
    )
    lab.guests[0].sh(forged)
    assert lab.host("ip neigh show 10.213.0.11") == before
    assert "PERMANENT" in before


def test_other_protocols_are_dropped(lab: Lab) -> None:
    guest = lab.guests[0]
    guest.sh("sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0; ip -6 addr add fe80::1/64 dev eth0 nodad")
    assert "100% packet loss" in guest.sh("ping -6 -c 2 -W 1 -i 0.2 ff02::1%eth0", check=False) or not has_ping()
    assert "inet6" not in lab.host(f"ip addr show {lab.network.bridge}")


def has_ping() -> bool:
    return subprocess.run(["which", "ping"], capture_output=True, check=False).returncode == 0


def test_a_restore_keeps_the_machines_address(lab: Lab) -> None:
    """The new run is prepared beside the old one, which works until the swap; then its device ends, and the new one
    joins. The machine does not notice: same address, same MAC, same way out."""
    lab.serve(lab.world.world, WORLD, 80, b"world for ")
    machine, guest, following = lab.machines[0], lab.guests[0], "cccccccccccc"
    for number in range(3):
        run_id = f"{number}{following[1:]}"
        link = go(lab.world.host, lambda r=run_id: lab.network.prepare(machine, r))
        assert ask(guest, WORLD, 80) == f"world for {HOST}"  # the old run
        guest.plug(link.tap)
        go(lab.world.host, lambda r=run_id: lab.network.attach(machine, r, 0))
        go(lab.world.host, lambda: lab.network.release(machine, RUNS[0]))
        assert ask(guest, WORLD, 80) == f"world for {HOST}"
    assert taps(lab) == {f"b0123{RUNS[1][:10]}", f"b01232{following[1:10]}"}


def taps(lab: Lab) -> set[str]:
    return {
        link["ifname"] for link in json.loads(lab.host("ip -json link show")) if link["ifname"].startswith("b0123")
    }


def test_a_daemon_that_starts_again_joins_what_runs(lab: Lab) -> None:
    lab.serve(lab.world.world, WORLD, 80, b"world for ")
    go(lab.world.host, lambda: lab.network.release(lab.machines[1], RUNS[1]))  # as if its row were gone
    again = inside(lab.world.host, lambda: BridgeNetwork(HOME, resolver=WORLD))
    running = dataclasses.replace(lab.machines[0], run_id=RUNS[0])
    stopped = dataclasses.replace(lab.machines[1], run_id="")
    go(lab.world.host, lambda: again.open([running, stopped]))
    assert ask(lab.guests[0], WORLD, 80) == f"world for {HOST}"
    assert ask(lab.guests[1], WORLD, 80, SILENCE).startswith("error")


def test_close_leaves_nothing_and_touches_no_rule_of_others(lab: Lab) -> None:
    lab.host("nft add table inet mine; nft add chain inet mine c '{ type filter hook input priority 0; }'")
    go(lab.world.host, lab.network.close)
    go(lab.world.host, lab.network.close)
    assert lab.host("nft list tables").split() == ["table", "inet", "mine"]
    assert lab.network.bridge not in lab.host("ip link show")


def test_two_daemons_do_not_share_addresses(lab: Lab) -> None:
    other = inside(lab.world.host, lambda: BridgeNetwork("ffff0000", resolver=""))
    with pytest.raises(HostUnfit, match=r"10\.213\.0\.0/16 are in use on this host already.*BOXD_NETWORK=user"):
        go(lab.world.host, lambda: other.open([]))
    assert "boxd-ffff0000" not in lab.host("ip link show")
    (finding,) = go(lab.world.host, other.check)
    assert finding.verdict == "missing"


def test_the_host_is_found_fit(lab: Lab) -> None:
    (finding,) = go(lab.world.host, lab.network.check)
    assert (finding.verdict, WORLD in finding.detail) == ("ok", True)


def test_nothing_is_set_up_before_a_machine_starts(lab: Lab) -> None:
    """And what a killed daemon of the same home has left is taken away by the next one."""
    assert lab.network.bridge in lab.host("ip link show")
    for guest in lab.guests:
        guest.unplug()
    again = inside(lab.world.host, lambda: BridgeNetwork(HOME, resolver=""))
    go(lab.world.host, lambda: again.open([dataclasses.replace(machine, run_id="") for machine in lab.machines]))
    assert lab.network.bridge not in lab.host("ip link show")
    assert lab.host("nft list tables") == ""
    go(lab.world.host, lambda: again.release(lab.machines[0], RUNS[0]))
    assert lab.host("nft list tables") == ""


def test_connections_of_an_earlier_run_end_at_both_ends(lab: Lab) -> None:
    """A restored guest goes on with what it had open, at an earlier place: its next words must not get into the
    stream that its later self has continued, and whoever listens must not wait for ever."""
    server = Talker(lab.world.world, "c,_=s.accept()", f"s=socket.create_server(('{WORLD}',7))")
    lab.stack.callback(server.close)
    guest = Talker(lab.guests[0].namespace, f"c=socket.create_connection(('{WORLD}',7),20)")
    lab.stack.callback(guest.close)
    assert (guest.do("send one"), server.do("recv"), server.do("send two"), guest.do("recv")) == (
        "sent",
        "one",
        "sent",
        "two",
    )
    running = dataclasses.replace(lab.machines[0], run_id=RUNS[0])
    again = inside(lab.world.host, lambda: BridgeNetwork(HOME, resolver=WORLD))
    go(lab.world.host, lambda: again.open([running]))  # a daemon that starts again cuts nothing
    assert (guest.do("send three"), server.do("recv")) == ("sent", "three")
    machine, following = lab.machines[0], "dddddddddddd"
    link = go(lab.world.host, lambda: again.prepare(machine, following))
    lab.guests[0].plug(link.tap)
    go(lab.world.host, lambda: again.attach(machine, following, 0))
    go(lab.world.host, lambda: again.release(machine, RUNS[0]))
    guest.do("send four")
    assert guest.do("recv") == "ConnectionResetError"
    assert "ConnectionResetError" in (server.do("send five"), server.do("recv"))  # whichever learns it first
    lab.serve(lab.world.world, WORLD, 80, b"world for ")
    assert ask(lab.guests[0], WORLD, 80) == f"world for {HOST}"


class Talker:
    """One end of a connection `c` in a namespace, which does what it is told. It is up once it has listened."""

    def __init__(self, namespace: str, connect: str, listen: str = "pass") -> None:
        program = (
            f"import socket,sys\n{listen}\nprint('up',flush=True)\n{connect}\nc.settimeout(20)\n"
            "for line in sys.stdin:\n"
            "  word,*rest=line.split()\n"
            "  try:\n"
            "    if word=='send': c.sendall(rest[0].encode()); print('sent',flush=True)\n"
            "    else: print(c.recv(99).decode() or 'end',flush=True)\n"
            "  except OSError as e: print(type(e).__name__,flush=True)\n"
        )
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, "python3", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "up\n"

    def do(self, what: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
