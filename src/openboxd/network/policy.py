"""Who may reach whom, and what of the world. Pure: from machines to members of the rules' sets.

Two machines are peers if they share one of their networks, or if both have none and neither is isolated; and only if
they are of one owner, or both shared with one organization.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from openboxd.model import Machine


@dataclass(frozen=True)
class Policy:
    """Members of the sets.

    Attributes:
        peers: "ADDRESS . ADDRESS", in both orders.
        restricted: addresses of machines that may not go everywhere.
        allowed: "ADDRESS . WHERE" for those: an address or a range.
        names: by a restricted machine's address, the names it may reach: "example.com", "*.example.com".
    """

    peers: Sequence[str] = ()
    restricted: Sequence[str] = ()
    allowed: Sequence[str] = ()
    names: dict[str, frozenset[str]] = field(default_factory=dict)


NOTHING = Policy()


def policy_for(machines: Iterable[Machine]) -> Policy:
    """The policy for all machines of a host."""
    present = list(machines)
    restricted = [machine for machine in present if machine.egress_allow]
    pairs = [(one, two) for one, two in combinations(present, 2) if are_peers(one, two)]
    names = {m.address: frozenset(e for e in m.egress_allow if not is_range(e)) for m in restricted}
    return Policy(
        peers=[f"{one.address} . {two.address}" for pair in pairs for one, two in (pair, pair[::-1])],
        restricted=[machine.address for machine in restricted],
        allowed=[f"{m.address} . {each}" for m in restricted for each in allowed_ranges(m.egress_allow)],
        names=names,
    )


def are_peers(one: Machine, two: Machine) -> bool:
    """Whether two machines may reach each other."""
    if one.org_id != two.org_id or not (one.owner_id == two.owner_id or (one.shared and two.shared)):
        return False
    if one.networks or two.networks:
        return bool(set(one.networks) & set(two.networks))
    return not (one.isolated or two.isolated)


def is_range(entry: str) -> bool:
    """Whether an entry of an egress list is an address or a range of them, rather than a name."""
    try:
        ipaddress.IPv4Network(entry)
    except ValueError:
        return False
    return True


def matches(name: str, allowed: Iterable[str]) -> bool:
    """Whether a name (lower case, without a dot at its end) is one of these."""
    return any(name == one or (one.startswith("*.") and name.endswith(one[1:])) for one in allowed)


def allowed_ranges(entries: Iterable[str]) -> Sequence[str]:
    """Ranges without those that lie in others, which a set does not take."""
    found = ipaddress.collapse_addresses(ipaddress.IPv4Network(entry) for entry in entries if is_range(entry))
    return [str(each) for each in found]
