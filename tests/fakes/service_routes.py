"""Ways in to the fake service's machines: the real rules, over rows in memory and gates that nobody passes."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.control.domains import Domains
from openboxd.control.routes import Routes
from openboxd.errors import NotFound
from openboxd.model import Caller, CustomDomain, CustomDomainView, ExposedPort, Held, Machine, Route, RouteView
from openboxd.settings import DEFAULT_EXPOSED_PORTS
from openboxd.worker.ways import NoWays


class Rows:
    """What of the store routes need."""

    def __init__(self) -> None:
        self._routes: dict[tuple[str, str], Route] = {}
        self._exposed: dict[tuple[str, int], ExposedPort] = {}
        self._domains: dict[str, CustomDomain] = {}

    def routes(self, machine_id: str) -> Sequence[Route]:
        return sorted((r for r in self._routes.values() if r.machine_id == machine_id), key=lambda r: r.name)

    async def put_route(self, route: Route) -> None:
        self._routes[route.machine_id, route.name] = route

    async def delete_route(self, machine_id: str, name: str) -> None:
        self._routes.pop((machine_id, name), None)

    def exposed_ports(self, machine_id: str) -> Sequence[ExposedPort]:
        return sorted((e for e in self._exposed.values() if e.machine_id == machine_id), key=lambda e: e.port)

    async def put_exposed_port(self, exposed: ExposedPort) -> None:
        self._exposed[exposed.machine_id, exposed.port] = exposed

    async def delete_exposed_port(self, machine_id: str, port: int) -> None:
        self._exposed.pop((machine_id, port), None)

    def public_ports_in_use(self) -> set[int]:
        return {exposed.public_port for exposed in self._exposed.values()}

    def custom_domains(self, machine_id: str = "") -> Sequence[CustomDomain]:
        return sorted((d for d in self._domains.values() if machine_id in ("", d.machine_id)), key=lambda d: d.domain)

    async def add_custom_domain(self, domain: CustomDomain) -> None:
        self._domains[domain.domain] = domain

    async def delete_custom_domain(self, domain: str) -> None:
        self._domains.pop(domain, None)

    def machine(self, machine_id: str) -> None:
        """There is one owner only, so nobody asks whose it is."""


class ServiceRoutes:
    """The part of `api.ports.Service` that is about ways in. `hold` is what every restore costs."""

    root_certificate = "-----BEGIN CERTIFICATE-----\nfake\n-----END CERTIFICATE-----\n"
    hold = Held()
    troubles: Sequence[str] = ()

    def __init__(self) -> None:
        rows = Rows()
        self._routes = Routes(rows, NoWays(), DEFAULT_EXPOSED_PORTS)  # type: ignore[arg-type]  # rows are the part it uses
        self._domains = Domains(rows, NoWays(), self._routes, "boxd.test")  # type: ignore[arg-type]

    def _chosen(self, caller: Caller, ref: str) -> Sequence[Machine]:
        return [self.machine(caller, ref)] if ref else self.machines(caller)

    async def routes(self, caller: Caller, ref: str = "") -> Sequence[RouteView]:
        return [view for machine in self._chosen(caller, ref) for view in await self._routes.listed(machine)]

    async def create_route(self, caller: Caller, ref: str, name: str, port: int) -> RouteView:
        machine = self.machine(caller, ref)
        return RouteView(await self._routes.create(machine, name, port), machine, port)

    async def set_route_port(self, caller: Caller, ref: str, name: str, port: str) -> None:
        await self._routes.set_port(self.machine(caller, ref), name, port)

    async def delete_route(self, caller: Caller, ref: str, name: str) -> None:
        await self._routes.delete(self.machine(caller, ref), name)

    async def expose_port(self, caller: Caller, ref: str, port: int, protocol: str) -> tuple[Machine, ExposedPort]:
        machine = self.machine(caller, ref)
        return machine, await self._routes.expose(machine, port, protocol)

    async def unexpose_port(self, caller: Caller, ref: str, port: int) -> tuple[Machine, ExposedPort]:
        machine = self.machine(caller, ref)
        return machine, await self._routes.unexpose(machine, port)

    def exposed_ports(self, caller: Caller, ref: str = "") -> Sequence[tuple[Machine, ExposedPort]]:
        return [(m, exposed) for m in self._chosen(caller, ref) for exposed in self._routes.exposed(m)]

    async def add_custom_domain(self, caller: Caller, ref: str, domain: str) -> CustomDomainView:
        return await self._domains.add(self.machine(caller, ref), domain)

    def custom_domains(self, caller: Caller) -> Sequence[CustomDomainView]:
        return [view for machine in self.machines(caller) for view in self._domains.listed(machine)]

    def domains_of(self, caller: Caller, machine: Machine) -> Sequence[CustomDomainView]:
        return self._domains.listed(machine)

    async def remove_custom_domain(self, caller: Caller, domain: str) -> None:
        found = [view.machine for view in self.custom_domains(caller) if view.domain == domain]
        if not found:
            raise NotFound(f"domain '{domain}' not found")
        await self._domains.remove(found[0], domain)

    def problems(self, machine: Machine) -> Sequence[str]:
        return self.troubles

    def last_hold(self, caller: Caller, ref: str) -> Held:
        return self.hold
