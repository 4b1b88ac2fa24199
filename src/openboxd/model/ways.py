"""Ways in to machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openboxd.model.machines import Machine


@dataclass(frozen=True)
class Route:
    """A host name that leads to a port of a machine: `<name>.<machine>.<zone>`, or `<machine>.<zone>` if unnamed."""

    machine_id: str
    name: str  # empty: the machine's default route
    port: int  # of the guest; 0 = found by what the guest listens on (the default route only)


@dataclass(frozen=True)
class RouteView:
    """A route as users see it: `port` is the one that it leads to now."""

    route: Route
    machine: Machine
    port: int


@dataclass(frozen=True)
class ExposedPort:
    """A public port of the host that leads to a port of a machine; it keeps its number for as long as it exists."""

    machine_id: str
    port: int  # of the guest
    public_port: int
    protocol: str = "tcp"  # "tcp", "udp" or "both"

    @property
    def protocols(self) -> Sequence[str]:
        """The protocols one by one."""
        return ("tcp", "udp") if self.protocol == "both" else (self.protocol,)


@dataclass(frozen=True)
class CustomDomain:
    """A domain of its owner's own that leads to a machine, and `<route>.<domain>` to its named routes."""

    domain: str
    machine_id: str


@dataclass(frozen=True)
class CustomDomainView:
    """A domain of one's own as users see it: `problem` is why it is not served yet, empty if it is."""

    domain: str
    machine: Machine
    problem: str


@dataclass(frozen=True)
class Way:
    """One way in to a machine, for whoever keeps the gates: by HTTPS under a host name, or by a public TCP port.

    Attributes:
        port: port of the guest; 0 = found by what the guest listens on.
        host: the part of the host name before the zone; empty for the other two.
        domain: a whole host name outside the zone.
        public_port: the public port; 0 for a host name.
        protocol: of the public port: "tcp" or "udp".
    """

    port: int
    host: str = ""
    domain: str = ""
    public_port: int = 0
    protocol: str = "tcp"


@dataclass(frozen=True)
class Held:
    """What a swap cost those who came in meanwhile: how many waited, and how long the longest did."""

    connections: int = 0
    longest_ms: int = 0

    def and_also(self, other: Held) -> Held:
        """Both together."""
        return Held(self.connections + other.connections, max(self.longest_ms, other.longest_ms))
