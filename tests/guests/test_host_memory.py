"""What a machine takes of the host's memory, and that captures of it do not make that more."""

from __future__ import annotations

from pathlib import Path

import pytest

from openboxd.model import GIB, MIB
from tests.host.resident import cached, mapped
from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

RAM = GIB
USED = 600 * MIB
"""Far more than the guest has ever used, and far less than its RAM."""


def taken(daemon: Daemon, image: Path) -> dict[str, int]:
    """Bytes: what every QEMU has of its guest's RAM, and what of the image is cached."""
    found = {f"QEMU {number}": mapped(pid, "memory.img").resident for number, pid in enumerate(daemon.qemus())}
    return {**found, "image": cached(image)}


def test_captures_leave_no_more_of_a_guest_in_memory_than_it_uses(daemon: Daemon) -> None:
    """The machine's RAM is mapped from its checkpoint, as that of every restored one and of every copy."""
    machine = daemon.json("machine", "get", GOLDEN)["id"]
    [image] = (daemon.home / "pool/machines" / machine / "checkpoints").glob("*/memory.img")
    assert image.stat().st_size == RAM
    daemon.sh("head -c 50M /dev/urandom >/dev/shm/memory; sha256sum /dev/shm/memory >sum")
    before = taken(daemon, image)
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "one")
    saved = taken(daemon, image)
    daemon.boxd("machine", "fork", GOLDEN, "twin")
    daemon.boxd("machine", "checkpoint", "save", "twin", "two")
    forked = taken(daemon, image)
    for when, found in (("before", before), ("saved", saved), ("forked, and the copy saved", forked)):
        print(f"{when}, MiB: { ({name: size >> 20 for name, size in found.items()}) }")
        assert max(found.values()) < USED, (when, found)
    assert len(forked) == len(saved) + 1
    assert daemon.json("machine", "get", GOLDEN)["resident_bytes"] < RAM  # what users are told: all of QEMU
    for name in (GOLDEN, "twin"):
        daemon.sh("sha256sum -c sum", name)
