"""What the tests themselves stand on."""

from __future__ import annotations

import random

import pytest

from tests import lab


def test_no_port_is_given_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so few that chance alone would give one again."""
    monkeypatch.setattr(lab.secrets, "randbelow", lambda _: random.randrange(100))
    ports = [lab.free_port() for _ in range(40)]  # each keeps a descriptor until this process ends
    assert len(set(ports)) == len(ports)
