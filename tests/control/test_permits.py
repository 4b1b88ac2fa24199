"""What may stand in a machine's networks and egress list."""

from __future__ import annotations

import pytest

from openboxd.control.permits import MAX_EGRESS, MAX_NETWORKS, check_egress, check_networks
from openboxd.errors import InvalidArgument


def test_networks_are_labels_each_once() -> None:
    assert check_networks(["db", "web", "db"]) == ("db", "web")
    assert check_networks([]) == ()
    for name in ("", "DB", "a b", "-a", "a-", "ü", "a.b", "a\n", "x" * 64, '"}'):
        with pytest.raises(InvalidArgument, match="is no network"):
            check_networks([name])
    with pytest.raises(InvalidArgument, match="at most 16 networks, not 17"):
        check_networks([f"n{number}" for number in range(MAX_NETWORKS + 1)])


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("example.com", "example.com"),
        ("Example.COM.", "example.com"),
        ("*.example.com", "*.example.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("_dmarc.example.com", "_dmarc.example.com"),
        ("1.1.1.1", "1.1.1.1"),
        ("1.1.1.1/32", "1.1.1.1"),
        ("203.0.113.0/24", "203.0.113.0/24"),
        ("192.168.1.0/24", "192.168.1.0/24"),  # the network that the host is in
    ],
)
def test_an_entry_is_a_name_or_a_range(entry: str, kept: str) -> None:
    assert check_egress([entry, entry]) == (kept,)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "localhost",
        "*",
        "*.com*",
        "a.*.com",
        "**.example.com",
        "https://example.com",
        "example.com:443",
        "example..com",
        "-a.example.com",
        "bücher.example",
        "example.com\n",
        "203.0.113.1/24",  # it is not clear what is meant
        "1.2.3",
        "1.2.3.4.5",
        "2001:db8::1",
        "} ; flush ruleset",
        "a" * 64 + ".example.com",
        ".".join(["abcdefgh"] * 29),
    ],
)
def test_everything_else_is_refused(entry: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot be in an egress list"):
        check_egress([entry])


@pytest.mark.parametrize(
    "entry", ["127.0.0.1", "10.213.0.1", "10.213.7.0/24", "169.254.169.254", "224.0.0.1", "0.0.0.0"]
)
def test_what_is_not_the_world_is_refused(entry: str) -> None:
    with pytest.raises(InvalidArgument, match="is no part of the world"):
        check_egress([entry])


def test_a_list_ends_somewhere() -> None:
    names = [f"host{number}.example.com" for number in range(MAX_EGRESS + 1)]
    assert len(check_egress(names[1:])) == MAX_EGRESS
    with pytest.raises(InvalidArgument, match="at most 256 entries, not 257"):
        check_egress(names)
