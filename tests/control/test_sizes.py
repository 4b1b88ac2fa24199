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


@pytest.mark.parametrize(
    ("vcpu", "memory", "host", "words"),
    [
        (0, 1024 * GIB, HOST, "1048576 MiB of memory were asked for and this host has 65536 MiB"),
        (64, 0, HOST, "64 vCPUs come with 262144 MiB of memory unless that is named too and this host has"),
        (0, 0, 4 * GIB, "2 vCPUs come with 8192 MiB of memory"),
        (65, 0, HOST, "65 were asked for"),
    ],
)
def test_a_refusal_is_about_what_was_named(vcpu: int, memory: int, host: int, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        sizes.choose_size(vcpu, memory, host)


def test_much_memory_alone_brings_no_more_vcpus_than_there_can_be() -> None:
    assert sizes.choose_size(0, 512 * GIB, 1024 * GIB) == Size(64, 512 * GIB)


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
