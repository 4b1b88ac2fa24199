"""The bridge's rules for nft. Pure: text from data.

Both tables are ours alone and made as a whole in one transaction, so that nothing of the user's firewall is touched,
and at no time a part of the rules is in force.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from openboxd.network.addresses import NETWORK, RESOLVER
from openboxd.network.policy import NOTHING, Policy, allowed_ranges

NAMES_PORT = 53_053
"""Where machines that may not go everywhere ask for names; see `resolver`."""

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
        + f"{_input(names)}{_forward(names)}{_nat(names, resolver)}}}\n"
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
    return (
        _set("ports", "ifname . ether_addr . ipv4_addr", (port.element for port in ports))
        + f"""
    chain prerouting {{
        type filter hook prerouting priority -300; policy accept;
        iifname "{names.prefix}*" jump machine
    }}
    # The bridge keeps its ports apart by itself; this holds also while a port is joining.
    chain forward {{
        type filter hook forward priority -200; policy accept;
        iifname "{names.prefix}*" oifname "{names.prefix}*" counter drop
    }}
    chain arp_sender {{
        iifname . arp saddr ether . arp saddr ip @ports accept
        counter drop
    }}
    chain machine {{
        ether type ip iifname . ether saddr . ip saddr @ports accept
        ether type arp iifname . ether saddr . arp saddr ip @ports jump arp_sender
        counter drop
    }}
"""
    )


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


def _input(names: Names) -> str:
    """The host itself: machines only answer it, and those that may not go everywhere ask it for names."""
    return f"""
    chain input {{
        type filter hook input priority filter; policy accept;
        iifname "{names.bridge}" jump to_host
    }}
    chain to_host {{
        ct state established,related accept
        ip saddr @restricted ip daddr {RESOLVER} udp dport {NAMES_PORT} accept
        counter reject
    }}
"""


def _forward(names: Names) -> str:
    return f"""
    chain forward {{
        type filter hook forward priority filter; policy accept;
        iifname "{names.bridge}" oifname "{names.bridge}" jump between
        iifname "{names.bridge}" jump from_machine
        oifname "{names.bridge}" jump to_machine
    }}
    # By way of the host, as the bridge keeps its ports apart: what is said in another's name has been dropped there.
    chain between {{
        ip saddr . ip daddr @peers jump peers
        counter reject
    }}
    chain peers {{
        ct state established,related ip saddr . ct mark @current accept
        ct state established,related ip daddr . ct mark @current accept
        jump begin
        accept
    }}
    chain from_machine {{
        # First, so that connections that stand end with the permission.
        ip saddr @restricted jump restricted
        ct state established,related ip saddr . ct mark @current accept
        jump begin
        jump outside
    }}
    # A guest that was restored goes on with connections of an earlier run, at a place where they no longer are: two
    # streams would become one. So they end, at both ends, and only what begins anew is marked with the present run.
    chain begin {{
        meta l4proto tcp ct state established,related reject with tcp reset
        tcp flags & (fin | syn | rst | ack) != syn reject with tcp reset
        ct mark set ip saddr map @marks
    }}
    chain restricted {{
        ip saddr . ip daddr @allowed return
        ip saddr . ip daddr @learned return
        counter reject
    }}
    chain outside {{
        # Other machines; and what a cloud tells its hosts about themselves, credentials included.
        ip daddr {{ {NETWORK}, 169.254.0.0/16, 127.0.0.0/8 }} counter reject
        meta nfproto ipv4 accept
        counter drop
    }}
    chain to_machine {{
        ct state established,related ip daddr . ct mark @current accept
        meta l4proto tcp reject with tcp reset
        ct state established,related accept
        counter reject
    }}
    # That machines could do without us is not so.
    chain output {{
        type filter hook output priority filter; policy accept;
        oifname "{names.bridge}" icmp type redirect drop
    }}
"""


def _nat(names: Names, resolver: str) -> str:
    lookups = f'iifname "{names.bridge}" ip daddr {RESOLVER}'
    resolving = f"""
    chain prerouting {{
        type nat hook prerouting priority dstnat; policy accept;
        {lookups} ip saddr @restricted udp dport 53 dnat ip to {RESOLVER}:{NAMES_PORT}
        {lookups} meta l4proto {{ tcp, udp }} th dport 53 dnat ip to {resolver}
    }}
"""
    return f"""{resolving if resolver else ""}
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr {NETWORK} oifname != "{names.bridge}" masquerade
    }}
"""


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
