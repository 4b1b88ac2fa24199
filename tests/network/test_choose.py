"""Which network a host's machines get, and what becomes of the other one, in a namespace of the test's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from openboxd.model import Machine
from openboxd.network import BridgeNetwork, UserNetwork, choose
from openboxd.settings import Settings
from tests.contracts.rows import a_machine
from tests.network.namespaces import World, go, in_namespace, world

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces")


@pytest.fixture
def place() -> Iterator[World]:
    with world() as made:
        yield made


def settings(tmp_path: Path, network: str) -> Settings:
    found = Settings(home=tmp_path, run_root=tmp_path / "run", network=network)
    found.run_dir.mkdir(parents=True, exist_ok=True)
    return found


def left(place: World) -> str:
    return in_namespace(place.host, "nft list tables; ip -br link show type bridge")


def test_a_bridge_that_is_of_no_use_any_more_is_taken_away(place: World, tmp_path: Path) -> None:
    machine = a_machine(id="m0", name="web", address="10.213.0.10", mac="52:54:00:00:00:01")
    running = replace(machine, run_id="aaaaaaaaaaaa")

    async def serve(kind: str, machines: list[Machine]) -> type:
        network = await choose(settings(tmp_path, kind), lambda: machines)
        if isinstance(network, BridgeNetwork):
            os.close((await network.prepare(machine, "aaaaaaaaaaaa")).tap)
        return type(network)

    assert go(place.host, lambda: serve("auto", [machine])) is BridgeNetwork
    name = settings(tmp_path, "auto").run_dir.name[:8]
    assert f"boxd-{name}" in left(place)
    assert go(place.host, lambda: serve("user", [running])) is UserNetwork
    assert f"boxd-{name}" in left(place)  # a machine may still be on it
    assert go(place.host, lambda: serve("user", [machine])) is UserNetwork
    assert left(place) == ""
    assert go(place.host, lambda: serve("user", [machine])) is UserNetwork
    assert left(place) == ""


def test_a_host_that_lets_us_make_no_bridge_has_the_user_network(place: World, tmp_path: Path) -> None:
    in_namespace(
        place.host, "ip link add other type bridge; ip addr add 10.213.9.1/24 dev other; ip link set other up"
    )

    async def serve() -> type:
        return type(await choose(settings(tmp_path, "auto"), list))

    assert go(place.host, serve) is UserNetwork
    assert "boxd-" not in left(place)
