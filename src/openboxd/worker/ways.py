"""Which ways lead in to a machine, and a host without any."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openboxd.model import Held, Machine, MachineStatus, Route, Way
from openboxd.ports import Agent, Store, Ways

SSH_PORT = 22
"""Where the guest's sshd listens."""


def ways_in(store: Store, machine: Machine) -> list[Way]:
    """All ways in to a machine: its default route, its named ones, its exposed ports and SSH."""
    routes = {route.name: route for route in store.routes(machine.id)}
    default = routes.pop("", None)
    ways = [Way(default.port if default else 0, host=machine.name)]
    ways += [Way(route.port, host=f"{route.name}.{machine.name}") for route in routes.values()]
    ways += _custom(store, machine, default.port if default else 0, list(routes.values()))
    for exposed in store.exposed_ports(machine.id):
        ways += [Way(exposed.port, public_port=exposed.public_port, protocol=one) for one in exposed.protocols]
    if machine.ssh_port:
        ways.append(Way(SSH_PORT, public_port=machine.ssh_port))
    return ways


def _custom(store: Store, machine: Machine, port: int, routes: Sequence[Route]) -> list[Way]:
    """A machine's own domains, and names of routes below them unless somebody gave such a name a place of its own."""
    everywhere = {row.domain for row in store.custom_domains()}
    own = [row.domain for row in store.custom_domains(machine.id)]
    named = [Way(route.port, domain=f"{route.name}.{domain}") for domain in own for route in routes]
    return [*(Way(port, domain=domain) for domain in own), *(way for way in named if way.domain not in everywhere)]


async def follow(ways: Ways, machine: Machine, agent: Agent | None) -> Held:
    """Let the ways in be as the machine is; what a hold that ends thereby cost."""
    match machine.status:
        case MachineStatus.RUNNING if agent is not None:
            return await ways.open(machine.id, agent)
        case MachineStatus.STOPPED:
            await ways.shut(machine.id, f"machine '{machine.name}' is stopped; start it first")
        case MachineStatus.FAILED:
            await ways.shut(machine.id, f"machine '{machine.name}' has failed; start it, or restore a checkpoint")
        case MachineStatus.DESTROYING | MachineStatus.DESTROYED:
            await ways.drop(machine.id)
        case _:
            ways.hold(machine.id)
    return Held()


class NoWays:
    """Implements Ways for a host that offers none: machines are reached by the API alone."""

    async def arrange(self, machine_id: str, name: str, ways: Sequence[Way]) -> None: ...

    async def drop(self, machine_id: str) -> None: ...

    def hold(self, machine_id: str) -> None: ...

    async def drain(self, machine_id: str) -> None: ...

    async def open(self, machine_id: str, guest: Agent) -> Held:
        return Held()

    async def shut(self, machine_id: str, reason: str) -> None: ...

    def in_use(self, machine_id: str) -> bool:
        return False

    def on_use(self, told: Callable[[str], None]) -> None: ...

    def turn_away(self, machine_id: str, reason: str) -> None: ...

    async def found_port(self, machine_id: str) -> int:
        return 8000

    def domain_problem(self, domain: str) -> str:
        return ""

    def problems(self, machine_id: str = "") -> Sequence[str]:
        return ()

    def is_free(self, public_port: int) -> bool:
        return True
