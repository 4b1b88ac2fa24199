"""Use-cases of the ways in to machines: routes and exposed ports.

Whoever may use a machine may lead requests to what they run in it, so routes are everybody's who shares it. A public
port of the host, or a domain of somebody's own, is given out by its owner: these need Act.MANAGE.
"""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.control.access import Act
from openboxd.control.base import Base
from openboxd.errors import NotFound
from openboxd.model import Caller, CustomDomainView, ExposedPort, Held, Machine, RouteView

DEFAULT = "default"
"""What the route of the machine itself is called for people."""


class WaysIn(Base):
    """Routes and exposed ports."""

    async def arrange_ways(self) -> None:
        """Listen for all machines; call once, before they are recovered. Clients wait until theirs is there."""
        for machine in self._store.machines():
            if not machine.ssh_port:  # made before machines had one
                machine = await self._store.update_machine(machine.id, ssh_port=self._creation.free_ssh_port())
            await self._routes.arrange(machine)

    async def routes(self, caller: Caller, ref: str = "") -> Sequence[RouteView]:
        """The routes of a machine, or of all the caller's machines."""
        found = [self.machine(caller, ref)] if ref else self.machines(caller)
        return [view for machine in found for view in await self._routes.listed(machine)]

    async def create_route(self, caller: Caller, ref: str, name: str, port: int) -> RouteView:
        """Give a machine a named route."""
        machine = self.machine(caller, ref)
        route = await self._routes.create(machine, name, port)
        await self._record(caller, machine, "route", f"{name} to {port}")
        return RouteView(route, machine, port)

    async def set_route_port(self, caller: Caller, ref: str, name: str, port: str) -> None:
        """Let a route lead to another port; "auto" lets the default route find its port."""
        machine = self.machine(caller, ref)
        await self._routes.set_port(machine, name, port)
        await self._record(caller, machine, "route", f"{name or DEFAULT} to {port}")

    async def delete_route(self, caller: Caller, ref: str, name: str) -> None:
        """Remove a named route."""
        machine = self.machine(caller, ref)
        await self._routes.delete(machine, name)
        await self._record(caller, machine, "remove route", name)

    async def expose_port(self, caller: Caller, ref: str, port: int, protocol: str) -> tuple[Machine, ExposedPort]:
        """Give a machine's port a public one."""
        machine = self.machine(caller, ref, Act.MANAGE)
        exposed = await self._routes.expose(machine, port, protocol)
        await self._record(caller, machine, "expose", f"{port} at {exposed.public_port} ({exposed.protocol})")
        return machine, exposed

    async def unexpose_port(self, caller: Caller, ref: str, port: int) -> tuple[Machine, ExposedPort]:
        """Take a port's public one away."""
        machine = self.machine(caller, ref, Act.MANAGE)
        exposed = await self._routes.unexpose(machine, port)
        await self._record(caller, machine, "unexpose", f"{port} at {exposed.public_port} ({exposed.protocol})")
        return machine, exposed

    def exposed_ports(self, caller: Caller, ref: str = "") -> Sequence[tuple[Machine, ExposedPort]]:
        """The exposed ports of a machine, or of all the caller's machines."""
        found = [self.machine(caller, ref)] if ref else self.machines(caller)
        return [(machine, exposed) for machine in found for exposed in self._routes.exposed(machine)]

    async def add_custom_domain(self, caller: Caller, ref: str, domain: str) -> CustomDomainView:
        """Lead a domain of the caller's own to a machine."""
        machine = self.machine(caller, ref, Act.MANAGE)
        view = await self._domains.add(machine, domain)
        await self._record(caller, machine, "domain", domain)
        return view

    def custom_domains(self, caller: Caller) -> Sequence[CustomDomainView]:
        """The domains of all the caller's machines."""
        return [view for machine in self.machines(caller) for view in self._domains.listed(machine)]

    def domains_of(self, caller: Caller, machine: Machine) -> Sequence[CustomDomainView]:
        """The domains of a machine that the caller was shown."""
        return self._domains.listed(machine)

    async def remove_custom_domain(self, caller: Caller, domain: str) -> None:
        """Lead a domain nowhere. Raises NotFound, also for that of a machine that the caller does not see."""
        for machine in self.machines(caller, everywhere=True):
            if any(view.domain == domain for view in self._domains.listed(machine)):
                await self._domains.remove(self.machine(caller, machine.id, Act.MANAGE), domain)
                await self._record(caller, machine, "remove domain", domain)
                return
        raise NotFound(f"domain '{domain}' not found")

    def problems(self, machine: Machine) -> Sequence[str]:
        """What of a machine's ways in cannot be listened on, and why. The caller has got the machine from here."""
        return self._drivers.ways.problems(machine.id)

    def last_hold(self, caller: Caller, ref: str) -> Held:
        """What the machine's last swap cost those who came in meanwhile."""
        return self._worker(caller, ref).last_hold
