"""A real guest on the bridge, its daemon in a network namespace of the test's own."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest

from openboxd.network.addresses import GATEWAY
from tests.lab import GOLDEN, Daemon, Lab
from tests.network.namespaces import HOST, WORLD, World, in_namespace, inside, world
from tests.network.test_bridge import Service

pytestmark = [pytest.mark.guest, pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces")]


@pytest.fixture
def place() -> Iterator[World]:
    with world() as made, contextlib.ExitStack() as stack:
        for namespace, address, port, line in (
            (made.world, WORLD, 80, b"world for "),
            (made.host, "0.0.0.0", 5000, b"host for "),
        ):
            stack.callback(Service(namespace, address, port, socket.SOCK_STREAM, line).close)
        yield made


def ask(daemon: Daemon, address: str, port: int) -> str:
    """What a service answers to the guest."""
    program = f"import socket; s=socket.create_connection(('{address}',{port}),5); print(s.recv(99).decode().strip())"
    return daemon.boxd("machine", "exec", GOLDEN, "--", "python3", "-c", program, check=False).stdout.strip()


def test_a_guest_reaches_the_world_and_not_the_host_also_after_a_restore(lab: Lab, place: World) -> None:
    def body() -> None:
        with lab.daemon(extra={"BOXD_NETWORK": "bridge"}) as daemon:
            daemon.boxd("machine", "reboot", GOLDEN)  # from here on it has its address by its command line
            daemon.sh("timeout 90 sh -c 'until ip route | grep -q default; do sleep 0.2; done'")  # the agent is early
            shown = daemon.sh("ip -4 -br addr show eth0; ip route; resolvectl dns eth0")
            address = daemon.sh("ip -4 -o addr show eth0 | tr -s ' ' | cut -d' ' -f4").strip()
            assert address == "10.213.0.10/16", shown
            assert f"default via {GATEWAY} dev eth0" in shown
            assert ask(daemon, WORLD, 80) == f"world for {HOST}"
            for host in (GATEWAY, HOST):
                assert ask(daemon, host, 5000) == ""
            daemon.boxd("machine", "checkpoint", "save", GOLDEN, "linked")
            for _ in range(2):
                daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "linked", "-y")
                assert ask(daemon, WORLD, 80) == f"world for {HOST}"
            daemon.restart()  # the machine runs on, and so does its network
            assert ask(daemon, WORLD, 80) == f"world for {HOST}"
            daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "linked", "-y")
            assert ask(daemon, WORLD, 80) == f"world for {HOST}"
            assert "bridge" in daemon.boxd("doctor", check=False).stdout
            daemon.boxd("machine", "stop", GOLDEN)
            daemon.end()  # nothing runs: nothing is left

    inside(place.host, body)
    assert in_namespace(place.host, "nft list tables") == ""
    assert "boxd-" not in in_namespace(place.host, "ip link show")
