"""The ways in to a machine follow what happens to it: held while it is swapped, shut while it is stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from openboxd.errors import BoxdError
from openboxd.model import Caller, Held, MachineStatus, Way
from openboxd.worker.ways import NoWays
from tests.worker.world import OWNER, World


class Seen(NoWays):
    """Writes down what it is told, and counts one connection for each hold."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.ways: dict[str, Sequence[Way]] = {}
        self.guest: Any = None
        self.held = 0

    async def arrange(self, machine_id: str, name: str, ways: Sequence[Way]) -> None:
        self.told.append(f"arrange {name}")
        self.ways[machine_id] = ways

    async def drop(self, machine_id: str) -> None:
        self.told.append("drop")
        self.ways.pop(machine_id, None)

    def hold(self, machine_id: str) -> None:
        self.told.append("hold")
        self.held = 1

    async def drain(self, machine_id: str) -> None:
        self.told.append("drain")

    async def open(self, machine_id: str, guest: Any) -> Held:
        self.told.append("open")
        self.guest, held, self.held = guest, self.held, 0
        return Held(held, 5 * held)

    async def shut(self, machine_id: str, reason: str) -> None:
        self.told.append(f"shut: {reason}")


@pytest.fixture
async def ways(world: World) -> Seen:
    """What a daemon tells whose ways in are written down."""
    await world.stop()
    seen = Seen()
    world.ways = seen
    await world.start()
    return seen


async def test_a_restore_holds_drains_swaps_and_opens_to_the_new_agent(world: World, ways: Seen) -> None:
    machine = await world.machine()
    await world.save("good")
    before = ways.guest
    ways.told.clear()
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert ways.told == ["hold", "drain", "open"]
    assert ways.guest is world.control.team.worker(machine.id).agent is not before
    assert world.control.last_hold(OWNER, "web") == Held(1, 5)


async def test_a_restore_that_fails_lets_in_again_where_it_was(world: World, ways: Seen) -> None:
    await world.machine()
    await world.save("good")
    before = ways.guest
    for point in ("before load", "after load", "before drain", "after drain"):
        ways.told.clear()

        def fail(reached: str, point: str = point) -> None:
            if reached == point:
                raise OSError("it is a test")

        world.fault = fail
        with pytest.raises(BoxdError):
            await world.control.restore_checkpoint(OWNER, "web", "good")
        assert (ways.told[0], ways.told[-1]) == ("hold", "open"), point
        assert ways.guest is before


async def test_stop_start_rename_and_removal(world: World, ways: Seen) -> None:
    machine = await world.machine()
    assert (ways.told[0], set(ways.told[1:-1]), ways.told[-1]) == ("arrange web", {"hold"}, "open")
    assert ways.ways[machine.id] == [Way(0, host="web"), Way(22, public_port=machine.ssh_port)]
    ways.told.clear()
    await world.control.stop_machine(OWNER, "web")
    assert ways.told[-1] == "shut: machine 'web' is stopped; start it first"
    await world.control.start_machine(OWNER, "web")
    assert ways.told[-2:] == ["hold", "open"]
    await world.control.rename_machine(OWNER, "web", "shop")
    assert ways.ways[machine.id][0] == Way(0, host="shop")
    assert ways.told[-1] in ("open", "arrange shop")
    await world.control.destroy_machine(OWNER, "shop")
    assert ways.ways == {}


async def test_a_daemon_that_starts_arranges_all_and_opens_those_that_run(world: World, ways: Seen) -> None:
    machine = await world.machine()
    await world.control.create_route(OWNER, "web", "api", 9000)
    exposed = (await world.control.expose_port(OWNER, "web", 5432, "tcp"))[1]
    arranged = ways.ways[machine.id]
    await world.stop()
    ways.told.clear()
    ways.ways.clear()
    await world.start()
    assert Way(9000, host="api.web") in arranged
    assert Way(5432, public_port=exposed.public_port) in arranged
    assert ways.told[-1] == "open"
    await world.control.arrange_ways()
    assert ways.ways[machine.id] == arranged
    assert world.control.machine(OWNER, "web").status is MachineStatus.RUNNING


async def test_ssh_ports_differ_and_stay(world: World, ways: Seen) -> None:
    first, second = await world.machine("one"), await world.machine("two")
    assert 10_000 <= first.ssh_port < second.ssh_port <= 30_000
    await world.save("good", "one")
    await world.control.restore_checkpoint(OWNER, "one", "good")
    assert (await world.settled("one")).ssh_port == first.ssh_port
    await world.control.destroy_machine(OWNER, "one")
    assert (await world.machine("three")).ssh_port == first.ssh_port  # free again


async def test_bad_orders_are_refused_in_words_and_change_nothing(world: World, ways: Seen) -> None:
    machine = await world.machine()
    control = world.control
    await control.create_route(OWNER, "web", "api", 9000)
    for port in (80, 81, 82):
        await control.expose_port(OWNER, "web", port, "tcp")
    before = ways.ways[machine.id]
    refused: list[tuple[Callable[[], Awaitable[object]], str]] = [
        (lambda: control.create_route(OWNER, "web", "api", 1), "web' already has a route 'api'; it was not changed"),
        (lambda: control.expose_port(OWNER, "web", 83, "both"), "machine 'web' has 3 of 3 exposed ports"),
        (lambda: control.expose_port(OWNER, "web", 80, "sctp"), "for 'tcp', 'udp' or 'both', not 'sctp'"),
        (lambda: control.set_route_port(OWNER, "web", "api", "auto"), "only a machine's own route finds its port"),
        (lambda: control.unexpose_port(OWNER, "web", 8080), "port 8080 of machine 'web' is not exposed"),
    ]
    for port in (-1, 0, 65_536, 1 << 40):
        refused += [
            (lambda p=port: control.create_route(OWNER, "web", "other", p), "is not a port"),
            (lambda p=port: control.set_route_port(OWNER, "web", "api", str(p)), "is not a port"),
            (lambda p=port: control.expose_port(OWNER, "web", p, "udp"), "is not a port"),
        ]
    for label in ("", "API", "a.b", "-a", "a-", "ä", "a" * 64, "default", "../x", "a b"):
        refused.append(
            (lambda name=label: control.create_route(OWNER, "web", name, 80), "route's|is a machine's own")
        )
    stranger = Caller("u_stranger", "key")
    for caller, ref in ((stranger, "web"), (stranger, machine.id), (OWNER, "nobody")):
        refused += [
            (lambda c=caller, r=ref: control.create_route(c, r, "other", 80), "not found"),
            (lambda c=caller, r=ref: control.set_route_port(c, r, "", "80"), "not found"),
            (lambda c=caller, r=ref: control.delete_route(c, r, "api"), "not found"),
            (lambda c=caller, r=ref: control.expose_port(c, r, 80, "tcp"), "not found"),
            (lambda c=caller, r=ref: control.unexpose_port(c, r, 80), "not found"),
            (lambda c=caller, r=ref: control.routes(c, r), "not found"),
        ]
    for order, words in refused:
        with pytest.raises(BoxdError, match=words):
            await order()
    assert ways.ways[machine.id] == before
    assert await control.routes(stranger) == []
    assert control.exposed_ports(stranger) == []
