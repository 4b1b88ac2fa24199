"""The real daemon killed by SIGKILL at the steps of its operations, on a real guest: the next one puts it in order.

The loop over fakes (tests/worker/test_faults.py) kills at every step; here those are chosen at which something real
differs: a process, a file in the pool, a name on disk, a row.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openboxd import settings
from openboxd.qemu.rundir import RunDir, is_run_id
from openboxd.qemu.saving import savers_of
from tests.guests import keeping
from tests.guests.killed_daemon import IN_THE_PAUSE
from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

CHECKPOINT = ("machine", "checkpoint")

# operation: (its command, where the daemon is killed, which checkpoints may be there afterwards)
SAVE = (
    (*CHECKPOINT, "save", GOLDEN, "new"),
    ["before stage", IN_THE_PAUSE, "after capture", "before publish", "after publish", "after ready"],
)
RESTORE = (
    (*CHECKPOINT, "restore", GOLDEN, "good", "-y"),
    ["before clone", "after clone", "after load", "before swap", "after swap", "after resume", "after answer"],
)
REMOVE = ((*CHECKPOINT, "remove", GOLDEN, "new", "-y"), ["before discard", "after discard", "after forget"])
STOP = (("machine", "stop", GOLDEN), ["before shut down", "after shut down", "after end"])
START = (("machine", "start", GOLDEN), ["before launch", "after launch", "after connect"])


GOES_ON = 30.0
"""Seconds; it is one on a host that has time (the figure is printed), and these tests share theirs with others."""


def kill_at(daemon: Daemon, point: str, *command: str) -> float:
    """Run a command against a daemon that dies at `point`; when it died (of time.monotonic)."""
    daemon.end()
    daemon.program = [sys.executable, "-m", "tests.guests.killed_daemon", point]
    daemon.start()
    daemon.program = None
    caller = subprocess.Popen(
        [Path(sys.executable).with_name("boxd"), *command],
        env=daemon.env | {"BOXD_BASE_URL": daemon.url, "BOXD_API_KEY": daemon.key},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert daemon.process is not None
    daemon.process.wait(60)
    died = time.monotonic()
    assert daemon.process.returncode == -9, f"it did not die at '{point}' but ended: {daemon.log[-1000:]}"
    daemon.process = None
    _, error = caller.communicate(timeout=60)
    if caller.returncode:  # a command whose daemon vanished says so; one that had its answer already is done
        assert error.splitlines()[-1].startswith(b"error: "), error  # before it, how long this takes
    return died


def in_order(daemon: Daemon, point: str) -> list[str]:
    """What must hold after any kill and the next start; the names of the checkpoints."""
    machine = daemon.json("machine", "get", GOLDEN)
    assert machine["status"] in ("running", "stopped"), (point, machine)
    assert len(daemon.qemus()) == (1 if machine["status"] == "running" else 0), point
    assert list((daemon.home / "pool/staging").iterdir()) == [], point
    assert list((daemon.home / "pool/machines").glob("*/disk.next")) == [], point
    run_dir = settings.load(daemon.home, environ=daemon.env).run_dir
    runs = [path for path in run_dir.iterdir() if is_run_id(path.name)]
    assert len(runs) == len(daemon.qemus()), (point, runs)
    assert all(not savers_of(RunDir(path)) for path in runs), point
    found = {c["name"]: c["status"] for c in daemon.json(*CHECKPOINT, "list", GOLDEN)}
    assert set(found.values()) <= {"ready", "failed"}, (point, found)
    ready = sorted(name for name, status in found.items() if status == "ready")
    verdicts = {each["checkpoint"]: each["verdict"] for each in daemon.json(*CHECKPOINT, "verify", GOLDEN)}
    assert sorted(verdicts) == ready and set(verdicts.values()) == {"ok"}, (point, verdicts)
    directories = list((daemon.home / "pool/machines").glob("*/checkpoints/*"))
    assert len(directories) == len(ready), (point, "a checkpoint is there exactly if its directory is")
    return ready


def prepared(daemon: Daemon) -> str:
    """A pattern in memory, of which checkpoint `good` is; its digest."""
    digest = keeping.start(daemon, pages=64)["digest"]
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "good")
    assert isinstance(digest, str)
    return digest


@pytest.mark.parametrize("point", SAVE[1])
def test_a_save(daemon: Daemon, point: str) -> None:
    digest = prepared(daemon)
    kill_at(daemon, point, *SAVE[0])
    began = time.monotonic()
    daemon.start()
    assert keeping.state(daemon)["digest"] == digest
    print(f"{point}: the guest answers {time.monotonic() - began:.2f} s after the next start")
    ready = in_order(daemon, point)
    assert ("new" in ready) == (point == "after ready")
    if "new" not in ready:
        daemon.boxd(*CHECKPOINT, "save", GOLDEN, "new")
    daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "new", "-y")
    assert keeping.state(daemon)["digest"] == digest


def test_the_guest_goes_on_if_the_daemon_dies_in_the_pause(daemon: Daemon) -> None:
    """By what the guest itself writes: twenty lines a second on its console."""
    prepared(daemon)
    console = next((daemon.home / "pool/machines").glob("*/console.log"))
    daemon.sh("sudo sh -c 'setsid sh -c \"while :; do echo beat > /dev/ttyS0; sleep 0.05; done\" >/dev/null 2>&1 &'")
    grew: list[float] = []
    with watched(console, grew):
        died = kill_at(daemon, IN_THE_PAUSE, *SAVE[0])
        until_heard = time.monotonic() + 60
        while len(heard := [moment for moment in list(grew) if moment > died]) < 2:
            assert time.monotonic() < until_heard, "the guest stands still"
            time.sleep(0.01)
    took = heard[1] - died  # the first may have been written before the pause, and seen late
    print(f"the guest was heard {1000 * took:.0f} ms after the daemon had died")
    assert took < GOES_ON
    daemon.start()
    assert daemon.sh("echo on") == "on\n"


@contextlib.contextmanager
def watched(file: Path, grew: list[float]) -> Iterator[None]:
    """Note the moments (of time.monotonic) at which a file is found longer, every 5 ms."""
    over = threading.Event()

    def watch() -> None:
        seen = file.stat().st_size
        while not over.wait(0.005):
            if (size := file.stat().st_size) != seen:
                seen = size
                grew.append(time.monotonic())

    with ThreadPoolExecutor(1) as threads:
        threads.submit(watch)
        try:
            yield
        finally:
            over.set()


@pytest.mark.parametrize("point", RESTORE[1])
def test_a_restore(daemon: Daemon, point: str) -> None:
    digest = prepared(daemon)
    daemon.sh("echo later > later; sync")
    kill_at(daemon, point, *RESTORE[0])
    daemon.start()
    in_order(daemon, point)
    restored = daemon.sh("ls").split() == ["pattern.py"]
    assert restored == (point not in ("before clone", "after clone", "after load")), point
    assert keeping.state(daemon)["digest"] == digest
    daemon.boxd(*RESTORE[0])
    assert keeping.state(daemon)["digest"] == digest


def test_a_removal(daemon: Daemon) -> None:
    prepared(daemon)
    for point in REMOVE[1]:
        daemon.boxd(*CHECKPOINT, "save", GOLDEN, "new")
        kill_at(daemon, point, *REMOVE[0])
        daemon.start()
        assert "new" not in in_order(daemon, point), "a removal that was begun is finished"
    assert daemon.sh("echo on") == "on\n"


def test_a_stop_and_a_start(daemon: Daemon) -> None:
    for operation, points in (STOP, START):
        for point in points:
            kill_at(daemon, point, *operation)
            daemon.start()
            in_order(daemon, point)
            if operation is STOP[0]:
                daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "booted", "-y")
            else:
                daemon.boxd("machine", "stop", GOLDEN)
        daemon.boxd("machine", "stop", GOLDEN)
    daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "booted", "-y")
    assert daemon.sh("echo on") == "on\n"
