"""No room for real: a guest that fills the pool, saves and restores on a full one."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openboxd.errors import BoxdError
from tests.guests import keeping
from tests.guests.direct import direct, save, sh
from tests.lab import BOOTED, GOLDEN, Daemon

pytestmark = pytest.mark.guest

CHECKPOINT = ("machine", "checkpoint")
MIB = 1 << 20


def free(daemon: Daemon) -> int:
    space = os.statvfs(daemon.home)
    return space.f_bavail * space.f_frsize


@contextlib.contextmanager
def filled(daemon: Daemon, leave: int) -> Iterator[Path]:
    """All of the filesystem taken but `leave` bytes, in ever smaller pieces: its own bookkeeping takes some, too."""
    filler, size = daemon.home / "filler", 0
    with filler.open("wb") as file:
        for piece in (1024 * MIB, 32 * MIB, MIB, 4096):
            with contextlib.suppress(OSError):
                while free(daemon) - leave >= piece:
                    os.posix_fallocate(file.fileno(), size, piece)
                    size += piece
    try:
        yield filler
    finally:
        filler.unlink(missing_ok=True)


def until(what: str, condition, limit: float = 60) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < limit, f"not within {limit} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - began


def reason(daemon: Daemon) -> str:
    return str(daemon.json("machine", "get", GOLDEN)["status_reason"])


async def outcome(work: Awaitable[object]) -> BoxdError | None:
    try:
        await work
    except BoxdError as error:
        return error
    return None


def assert_no_fault(daemon: Daemon) -> None:
    """The guest's kernel has seen no error of its disk."""
    kernel = daemon.sh("sudo dmesg")
    assert "I/O error" not in kernel and "EXT4-fs error" not in kernel, kernel


def test_a_guest_that_fills_the_pool_sees_no_error_and_goes_on(daemon: Daemon) -> None:
    daemon.sh("sudo dmesg -C")
    with filled(daemon, 40 * MIB) as filler:
        line = "head -c 200000000 /dev/urandom > big; sync; sha256sum big > sum; echo done > finished"
        daemon.sh(f"setsid sh -c '{line}' >/dev/null 2>&1 </dev/null &")
        until("the guest stands still", lambda: "pool is full" in reason(daemon))
        machine = daemon.json("machine", "get", GOLDEN)
        assert machine["status"] == "running"
        refused = daemon.boxd(*CHECKPOINT, "save", GOLDEN, "a", check=False)
        assert refused.returncode == 1 and "free" in refused.stderr, refused
        daemon.restart()
        until("a new daemon sees it too", lambda: "pool is full" in reason(daemon))
        filler.unlink()
        took = until("the guest goes on", lambda: reason(daemon) == "")
    print(f"went on {took:.1f} s after there was room")
    until(
        "its write is done",
        lambda: daemon.boxd("machine", "exec", GOLDEN, "--", "cat", "finished", check=False).stdout,
    )
    daemon.sh("sha256sum -c --quiet sum")
    daemon.sh("sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sha256sum -c --quiet sum")
    assert_no_fault(daemon)
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "a")
    operations = [event["operation"] for event in daemon.json("machine", "events", GOLDEN)]
    assert "stalled" in operations and operations[-1] == "save"


def leave(daemon: Daemon, rest: Path, size: int) -> None:
    """Let file `rest` take what is free but `size` bytes."""
    with contextlib.suppress(OSError), rest.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free(daemon) - size)


def take_rest(daemon: Daemon, rest: Path) -> None:
    """Once a save was let in and has its directory, which is before its saver has begun: leave it 2 MiB."""
    staging = daemon.home / "pool/staging"
    until("the save has begun", lambda: list(staging.iterdir()))
    leave(daemon, rest, 2 * MIB)


def test_a_pool_that_fills_up_during_a_save_and_at_a_restore(daemon: Daemon) -> None:
    daemon.sh("sudo dmesg -C")
    digest = keeping.start(daemon, pages=32768)["digest"]
    before = free(daemon)
    with filled(daemon, 1600 * MIB):
        rest = daemon.home / "rest"
        with ThreadPoolExecutor(1) as threads:
            taken = threads.submit(take_rest, daemon, rest)
            daemon.boxd(*CHECKPOINT, "save", GOLDEN, "a", "--no-wait")
            taken.result(60)
        until(
            "the save has ended",
            lambda: all(c["status"] != "pending" for c in daemon.json(*CHECKPOINT, "list", GOLDEN)),
        )
        listed = {c["name"]: c for c in daemon.json(*CHECKPOINT, "list", GOLDEN)}
        print("the save ended:", listed["a"]["status"], listed["a"]["failure_reason"])
        assert listed["a"]["status"] == "failed", "128 MiB of new memory do not fit into 2 MiB"
        assert "space" in listed["a"]["failure_reason"] or "full" in listed["a"]["failure_reason"]
        assert list((daemon.home / "pool/staging").iterdir()) == []
        rest.unlink(missing_ok=True)
        until("the guest goes on, if it had something to write", lambda: reason(daemon) == "")
        assert keeping.state(daemon)["digest"] == digest
        assert_no_fault(daemon)
        leave(daemon, rest, 2 * MIB)
        back = daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "booted", "-y", check=False)
        print("the restore on a full pool:", back.returncode, back.stderr.strip())
        if back.returncode:
            assert back.stderr.startswith("error: ") and ("space" in back.stderr or "free" in back.stderr), back
        assert daemon.json("machine", "get", GOLDEN)["status"] == "running"
        rest.unlink(missing_ok=True)
    # XFS gives the blocks of unlinked files back a moment later.
    until("nothing half-made keeps its space", lambda: free(daemon) > before - 200 * MIB)
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "next")
    assert {v["checkpoint"]: v["verdict"] for v in daemon.json(*CHECKPOINT, "verify", GOLDEN)}["next"] == "ok"
    daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "next", "-y")
    assert daemon.sh("echo on") == "on\n"
    assert_no_fault(daemon)


def test_a_real_checkpoint_that_rots_is_found_and_told(daemon: Daemon) -> None:
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "a")
    (directory,) = [
        path.parent
        for path in (daemon.home / "pool/machines").glob("*/checkpoints/*/manifest.json")
        if '"name": "a"' in path.read_text()
    ]
    began = time.monotonic()
    (whole,) = daemon.json(*CHECKPOINT, "verify", GOLDEN, "a")
    print(f"{whole['checked_bytes'] / MIB:.0f} MiB read in {time.monotonic() - began:.2f} s")
    assert whole["verdict"] == "ok"
    for name in ("memory.img", "disk.raw"):
        with (directory / name).open("r+b") as file:
            start = os.lseek(file.fileno(), 64 * MIB, os.SEEK_DATA)
            file.seek(start)
            old = file.read(1)
            file.seek(start)
            file.write(bytes([old[0] ^ 1]))
        done = daemon.boxd("--json", *CHECKPOINT, "verify", GOLDEN, "a", check=False)
        assert done.returncode == 1
        damages = json.loads(done.stdout)[0]["damages"]
        assert [(d["file"], d["start"] <= start < d["end"]) for d in damages] == [(name, True)]
        with (directory / name).open("r+b") as file:
            file.seek(start)
            file.write(old)
    assert daemon.json(*CHECKPOINT, "verify", GOLDEN, "a")[0]["verdict"] == "ok"


async def test_a_home_without_a_free_byte(daemon: Daemon) -> None:
    """The store's own writes find no room: each is made or refused in words, and what was acknowledged holds."""
    said: dict[str, str] = {}
    async with direct(daemon) as client:
        await sh(client, "sudo dmesg -C >/dev/null; echo kept > kept; sync")
        with filled(daemon, 0):
            for number in range(300):
                try:
                    said = await client.update_labels(GOLDEN, {f"k{number % 20}": "x" * 60 + str(number)}, ())
                except BoxdError as error:
                    print(f"after {number} writes: {error}")
                    assert "full" in str(error) or "space" in str(error), error
                    break
            refused = await outcome(client.save(GOLDEN, "a"))
            assert refused is not None and "free" in str(refused), refused
            print("restore:", await outcome(client.restore(GOLDEN, BOOTED)))
            assert (await client.machine(GOLDEN)).status == "running"
            assert [c.name for c in await client.checkpoints(GOLDEN)] == [BOOTED]
            daemon.restart()
    until("it answers", lambda: daemon.boxd("machine", "exec", GOLDEN, "--", "true", check=False).returncode == 0)
    async with direct(daemon) as client:
        machine = await client.machine(GOLDEN)
        assert machine.status == "running" and dict(machine.labels) == said
        assert_no_fault(daemon)
        assert list((daemon.home / "pool/staging").iterdir()) == []
        assert await save(client, "a") == "ready"
        await client.restore(GOLDEN, "a")
        await client.update_labels(GOLDEN, {"k": "v"}, ())
