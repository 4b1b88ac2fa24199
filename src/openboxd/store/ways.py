"""The store's calls about ways in to machines."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.model import CustomDomain, ExposedPort, Route
from openboxd.store import domains, routes
from openboxd.store.part import Part


class Ways(Part):
    """Routes, exposed ports and domains."""

    def routes(self, machine_id: str) -> Sequence[Route]:
        """By name; the default one only while its port is pinned."""
        return self._read(routes.of_machine, machine_id)

    async def put_route(self, route: Route) -> None:
        """Add a route, or give it another port."""
        await self._writer.write(routes.put, route)

    async def delete_route(self, machine_id: str, name: str) -> None:
        """Harmless twice."""
        await self._writer.write(routes.remove, machine_id, name)

    def exposed_ports(self, machine_id: str) -> Sequence[ExposedPort]:
        """By port."""
        return self._read(routes.exposed_of, machine_id)

    async def put_exposed_port(self, exposed: ExposedPort) -> None:
        """Add an exposed port, or change what it is. Raises AlreadyExists if the public port is taken."""
        await self._writer.write(routes.expose, exposed)

    async def delete_exposed_port(self, machine_id: str, port: int) -> None:
        """Harmless twice."""
        await self._writer.write(routes.unexpose, machine_id, port)

    def public_ports_in_use(self) -> frozenset[int]:
        """Ports of the host that machines have, exposed ones and those for SSH."""
        return self._read(routes.public_ports)

    def custom_domains(self, machine_id: str = "") -> Sequence[CustomDomain]:
        """Of one machine or of all, by name."""
        return self._read(domains.listed, machine_id)

    async def add_custom_domain(self, domain: CustomDomain) -> None:
        """Raises AlreadyExists if it leads to a machine."""
        await self._writer.write(domains.add, domain)

    async def delete_custom_domain(self, domain: str) -> None:
        """Harmless twice."""
        await self._writer.write(domains.remove, domain)
