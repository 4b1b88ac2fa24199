"""The bridge's rules for nft. Pure: text from data.

Both tables are ours alone and made as a whole in one transaction, so that nothing of the user's firewall is touched,
and at no time a part of the rules is in force.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from openboxd.network import chains
from openboxd.network.policy import NOTHING, Policy, allowed_ranges

PAIR = "ipv4_addr . ipv4_addr"
"""A machine's address and another one."""


@dataclass(frozen=True)
class Names:
    """Names of one home's things: two daemons on a host do not meet.

    Attributes:
        bridge: the bridge device.
        prefix: what the names of its taps begin with.
        table: name of the two nft tables.
    """

    bridge: str
    prefix: str
    table: str

    def tap(self, run_id: str) -> str:
        """Name of a run's device: 15 characters at most."""
        return f"{self.prefix}{run_id[:10]}"


@dataclass(frozen=True)
class Port:
    """A run's device and the only addresses that may be used on it."""

    tap: str
    mac: str
    address: str

    @property
    def element(self) -> str:
        """As a member of the set."""
        return f'"{self.tap}" . {self.mac} . {self.address}'

    @property
    def mark(self) -> str:
        """What connections of the run are marked with, by its address."""
        return f"{self.address} : {zlib.crc32(self.tap.encode()):#x}"

    @property
    def current(self) -> str:
        """The same as a member of the set of marks that are in use."""
        return self.mark.replace(":", ".")


def names(home: str) -> Names:
    """Names for a home, by 8 hex characters that stand for it."""
    return Names(bridge=f"boxd-{home[:8]}", prefix=f"b{home[:4]}", table=f"boxd-{home[:8]}")


def set_up(
    names: Names, ports: Iterable[Port], resolver: str, policy: Policy = NOTHING, learned: Iterable[str] = ()
) -> str:
    """Everything, in place of what there is; `learned` are pairs as `learn` makes them."""
    ports = list(ports)
    return (
        remove(names)
        + f"table bridge {names.table} {{\n{_who_is_who(names, ports)}}}\n"
        + f"table inet {names.table} {{\n{_sets(policy, learned)}{_runs(ports)}"
        + chains.to_the_host(names.bridge)
        + chains.through_the_host(names.bridge)
        + chains.outward(names.bridge)
        + chains.translation(names.bridge, resolver)
        + "}\n"
    )


def _set(name: str, kind: str, members: Iterable[str], flags: str = "") -> str:
    """A set with its members."""
    elements = ", ".join(members)
    return (
        f"    set {name} {{\n        type {kind}\n"
        + (f"        flags {flags}\n" if flags else "")
        + (f"        elements = {{ {elements} }}\n" if elements else "")
        + "    }\n"
    )


def _who_is_who(names: Names, ports: Iterable[Port]) -> str:
    """Which device may use which addresses."""
    elements = (port.element for port in ports)
    return _set("ports", "ifname . ether_addr . ipv4_addr", elements) + chains.on_the_bridge(names.prefix)


def _sets(policy: Policy, learned: Iterable[str]) -> str:
    return (
        _set("peers", PAIR, policy.peers)
        + _set("restricted", "ipv4_addr", policy.restricted)
        + _set("allowed", PAIR, policy.allowed, "interval")
        + _set("learned", PAIR, learned)
    )


def _runs(ports: Iterable[Port]) -> str:
    """Which mark each machine's connections bear: that of its present run."""
    present = list(ports)
    marks = ", ".join(port.mark for port in present)
    elements = f"        elements = {{ {marks} }}\n" if marks else ""
    return f"    map marks {{\n        type ipv4_addr : mark\n{elements}    }}\n" + _set(
        "current", "ipv4_addr . mark", (port.current for port in present)
    )


def permit(names: Names, policy: Policy) -> str:
    """Put a policy in force, but for what was learned. What is not allowed any more ends with it."""
    table = f"inet {names.table}"
    members = {"peers": policy.peers, "restricted": policy.restricted, "allowed": policy.allowed}
    script = "".join(f"flush set {table} {name}\n" for name in members)
    return script + "".join(
        f"add element {table} {name} {{ {', '.join(present)} }}\n" for name, present in members.items() if present
    )


def lone(entries: Iterable[str]) -> str:
    """For a namespace with nothing but one machine's QEMU in it: what it may reach; no entries: everything."""
    members = allowed_ranges(entries)
    table = "table inet boxd"
    clear = f"add {table}\ndelete {table}\n"
    if not members:
        return clear
    return (
        clear
        + f"{table} {{\n{_set('allowed', 'ipv4_addr', members, 'interval')}"
        + """
    chain output {
        type filter hook output priority filter; policy accept;
        oif lo accept
        ip daddr @allowed accept
        counter reject
    }
}
"""
    )


def learn(names: Names, pairs: Iterable[str]) -> str:
    """Let restricted machines reach these, too: "MACHINE . ADDRESS"."""
    elements = ", ".join(pairs)
    return f"add element inet {names.table} learned {{ {elements} }}\n" if elements else ""


def forget(names: Names, pairs: Iterable[str]) -> str:
    """The opposite of `learn`."""
    elements = ", ".join(pairs)
    return f"delete element inet {names.table} learned {{ {elements} }}\n" if elements else ""


def add(names: Names, port: Port, before: Port | None = None) -> str:
    """Let a device use its addresses. Connections of the run `before` it are not the machine's any more."""
    table = f"inet {names.table}"
    return (
        (retire(names, before) if before else "")
        + f"add element bridge {names.table} ports {{ {port.element} }}\n"
        + f"add element {table} marks {{ {port.mark} }}\n"
        + f"add element {table} current {{ {port.current} }}\n"
    )


def retire(names: Names, port: Port) -> str:
    """Connections of this run, which was added, are not its machine's any more."""
    table = f"inet {names.table}"
    return f"delete element {table} marks {{ {port.address} }}\ndelete element {table} current {{ {port.current} }}\n"


def drop(names: Names, port: Port) -> str:
    """A device may not use its addresses any more; harmless if it is not there."""
    element = f"element bridge {names.table} ports {{ {port.element} }}\n"
    return f"add {element}delete {element}"


def remove(names: Names) -> str:
    """Take everything away; harmless if there is nothing (a table is added so that it can be deleted)."""
    return "".join(
        f"add table {family} {names.table}\ndelete table {family} {names.table}\n" for family in ("bridge", "inet")
    )
