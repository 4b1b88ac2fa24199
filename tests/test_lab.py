"""What the tests themselves stand on."""

from __future__ import annotations

from tests.lab import free_port


def test_no_port_is_given_out_twice() -> None:
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == len(ports)
