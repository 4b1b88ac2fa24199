"""The chains of the bridge's rules for nft. Pure: text from names. Their sets are in `rules`."""

from __future__ import annotations

from openboxd.network.addresses import NETWORK, RESOLVER

NAMES_PORT = 53_053
"""Where machines that may not go everywhere ask for names; see `resolver`."""


def on_the_bridge(prefix: str) -> str:
    """Nothing is said in another's name, and nothing from port to port. `prefix` begins the names of our devices."""
    return f"""
    chain prerouting {{
        type filter hook prerouting priority -300; policy accept;
        iifname "{prefix}*" jump machine
    }}
    # The bridge keeps its ports apart by itself; this holds also while a port is joining.
    chain forward {{
        type filter hook forward priority -200; policy accept;
        iifname "{prefix}*" oifname "{prefix}*" counter drop
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


def to_the_host(bridge: str) -> str:
    """The host itself: machines only answer it, and those that may not go everywhere ask it for names."""
    return f"""
    chain input {{
        type filter hook input priority filter; policy accept;
        iifname "{bridge}" jump to_host
    }}
    chain to_host {{
        ct state established,related accept
        ip saddr @restricted ip daddr {RESOLVER} udp dport {NAMES_PORT} accept
        counter reject
    }}
"""


def through_the_host(bridge: str) -> str:
    """What passes from a machine to another one, and what comes in from outside."""
    return f"""
    chain forward {{
        type filter hook forward priority filter; policy accept;
        iifname "{bridge}" oifname "{bridge}" jump between
        iifname "{bridge}" jump from_machine
        oifname "{bridge}" jump to_machine
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
    # A guest that was restored goes on with connections of an earlier run, at a place where they no longer are: two
    # streams would become one. So they end, at both ends, and only what begins anew is marked with the present run.
    chain begin {{
        meta l4proto tcp ct state established,related reject with tcp reset
        tcp flags & (fin | syn | rst | ack) != syn reject with tcp reset
        ct mark set ip saddr map @marks
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
        oifname "{bridge}" icmp type redirect drop
    }}
"""


def outward(bridge: str) -> str:
    """What a machine may reach of the world."""
    return f"""
    chain from_machine {{
        # First, so that connections that stand end with the permission.
        ip saddr @restricted jump restricted
        ct state established,related ip saddr . ct mark @current accept
        jump begin
        jump outside
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
"""


def translation(bridge: str, resolver: str) -> str:
    """What machines say in the host's name, and whom they ask for names."""
    lookups = f'iifname "{bridge}" ip daddr {RESOLVER}'
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
        ip saddr {NETWORK} oifname != "{bridge}" masquerade
    }}
"""
