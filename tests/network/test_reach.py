"""Networks of machines and egress lists on the bridge, seen from inside machines."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator

import pytest

from openboxd.network.addresses import GATEWAY, RESOLVER
from openboxd.network.bridge import BridgeNetwork
from tests.contracts.rows import a_machine
from tests.network.namespaces import HOST, WORLD, go, in_namespace, inside, world
from tests.network.test_bridge import ANSWER, HOME, RUNS, SILENCE, Lab, ask

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces")

ELSEWHERE = "198.51.100.77"
NAMED = "198.51.100.99"


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Like test_bridge's, with machines that the network knows: `machines` may be changed."""
    with world() as made, contextlib.ExitStack() as stack:
        machines = [
            a_machine(id=f"m{n}", name=f"web{n}", address=f"10.213.0.{10 + n}", mac=mac)
            for n, mac in enumerate(("52:54:00:00:00:01", "52:54:00:00:00:02"))
        ]
        network = inside(made.host, lambda: BridgeNetwork(HOME, resolver=WORLD, machines=lambda: machines))
        guests = [made.guest(machine.address, machine.mac, GATEWAY) for machine in machines]
        stack.callback(lambda: go(made.host, network.close))
        found = Lab(made, network, machines, guests, stack)
        for number, run_id in enumerate(RUNS):
            found.start(number, run_id)
        for address in (ELSEWHERE, NAMED):
            in_namespace(made.world, f"ip addr add {address}/24 dev up0")
        for address in (WORLD, ELSEWHERE, NAMED):
            found.serve(made.world, address, 80, b"world for ")
        yield found


def change(lab: Lab, number: int, **fields: object) -> None:
    """As control does: on record first, then in force."""
    lab.machines[number] = dataclasses.replace(lab.machines[number], **fields)
    go(lab.world.host, lambda: lab.network.refresh(lab.machines[number]))


def meet(lab: Lab, limit: float) -> list[bool]:
    """Whether the first machine reaches the second within `limit` seconds, and the second the first."""
    return [
        ask(lab.guests[here], f"10.213.0.{10 + there}", 8000, limit) == f"app for 10.213.0.{10 + here}"
        for here, there in ((0, 1), (1, 0))
    ]


def test_machines_meet_by_their_networks(lab: Lab) -> None:
    for guest in lab.guests:
        lab.serve(guest.namespace, "0.0.0.0", 8000, b"app for ")
    assert meet(lab, ANSWER) == [True, True]  # one owner, no networks
    for fields, expected in (
        ({"networks": ("db",)}, False),
        ({"networks": ()}, True),
        ({"isolated": True}, False),
        ({"isolated": False, "owner_id": "u_other"}, False),
    ):
        change(lab, 0, **fields)
        assert meet(lab, ANSWER if expected else SILENCE) == [expected, expected], fields
    change(lab, 0, owner_id=lab.machines[1].owner_id, networks=("db", "web"))
    change(lab, 1, networks=("db",))
    assert meet(lab, ANSWER) == [True, True]
    # Each sees the other's own address, and the bridge still keeps their ports apart.
    assert "isolated on" in lab.host("bridge -d link show")
    again = inside(lab.world.host, lambda: BridgeNetwork(HOME, resolver=WORLD, machines=lambda: lab.machines))
    running = [dataclasses.replace(m, run_id=run) for m, run in zip(lab.machines, RUNS, strict=True)]
    go(lab.world.host, lambda: again.open(running))  # a daemon that starts again
    assert meet(lab, ANSWER) == [True, True]


def test_a_peer_cannot_speak_in_anothers_name(lab: Lab) -> None:
    lab.serve(lab.guests[1].namespace, "0.0.0.0", 8000, b"app for ")
    assert ask(lab.guests[0], "10.213.0.11", 8000) == "app for 10.213.0.10"
    lab.guests[0].sh(
        f"ip addr flush dev eth0; ip addr add 10.213.0.12/16 dev eth0; ip route replace default via {GATEWAY}"
    )
    assert ask(lab.guests[0], "10.213.0.11", 8000, SILENCE).startswith("error")


def test_an_egress_list_of_addresses_is_all_that_is_reached(lab: Lab) -> None:
    one, two = lab.guests
    change(lab, 0, egress_allow=(f"{ELSEWHERE}", "192.0.2.0/24"))
    assert ask(one, ELSEWHERE, 80) == f"world for {HOST}"
    for address in (WORLD, NAMED):
        assert ask(one, address, 80, SILENCE).startswith("error")
    assert ask(two, WORLD, 80) == f"world for {HOST}"
    lab.serve(two.namespace, "0.0.0.0", 8000, b"app for ")
    assert ask(one, "10.213.0.11", 8000) == "app for 10.213.0.10"  # peers are no part of the world
    change(lab, 0, egress_allow=("198.51.100.0/25", "198.51.100.2"))
    assert ask(one, WORLD, 80) == f"world for {HOST}"
    change(lab, 0, egress_allow=())
    assert ask(one, NAMED, 80) == f"world for {HOST}"


def test_a_connection_that_stands_ends_with_the_permission(lab: Lab) -> None:
    lab.stack.callback(EchoService(lab.world.world, WORLD, 7).close)
    program = (
        f"import socket,sys; s=socket.create_connection(('{WORLD}',7),20)\n"
        "for line in sys.stdin:\n  s.settimeout(float(line)); s.sendall(b'x')\n"
        "  try: print(s.recv(9).decode(), flush=True)\n"
        "  except OSError as e: print('error', flush=True)"
    )
    client = popen(lab.guests[0].namespace, program)
    lab.stack.callback(lambda: end(client))

    def says(limit: float) -> str:
        client.stdin.write(f"{limit}\n")
        client.stdin.flush()
        return str(client.stdout.readline()).strip()

    assert says(ANSWER) == "x"
    change(lab, 0, egress_allow=(ELSEWHERE,))
    assert says(SILENCE) == "error"


def test_names_are_answered_from_the_list_and_lead_there(lab: Lab) -> None:
    """Only what a name on the list leads to, from the moment on in which it was asked for."""
    lab.stack.callback(NameService(lab.world.world, {"allowed.test": NAMED, "deep.below.test": ELSEWHERE}).close)
    lab.machines[0] = dataclasses.replace(lab.machines[0], egress_allow=("allowed.test", "*.below.test"))
    one, two = lab.guests

    async def served(work: Callable[[], None]) -> None:
        await lab.network.refresh(lab.machines[0])
        await asyncio.to_thread(work)
        again = BridgeNetwork(HOME, resolver=WORLD, machines=lambda: lab.machines)
        running = [dataclasses.replace(m, run_id=run) for m, run in zip(lab.machines, RUNS, strict=True)]
        await lab.network._permissions.close()
        await again.open(running)  # what was learned holds also with a daemon that starts again
        try:
            assert (await asyncio.to_thread(ask, one, NAMED, 80)) == f"world for {HOST}"
            lab.machines[0] = dataclasses.replace(lab.machines[0], egress_allow=("*.below.test",))
            await again.refresh(lab.machines[0])
            assert (await asyncio.to_thread(ask, one, NAMED, 80, SILENCE)).startswith("error")
            assert (await asyncio.to_thread(look_up, one, "allowed.test")) == "5"
        finally:
            await again._permissions.close()

    def work() -> None:
        assert ask(one, NAMED, 80, SILENCE).startswith("error")  # not asked for yet
        assert look_up(one, "allowed.test") == NAMED
        assert ask(one, NAMED, 80) == f"world for {HOST}"
        assert ask(one, ELSEWHERE, 80, SILENCE).startswith("error")
        assert look_up(one, "deep.below.test") == ELSEWHERE
        assert ask(one, ELSEWHERE, 80) == f"world for {HOST}"
        for name in ("other.test", "below.test", "secret.allowed.test"):
            assert look_up(one, name) == "5"  # refused, and nobody was asked
        assert look_up(one, "missing.below.test") == "3"
        assert look_up(two, "other.test") == "3"  # who may go everywhere asks the host's resolver itself
        assert ask(one, WORLD, 80, SILENCE).startswith("error")

    go(lab.world.host, lambda: served(work))


_LOOK_UP = """python3 -c "
import socket, struct
name = b''.join(bytes([len(p)]) + p.encode() for p in '{name}'.split('.')) + bytes(1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20); s.connect(('{resolver}', 53))
s.send(struct.pack('>HHHHHH', 9, 256, 1, 0, 0, 0) + name + struct.pack('>HH', 1, 1))
d = s.recv(999)
print(socket.inet_ntoa(d[-4:]) if not d[3] & 15 else d[3] & 15)
" """


def look_up(guest: object, name: str) -> str:
    """The address behind a name, or the code of the refusal."""
    return guest.sh(_LOOK_UP.format(name=name, resolver=RESOLVER)).strip()


def popen(namespace: str, program: str) -> object:
    import subprocess

    return subprocess.Popen(
        ["ip", "netns", "exec", namespace, "python3", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: object) -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


class EchoService:
    """Says again what it is told."""

    def __init__(self, namespace: str, address: str, port: int) -> None:
        program = (
            f"import socket; s=socket.create_server(('{address}',{port})); print('up',flush=True)\n"
            "while True:\n  c,_=s.accept()\n  while d:=c.recv(99): c.sendall(d)\n"
        )
        self.process = popen(namespace, program)
        assert self.process.stdout.readline() == "up\n"

    def close(self) -> None:
        end(self.process)


class NameService:
    """A name server for some names; others do not exist."""

    def __init__(self, namespace: str, names: dict[str, str], address: str = WORLD) -> None:
        program = (
            f"import socket,struct; N={names!r}; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n"
            f"s.bind(('{address}',53)); print('up',flush=True)\n"
            "while True:\n"
            "  d,a=s.recvfrom(999); p=12; L=[]\n"
            "  while d[p]: L.append(d[p+1:p+1+d[p]].decode().lower()); p+=1+d[p]\n"
            "  f=N.get('.'.join(L)); h=d[:2]+struct.pack('>HHHHH',0x8180|(0 if f else 3),1,1 if f else 0,0,0)\n"
            "  r=b'\\xc0\\x0c'+struct.pack('>HHIH',1,1,60,4)+socket.inet_aton(f) if f else b''\n"
            "  s.sendto(h+d[12:p+5]+r,a)\n"
        )
        self.process = popen(namespace, program)
        assert self.process.stdout.readline() == "up\n"

    def close(self) -> None:
        end(self.process)
