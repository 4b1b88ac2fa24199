"""What machines reach: on record first, then in force; refused where the host's network cannot do it."""

from __future__ import annotations

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import InvalidArgument, NotFound, WrongState
from openboxd.model import MIB, Caller, Machine
from openboxd.worker.links import NoNetwork
from tests.worker.world import OWNER, World


class Seen(NoNetwork):
    """Writes down what is on record whenever it is told to put it in force."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.reason = ""
        self.told: list[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = []

    def why_not(self, machine: Machine) -> str:
        return self.reason

    async def refresh(self, machine: Machine) -> None:
        self.told.append({m.name: (m.networks, m.egress_allow) for m in self.world.store.machines()})


@pytest.fixture
async def network(world: World) -> Seen:
    await world.stop()
    world.network = seen = Seen(world)
    await world.start()
    await world.machine()
    return seen


async def test_what_is_recorded_is_put_in_force_and_stays(world: World, network: Seen) -> None:
    await world.control.set_networks(OWNER, "web", ["db", "db"])
    await world.control.set_egress_allow(OWNER, "web", ["Example.com", "1.1.1.1/32"])
    assert network.told == [{"web": (("db",), ())}, {"web": (("db",), ("example.com", "1.1.1.1"))}]
    await world.save("good")
    await world.control.set_networks(OWNER, "web", [])
    await world.control.restore_checkpoint(OWNER, "web", "good")
    now = world.control.machine(OWNER, "web")
    assert (now.networks, now.egress_allow) == ((), ("example.com", "1.1.1.1"))  # as now, not as captured
    new = NewMachine(name="new", vcpu=1, memory_bytes=512 * MIB, networks=("db",))
    assert (await world.control.create_machine(OWNER, new)).networks == ("db",)


async def test_sharing_is_put_in_force_too(world: World, network: Seen) -> None:
    """Shared machines of an organization reach each other, and do not any more when that ends, however it does."""
    org = await world.control.create_org(OWNER, "team")
    await world.control.share(OWNER, "web", org.name)
    await world.control.unshare(OWNER, "web")
    assert len(network.told) == 2
    await world.control.share(OWNER, "web", org.name)
    await world.control.remove_org(OWNER, org.name)
    assert len(network.told) == 4
    assert world.control.machine(OWNER, "web").org_id == ""


async def test_refusals_change_nothing(world: World, network: Seen) -> None:
    with pytest.raises(InvalidArgument):
        await world.control.set_networks(OWNER, "web", ["no good"])
    with pytest.raises(InvalidArgument):
        await world.control.set_egress_allow(OWNER, "web", ["no good"])
    stranger = Caller("u_stranger", "key")
    for change in (world.control.set_networks, world.control.set_egress_allow):
        with pytest.raises(NotFound):
            await change(stranger, "web", ["example.com"])
    network.reason = "it cannot"
    for change, entry in ((world.control.set_networks, "db"), (world.control.set_egress_allow, "1.1.1.1")):
        with pytest.raises(WrongState, match="what machine 'web' reaches was not changed: it cannot"):
            await change(OWNER, "web", [entry])
        await change(OWNER, "web", [])  # nothing is always possible
    with pytest.raises(WrongState, match="no machine in a network was made: it cannot"):
        await world.control.create_machine(OWNER, NewMachine(vcpu=1, memory_bytes=512 * MIB, networks=("db",)))
    now = world.control.machine(OWNER, "web")
    assert (now.networks, now.egress_allow) == ((), ())
