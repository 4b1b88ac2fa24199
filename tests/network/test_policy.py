"""Who may reach whom, and what of the world: the rule itself."""

from __future__ import annotations

import struct

import pytest

from openboxd.model import Machine
from openboxd.network.lookups import REFUSED, Malformed, addresses, question, refusal
from openboxd.network.policy import are_peers, matches, policy_for
from tests.contracts.rows import a_machine


def machine(number: int, **fields: object) -> Machine:
    return a_machine(id=f"m{number}", name=f"web{number}", address=f"10.213.0.{10 + number}", **fields)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ({}, {}, True),
        ({}, {"owner_id": "u_other"}, False),
        ({"networks": ("db",)}, {"networks": ("db", "web")}, True),
        ({"networks": ("db",)}, {"networks": ("web",)}, False),
        ({"networks": ("db",)}, {}, False),  # who names a network leaves the one of those without
        ({"networks": ("db",)}, {"networks": ("db",), "owner_id": "u_other"}, False),
        ({"isolated": True}, {}, False),
        ({"isolated": True}, {"isolated": True}, False),
        ({"isolated": True, "networks": ("db",)}, {"networks": ("db",)}, True),
        ({"org_id": "o"}, {"org_id": "o", "owner_id": "u_other"}, False),
        ({"org_id": "o", "shared": True}, {"org_id": "o", "owner_id": "u_other", "shared": True}, True),
        ({"org_id": "o", "shared": True}, {"org_id": "p", "shared": True}, False),
        ({"org_id": "o"}, {}, False),
    ],
)
def test_peers(one: dict[str, object], two: dict[str, object], expected: bool) -> None:
    first, second = machine(0, **one), machine(1, **two)
    assert are_peers(first, second) is are_peers(second, first) is expected
    assert policy_for([first, second]).peers == (
        ["10.213.0.10 . 10.213.0.11", "10.213.0.11 . 10.213.0.10"] if expected else []
    )


def test_an_egress_list_is_ranges_and_names() -> None:
    listed = ("203.0.113.0/24", "203.0.113.7", "1.1.1.1", "example.com", "*.example.org")
    policy = policy_for([machine(0, egress_allow=listed), machine(1)])
    assert policy.restricted == ["10.213.0.10"]
    assert policy.allowed == ["10.213.0.10 . 1.1.1.1/32", "10.213.0.10 . 203.0.113.0/24"]  # one lies in the other
    assert policy.names == {"10.213.0.10": {"example.com", "*.example.org"}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("example.com", True),
        ("www.example.com", False),
        ("a.example.org", True),
        ("a.b.example.org", True),
        ("example.org", False),
        ("badexample.org", False),
        ("", False),
    ],
)
def test_names_match_whole_or_below(name: str, expected: bool) -> None:
    assert matches(name, {"example.com", "*.example.org"}) is expected


def query(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def answer(asked: bytes, *found: tuple[int, bytes]) -> bytes:
    head = asked[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0)
    records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(data)) + data for kind, data in found)
    return head + asked[12:] + records


def test_questions_and_answers_are_understood() -> None:
    asked = query("WWW.Example.com")
    assert question(asked) == "www.example.com"
    told = answer(
        asked, (5, b"\x03cdn\xc0\x10"), (1, bytes([192, 0, 2, 1])), (28, bytes(16)), (1, bytes([192, 0, 2, 2]))
    )
    assert addresses(told) == ["192.0.2.1", "192.0.2.2"]
    assert addresses(answer(asked)) == []
    refused = refusal(asked, REFUSED)
    assert (refused[:2], refused[3] & 15, refused[2] & 0x80, refused[12:]) == (asked[:2], REFUSED, 0x80, asked[12:])
    with pytest.raises(Malformed):
        question(told)


def test_rubbish_is_no_message() -> None:
    whole = answer(query("a.example.com"), (1, bytes(4)), (1, bytes(4)))
    for end in range(len(whole)):
        with pytest.raises(Malformed):
            addresses(whole[:end])
    asked = query("a.example.com")
    for end in range(len(asked)):
        with pytest.raises(Malformed):
            question(asked[:end])
    with pytest.raises(Malformed):
        question(asked[:12] + (bytes([63]) + b"x" * 63) * 8)  # longer than any name
    assert question(asked[:12] + b"\xc0\x0c" * 8) == ""  # a name that stands for itself is none
