"""Other hardware for a real guest, the way back to the captured one, its console, and its timed end."""

from __future__ import annotations

import time

import pytest

from tests.lab import BOOTED, GOLDEN, Daemon

pytestmark = pytest.mark.guest

MIB = 1024 * 1024


def hardware(daemon: Daemon) -> tuple[int, int]:
    """vCPUs and MiB of RAM, as the guest sees them (the kernel keeps a part of the RAM to itself)."""
    vcpu, kib = daemon.sh("nproc; awk '/MemTotal/ {print $2}' /proc/meminfo").split()
    return int(vcpu), int(kib) // 1024


def test_resize_undo_console_and_timer(daemon: Daemon) -> None:
    vcpu, memory = hardware(daemon)
    assert vcpu == 1 and 900 < memory <= 1024
    before = daemon.boxd("machine", "logs", GOLDEN).stdout
    done = daemon.json("machine", "resize", GOLDEN, "--vcpu", 2, "--memory", "768M")
    assert done == {"name": GOLDEN, "vcpu": 2, "memory_bytes": 768 * MIB, "rebooted": True}
    vcpu, memory = hardware(daemon)
    assert vcpu == 2 and 600 < memory <= 768
    console = daemon.boxd("machine", "logs", GOLDEN).stdout
    assert console.startswith(before) and "Power down" in console[len(before) :], "it goes on over the reboot"

    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
    vcpu, memory = hardware(daemon)
    assert vcpu == 1 and 900 < memory <= 1024, "a checkpoint brings its size back"
    assert daemon.json("machine", "get", GOLDEN)["memory_bytes"] == 1024 * MIB

    daemon.boxd("machine", "config", "set", GOLDEN, "delete-after", 1)
    deadline = time.monotonic() + 30
    while daemon.json("machine", "list"):
        assert time.monotonic() < deadline, "the timer did not go off"
        time.sleep(0.1)
    assert daemon.qemus() == []
    assert not any((daemon.home / "pool/machines").iterdir())
