"""Machines and the daemon's life: it may end, be killed, or find a machine that died meanwhile."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import threading
import time

import pytest

from tests.guests import keeping
from tests.lab import BOOTED, GOLDEN, RUN_ROOT, Daemon, tree

pytestmark = pytest.mark.guest


def status(daemon: Daemon) -> str:
    return str(daemon.json("machine", "get", GOLDEN)["status"])


def until_status(daemon: Daemon, wanted: str, limit: float = 30.0) -> None:
    deadline = time.monotonic() + limit
    while (now := status(daemon)) != wanted:
        assert time.monotonic() < deadline, f"the machine is {now}, not {wanted}"
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_machine_runs_on_while_the_daemon_is_away(daemon: Daemon, number: signal.Signals) -> None:
    first = keeping.start(daemon, pages=64)
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "a")
    listed = daemon.json("machine", "checkpoint", "list", GOLDEN)
    (pid,) = daemon.qemus()
    daemon.end(number)
    assert daemon.qemus() == [pid]
    daemon.start()
    assert daemon.qemus() == [pid]
    again = keeping.state(daemon)
    assert again["pid"] == first["pid"] and again["counter"] > first["counter"]
    assert daemon.json("machine", "checkpoint", "list", GOLDEN) == listed
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "b")
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "a", "-y")
    assert keeping.state(daemon)["digest"] == first["digest"]
    daemon.boxd("machine", "stop", GOLDEN)
    assert daemon.qemus() == []


def test_a_killed_qemu_is_shown_failed_and_a_restore_brings_it_back(daemon: Daemon) -> None:
    first = keeping.start(daemon, pages=64)
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "a")
    (pid,) = daemon.qemus()
    os.kill(pid, signal.SIGKILL)
    until_status(daemon, "failed")
    refused = daemon.boxd("machine", "checkpoint", "save", GOLDEN, "b", check=False)
    assert refused.returncode == 1
    assert refused.stderr == f"error: machine '{GOLDEN}' must be running to save a checkpoint; it is failed\n"
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "a", "-y")
    assert keeping.state(daemon)["digest"] == first["digest"]


def test_a_qemu_that_died_while_the_daemon_was_away_is_found_failed(daemon: Daemon) -> None:
    daemon.end()
    for pid in daemon.qemus():
        os.kill(pid, signal.SIGKILL)
    daemon.start()
    assert status(daemon) == "failed"
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
    assert daemon.sh("echo back") == "back\n"


def test_a_guest_that_powers_itself_off_is_stopped(daemon: Daemon) -> None:
    daemon.boxd("machine", "exec", GOLDEN, "--", "sudo", "systemctl", "poweroff", check=False)
    until_status(daemon, "stopped", limit=60)
    assert daemon.qemus() == []


@pytest.mark.parametrize("delay", [0.3, 0.9])
@pytest.mark.parametrize("operation", ["save", "restore"])
def test_the_daemon_killed_in_the_middle(daemon: Daemon, operation: str, delay: float) -> None:
    first = keeping.start(daemon, pages=64)
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "good")
    arguments = {"save": ["save", GOLDEN, "new"], "restore": ["restore", GOLDEN, "good", "-y"]}[operation]
    caller = threading.Thread(target=daemon.boxd, args=("machine", "checkpoint", *arguments), kwargs={"check": False})
    caller.start()
    time.sleep(delay)  # the moment is arbitrary on purpose: whatever it hits must end well
    daemon.end(signal.SIGKILL)
    caller.join()
    daemon.start()
    until_status(daemon, "running")
    assert len(daemon.qemus()) == 1
    assert all(c["status"] != "pending" for c in daemon.json("machine", "checkpoint", "list", GOLDEN))
    assert keeping.state(daemon)["digest"] == first["digest"]
    assert list((daemon.home / "pool/staging").iterdir()) == []
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "after")
    for name in ("after", "good"):
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, name, "-y")
        assert keeping.state(daemon)["digest"] == first["digest"]


def test_qemu_killed_in_the_middle_of_a_save(daemon: Daemon) -> None:
    (pid,) = daemon.qemus()
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "new", "--no-wait")
    os.kill(pid, signal.SIGKILL)
    until_status(daemon, "failed")
    statuses = {c["name"]: c["status"] for c in daemon.json("machine", "checkpoint", "list", GOLDEN)}
    assert statuses[BOOTED] == "ready" and statuses.get("new") in ("failed", "ready")
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
    assert daemon.sh("echo back") == "back\n"


def test_everything_is_private(daemon: Daemon) -> None:
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "a")
    run_dir = next(path for path in RUN_ROOT.iterdir() if list(path.iterdir()))
    for root in (daemon.home, run_dir):
        for path, found in [(root, root.lstat()), *tree(root)]:
            if not stat.S_ISLNK(found.st_mode):
                assert not found.st_mode & 0o077, f"{path.relative_to(root)} is {stat.filemode(found.st_mode)}"
    shown = subprocess.run(["ps", "auxww"], capture_output=True, text=True, check=True).stdout
    assert daemon.key not in shown
    assert daemon.key not in daemon.log
