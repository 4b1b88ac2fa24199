"""Sizes and addresses."""

from __future__ import annotations

import pytest

from openboxd.control import sizes
from openboxd.errors import Exhausted, InvalidArgument
from openboxd.model import GIB, MIB, Size

HOST = 64 * GIB


@pytest.mark.parametrize(
    ("vcpu", "memory", "expected"),
    [
        (0, 0, Size(2, 8 * GIB)),
        (1, 0, Size(1, 4 * GIB)),
        (4, 0, Size(4, 16 * GIB)),
        (0, 32 * GIB, Size(8, 32 * GIB)),
        (0, 512 * MIB, Size(1, 512 * MIB)),
        (1, 512 * MIB, Size(1, 512 * MIB)),
        (2, 1 * GIB, Size(2, 1 * GIB)),
    ],
)
def test_one_dimension_fixes_the_other(vcpu: int, memory: int, expected: Size) -> None:
    assert sizes.choose_size(vcpu, memory, HOST) == expected


@pytest.mark.parametrize(("vcpu", "memory"), [(-1, GIB), (65, GIB), (1, 511 * MIB), (1, GIB + 1), (1, 65 * GIB)])
def test_unusable_sizes_are_refused_and_never_trimmed(vcpu: int, memory: int) -> None:
    with pytest.raises(InvalidArgument):
        sizes.choose_size(vcpu, memory, HOST)


def test_addresses_are_the_first_free_ones() -> None:
    assert sizes.choose_address(set()) == "10.213.0.10"
    assert sizes.choose_address({"10.213.0.10"}) == "10.213.0.11"
    first = {f"10.213.0.{n}" for n in range(10, 255)}
    assert sizes.choose_address(first) == "10.213.1.10"


def test_a_full_network_is_refused() -> None:
    everything = {str(host) for host in sizes.NETWORK.hosts()}
    with pytest.raises(Exhausted):
        sizes.choose_address(everything)


def test_macs_are_local() -> None:
    assert {sizes.new_mac()[:9] for _ in range(20)} == {"52:54:00:"}
