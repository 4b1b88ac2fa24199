"""Machines from a real guest's snapshot go on where it stood, as themselves, and need nothing else."""

from __future__ import annotations

import time

import pytest

from tests.guests.killed_daemon import IN_THE_PAUSE
from tests.guests.test_kills import kill_at
from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

MIB = 1024 * 1024

WHO = (
    "hostname; cat /etc/machine-id; sudo cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub; "
    "cat /sys/class/net/e*/address; od -An -N8 -tx8 /dev/urandom"
)
MARKS = "cat marker /dev/shm/marker; pgrep -f 'sleep 471[4]'; cat /proc/sys/kernel/random/boot_id"


def made(daemon: Daemon, name: str) -> None:
    """A machine from the snapshot, until its guest has run a command."""
    begun = time.monotonic()
    new = daemon.json("machine", "new", name, "--from-snapshot", "base", "--label", f"role={name}")
    assert (new["name"], new["status"], new["source"]) == (name, "running", "snapshot/base:v1")
    daemon.sh("true", name)
    print(f"{name}: boot {new['boot']}, first exec after {time.monotonic() - begun:.2f} s")


def test_machines_made_from_a_snapshot(daemon: Daemon) -> None:
    daemon.sh("nohup sleep 4714 >/dev/null 2>&1 & echo old | tee marker /dev/shm/marker")
    marks, who = daemon.sh(MARKS), daemon.sh(WHO).split()
    saved = daemon.json("snapshots", "save", GOLDEN, "base")
    assert (saved["version"], saved["status"], saved["machine"]) == (1, "ready", GOLDEN)
    print(f"save: {saved['duration_ms']} ms, pause {saved['pause_us']} us, {saved['size_bytes'] / MIB:.1f} MiB own")
    assert saved["shared_bytes"] > saved["size_bytes"] > 0, "it shares with the checkpoint that the machine came from"
    daemon.sh("echo new | tee marker /dev/shm/marker; pkill -f 'sleep 471[4]'")

    made(daemon, "copy")
    assert daemon.sh(MARKS, "copy") == marks, "files, memory, processes and boot are those of that moment"
    copy = daemon.sh(WHO, "copy").split()
    assert copy[0] == "copy" and not set(copy) & set(who), "and its names, keys, address and random numbers are not"
    assert abs(int(daemon.sh("date +%s", "copy")) - time.time()) < 5
    assert daemon.sh("cat marker /dev/shm/marker") == "new\nnew\n"

    daemon.boxd("machine", "remove", GOLDEN, "-y")
    made(daemon, "second")
    assert daemon.sh(MARKS, "second") == marks
    second = daemon.sh(WHO, "second").split()
    assert second[0] == "second" and not set(second) & set(copy)
    (listed,) = daemon.json("snapshots", "list")
    assert (listed["name"], listed["version"], listed["used"]) == ("base", "v1", "2")
    refused = daemon.boxd("image", "remove", "debian-13", "-y", check=False)
    assert refused.returncode == 1 and "snapshot 'base'" in refused.stderr

    daemon.boxd("snapshots", "remove", "base", "-y")
    assert not any((daemon.home / "pool/snapshots").iterdir()) and daemon.json("snapshots", "list") == []
    daemon.boxd("machine", "checkpoint", "save", "copy", "own")
    daemon.sh("echo newer > marker", "copy")
    daemon.boxd("machine", "checkpoint", "restore", "copy", "own", "-y")
    assert daemon.sh(MARKS, "copy") == marks, "what was made from it needs it no more"


def test_the_daemon_killed_while_a_snapshot_is_saved(daemon: Daemon) -> None:
    save = ("snapshots", "save", GOLDEN, "base")

    def versions() -> list[str]:
        assert list((daemon.home / "pool/staging").iterdir()) == []
        return sorted(path.name for path in (daemon.home / "pool/snapshots").glob("*/*"))

    kill_at(daemon, IN_THE_PAUSE, *save)
    daemon.start()
    assert daemon.sh("echo on") == "on\n"
    (found,) = daemon.json("snapshots", "list")
    assert (found["status"], found["failed_version"], versions()) == ("failed", 1, [])
    assert found["failure_reason"] == "the daemon ended during the save; the machine kept running"
    assert daemon.json(*save)["version"] == 1, "the name is free again"

    kill_at(daemon, "after publish", *save)
    daemon.start()
    (found,) = daemon.json("snapshots", "list")
    assert (found["status"], found["version"], found["failed_version"], versions()) == ("ready", "v1", 2, ["v1"])
    kill_at(daemon, "after ready", *save)
    daemon.start()
    (found,) = daemon.json("snapshots", "list")
    assert (found["status"], found["version"], versions()) == ("ready", "v2", ["v2"])
    assert daemon.sh("echo on") == "on\n"
