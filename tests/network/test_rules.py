"""Texts and small decisions of the bridge."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from openboxd.control import sizes
from openboxd.network import rules
from openboxd.network.addresses import GATEWAY, GATEWAY_MAC, NETWORK, RESOLVER, host_resolver, kernel_words
from openboxd.network.tap import open_tap


def test_machines_are_given_addresses_of_this_network() -> None:
    assert sizes.NETWORK == NETWORK
    first = ipaddress.ip_address(sizes.choose_address(()))
    assert first in NETWORK
    assert str(first) not in (GATEWAY, RESOLVER)
    assert GATEWAY_MAC == "52:55:0a:d5:00:01"


def test_the_guest_is_told_its_address_on_the_command_line() -> None:
    words = kernel_words("10.213.0.10", RESOLVER)
    assert words == "ip=10.213.0.10::10.213.0.1:255.255.0.0::eth0:none nameserver=10.213.0.2"
    assert kernel_words("10.213.0.10", "") == "ip=10.213.0.10::10.213.0.1:255.255.0.0::eth0:none"
    with pytest.raises(ValueError, match="Unexpected"):
        kernel_words("10.213.0.10 init=/bin/sh", "")


def test_names_of_devices_fit() -> None:
    names = rules.names("0123abcd")
    assert len(names.bridge) <= 15
    assert names.tap("a" * 12) == "b0123aaaaaaaaaa"
    with pytest.raises(ValueError, match="cannot name"):
        open_tap("x" * 16)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nameserver 192.0.2.1\nnameserver 192.0.2.2\n", "192.0.2.1"),
        ("# none\nnameserver 127.0.0.53\n", ""),
        ("nameserver ::1\nnameserver 2001:db8::1\nnameserver 192.0.2.7\n", "192.0.2.7"),
        ("nameserver\nnameserver nonsense\nnameserver 0.0.0.0\nsearch x\n", ""),
        ("", ""),
    ],
)
def test_the_hosts_resolver(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text(text)
    assert host_resolver([tmp_path / "missing", file]) == expected


def test_the_first_file_counts(tmp_path: Path) -> None:
    real, stub = tmp_path / "real", tmp_path / "stub"
    real.write_text("nameserver 192.0.2.1\n")
    stub.write_text("nameserver 127.0.0.53\n")
    assert host_resolver([real, stub]) == "192.0.2.1"
    assert host_resolver([stub, real]) == ""
    assert host_resolver([tmp_path / "none"]) == ""
