"""What the API needs from control about ways in to machines, and out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from openboxd.model import Caller, CustomDomainView, ExposedPort, Held, Machine, RouteView


class Ways(Protocol):
    """`ref` is a machine's id or name."""

    async def routes(self, caller: Caller, ref: str = "") -> Sequence[RouteView]:
        """Of one machine, or of all; each machine's default route first."""
        ...

    async def create_route(self, caller: Caller, ref: str, name: str, port: int) -> RouteView:
        """Raises InvalidArgument, AlreadyExists."""
        ...

    async def set_route_port(self, caller: Caller, ref: str, name: str, port: str) -> None:
        """An empty name is the default route, the only one that takes "auto". Raises InvalidArgument, NotFound."""
        ...

    async def delete_route(self, caller: Caller, ref: str, name: str) -> None: ...

    async def expose_port(self, caller: Caller, ref: str, port: int, protocol: str) -> tuple[Machine, ExposedPort]:
        """The public port that it has or gets. Raises InvalidArgument, WrongState for one too many."""
        ...

    async def unexpose_port(self, caller: Caller, ref: str, port: int) -> tuple[Machine, ExposedPort]: ...
    def exposed_ports(self, caller: Caller, ref: str = "") -> Sequence[tuple[Machine, ExposedPort]]: ...

    async def add_custom_domain(self, caller: Caller, ref: str, domain: str) -> CustomDomainView:
        """Raises InvalidArgument, AlreadyExists."""
        ...

    def custom_domains(self, caller: Caller) -> Sequence[CustomDomainView]: ...
    def domains_of(self, caller: Caller, machine: Machine) -> Sequence[CustomDomainView]: ...
    async def remove_custom_domain(self, caller: Caller, domain: str) -> None: ...

    async def set_networks(self, caller: Caller, ref: str, networks: Sequence[str]) -> Machine:
        """The whole set. Raises InvalidArgument, WrongState where the host cannot do it."""
        ...

    async def set_egress_allow(self, caller: Caller, ref: str, entries: Sequence[str]) -> Machine:
        """The whole list; an empty one allows everything. Raises InvalidArgument, WrongState."""
        ...

    def problems(self, machine: Machine) -> Sequence[str]:
        """What of a machine's ways in cannot be listened on, and why; the machine is one the caller may see."""
        ...

    def last_hold(self, caller: Caller, ref: str) -> Held:
        """What the machine's last swap cost those who came in meanwhile."""
        ...
