"""What a machine is known by outside is allotted once, and is nobody else's."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.control.sizes import NETWORK
from openboxd.edge.gates import Gates
from openboxd.edge.listener import listen_tcp
from openboxd.errors import AlreadyExists, Exhausted
from openboxd.model import MIB, Machine, MachineStatus, Route
from openboxd.worker.ways import NoWays
from tests.fakes.killing import DaemonKilled
from tests.lab import free_port
from tests.worker.test_restart import host_reboots
from tests.worker.world import OWNER, World


def identity(world: World, machine: Machine) -> dict[str, object]:
    """Everything that somebody outside may have written down, but for the name."""
    now = world.control.machine(OWNER, machine.id)
    return {
        "id": now.id,
        "address": now.address,
        "mac": now.mac,
        "ssh": now.ssh_port,
        "exposed": [(each.port, each.public_port) for _, each in world.control.exposed_ports(OWNER, machine.id)],
        "routes": world.store.routes(machine.id),
    }


async def test_an_identity_outlives_all_that_happens_to_its_machine(world: World) -> None:
    await world.machine("first")  # so that nothing is found again by being the first
    machine = await world.machine()
    await world.machine("last")
    await world.control.expose_port(OWNER, "web", 5432, "both")
    await world.control.create_route(OWNER, "web", "api", 9000)
    await world.save("early")
    await world.control.destroy_machine(OWNER, "first")  # what it had is free now, and not taken
    before = identity(world, machine)
    assert before["routes"] == (Route(machine.id, "api", 9000),)
    control = world.control

    async def restarted(end: Callable[[], Awaitable[None]]) -> None:
        await end()
        await world.start()
        await world.seen(MachineStatus.RUNNING)
        await world.settled()

    async def killed() -> None:
        with pytest.raises(DaemonKilled):
            world.switch.kill()
        world.drop()

    happenings: dict[str, Callable[[], Awaitable[object]]] = {
        "restore": lambda: control.restore_checkpoint(OWNER, machine.id, "early"),
        "stop and start": lambda: _one_by_one(
            lambda: control.stop_machine(OWNER, machine.id), lambda: control.start_machine(OWNER, machine.id)
        ),
        "reboot": lambda: control.reboot_machine(OWNER, machine.id),
        "resize": lambda: control.resize_machine(OWNER, machine.id, 2, 1024 * MIB),
        "another machine comes": lambda: world.machine("another"),
        "the daemon restarts": lambda: restarted(world.stop),
        "the daemon is killed": lambda: restarted(killed),
        "the host reboots": lambda: restarted(lambda: host_reboots(world)),
        "rename": lambda: world.control.rename_machine(OWNER, machine.id, "shop"),
        "a restore to before the rename": lambda: world.control.restore_checkpoint(OWNER, "shop", "early"),
    }
    for what, happen in happenings.items():
        await happen()
        control = world.control
        assert identity(world, machine) == before, what
    assert world.control.machine(OWNER, "shop").id == machine.id


async def _one_by_one(*work: Callable[[], Awaitable[object]]) -> None:
    for each in work:
        await each()


async def test_machines_that_are_made_at_once_share_nothing(world: World) -> None:
    await world.image()
    number = 24
    made = await asyncio.gather(
        *(world.control.create_machine(OWNER, NewMachine(vcpu=1, memory_bytes=512 * MIB)) for _ in range(number))
    )
    for what in ("id", "name", "address", "mac", "ssh_port"):
        assert len({getattr(machine, what) for machine in made}) == number, what
    assert all(ipaddress.ip_address(machine.address) in NETWORK for machine in made)
    exposed = await asyncio.gather(
        *(world.control.expose_port(OWNER, machine.id, port, "tcp") for machine in made for port in (80, 443))
    )
    public = {each.public_port for _, each in exposed}
    assert len(public) == 2 * number
    assert not public & {machine.ssh_port for machine in made}


async def test_one_name_goes_to_one_of_those_who_want_it_at_once(world: World) -> None:
    await world.image()
    new = NewMachine(name="web", vcpu=1, memory_bytes=512 * MIB)
    made = await asyncio.gather(*(world.control.create_machine(OWNER, new) for _ in range(8)), return_exceptions=True)
    assert [type(one) for one in made if not isinstance(one, Machine)] == [AlreadyExists] * 7
    assert len(world.control.machines(OWNER)) == 1


class Taken(NoWays):
    """A host on which others listen on some ports."""

    def __init__(self, ports: Collection[int]) -> None:
        self.ports = ports

    def is_free(self, public_port: int) -> bool:
        return public_port not in self.ports


async def test_a_port_that_somebody_else_has_is_skipped(world: World) -> None:
    await world.stop()
    world.ways = others = Taken({10_000, 10_001, 40_000})
    await world.start()
    assert (await world.machine()).ssh_port == 10_002
    assert (await world.machine("other")).ssh_port == 10_003
    assert (await world.control.expose_port(OWNER, "web", 80, "udp"))[1].public_port == 40_001
    others.ports = range(70_000)
    with pytest.raises(Exhausted, match="all ports from 10000 to 30000 are taken on this host"):
        await world.machine("third")
    assert len(world.control.machines(OWNER)) == 2


async def test_a_port_that_somebody_takes_later_is_told_with_its_machine_and_comes_back_by_itself(
    world: World, tmp_path: Path
) -> None:
    # Ports that nobody allots: other daemons of this host, in other tests, choose from the same numbers as this one.
    machine, other = [
        await world.store.update_machine((await world.machine(name)).id, ssh_port=free_port())
        for name in ("web", "other")
    ]
    await world.stop()
    with listen_tcp("127.0.0.1", machine.ssh_port):  # while boxd is away
        gates = world.ways = Gates(tmp_path / "gates", "127.0.0.1")
        control = await world.start()
        await control.arrange_ways()
        now = control.machine(OWNER, "web")
        assert (now.status, now.ssh_port) == (MachineStatus.RUNNING, machine.ssh_port)
        [problem] = control.problems(machine)
        assert f"TCP port {machine.ssh_port} of this host is taken by another program" in problem
        assert control.problems(other) == []
        await world.save("meanwhile")
        await control.restore_checkpoint(OWNER, "web", "meanwhile")
        assert control.problems(machine) == [problem]
    await world.until(lambda: not control.problems(machine))
    assert not gates.is_free(machine.ssh_port)  # it is ours again
    await gates.close()
