"""Bad input on a real machine: a clear sentence, the promised exit status, and nothing changed."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from tests.lab import BOOTED, GOLDEN, Daemon

pytestmark = pytest.mark.guest

CHECKPOINT = ("machine", "checkpoint")
NAME_RULE = "a checkpoint name has 1 to 63 characters of a-z 0-9 . _ - and starts and ends with a letter or digit"
BAD_NAMES = ["..", "../x", "a b", "x" * 64, "a/b", "A", "é", ".a", "a\nb"]


def tree(daemon: Daemon) -> str:
    """A digest of the names in the pool."""
    names = sorted(str(path.relative_to(daemon.home)) for path in (daemon.home / "pool").rglob("*"))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def refused(daemon: Daemon, status: int, *arguments: object) -> str:
    """The sentence of a refusal that left no trace."""
    before = tree(daemon)
    began = time.monotonic()
    done = daemon.boxd(*arguments, check=False)
    print(f"{arguments}: {done.stderr.strip()} ({1000 * (time.monotonic() - began):.0f} ms)")
    assert done.returncode == status, done
    assert done.stdout == "" and done.stderr.startswith("error: ")
    assert tree(daemon) == before
    return done.stderr.removeprefix("error: ").rstrip("\n")


def test_unknown_things(daemon: Daemon) -> None:
    for arguments in (
        ("machine", "get", "nobody"),
        ("machine", "stop", "nobody"),
        ("machine", "remove", "nobody", "-y"),
        (*CHECKPOINT, "save", "nobody", "a"),
        (*CHECKPOINT, "list", "nobody"),
        (*CHECKPOINT, "restore", "nobody", "a", "-y"),
        (*CHECKPOINT, "remove", "nobody", "a", "-y"),
    ):
        assert refused(daemon, 1, *arguments) == "VM 'nobody' not found"
    for verb in ("restore", "remove"):
        sentence = refused(daemon, 1, *CHECKPOINT, verb, GOLDEN, "nothing", "-y")
        assert sentence.splitlines() == [
            f"checkpoint 'nothing' not found on machine '{GOLDEN}'",
            f"hint: 'boxd machine checkpoint list {GOLDEN}' shows what there is",
        ]
    assert refused(daemon, 125, "machine", "exec", "nobody", "--", "true") == "VM 'nobody' not found"


@pytest.mark.parametrize("verb", ["save", "restore", "remove"])
def test_bad_checkpoint_names_are_refused_by_every_verb(daemon: Daemon, verb: str) -> None:
    yes = [] if verb == "save" else ["-y"]
    for name in BAD_NAMES:
        assert refused(daemon, 1, *CHECKPOINT, verb, *yes, GOLDEN, "--", name) == NAME_RULE
    assert daemon.boxd(*CHECKPOINT, verb, *yes, GOLDEN, "-dash", check=False).returncode == 2
    assert refused(daemon, 1, *CHECKPOINT, verb, *yes, GOLDEN, "--", "-dash") == NAME_RULE


def test_bad_machine_names(daemon: Daemon) -> None:
    for name in ("..", "a b", "x" * 41, "A", "app", "a.b"):
        refused(daemon, 1, "machine", "new", "--", name)
    assert "exists already" in refused(daemon, 1, "machine", "new", GOLDEN)
    assert [m["name"] for m in daemon.json("machine", "list")] == [GOLDEN]


def test_duplicates_and_the_limit(daemon: Daemon) -> None:
    sentence = refused(daemon, 1, *CHECKPOINT, "save", GOLDEN, BOOTED)
    assert sentence == f"machine '{GOLDEN}' already has a checkpoint '{BOOTED}'; it was not changed"
    for number in range(2, 11):
        daemon.boxd(*CHECKPOINT, "save", GOLDEN, f"c{number}")
    assert refused(daemon, 1, *CHECKPOINT, "save", GOLDEN, "c11") == (
        f"machine '{GOLDEN}' has 10 of 10 checkpoints; remove one first (the oldest is '{BOOTED}')"
    )
    daemon.boxd(*CHECKPOINT, "remove", GOLDEN, "c5", "-y")
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "c11")
    daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "c11", "-y")
    assert daemon.sh("echo fine") == "fine\n"


def test_a_stopped_machine_is_not_saved(daemon: Daemon) -> None:
    daemon.boxd("machine", "stop", GOLDEN)
    sentence = refused(daemon, 1, *CHECKPOINT, "save", GOLDEN, "a")
    assert sentence == f"machine '{GOLDEN}' must be running to save a checkpoint; it is stopped"
    assert refused(daemon, 125, "machine", "exec", GOLDEN, "--", "true") == (
        f"machine '{GOLDEN}' is stopped; start it first"
    )


def test_without_a_terminal_nothing_is_done(daemon: Daemon) -> None:
    for arguments in (
        (*CHECKPOINT, "restore", GOLDEN, BOOTED),
        (*CHECKPOINT, "remove", GOLDEN, BOOTED),
        ("machine", "remove", GOLDEN),
    ):
        assert "-y" in refused(daemon, 2, *arguments)
    assert daemon.json("machine", "get", GOLDEN)["status"] == "running"


def test_a_damaged_checkpoint_is_refused_before_anything_is_touched(daemon: Daemon) -> None:
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "a")
    (directory,) = [
        path
        for path in (daemon.home / "pool/machines").glob("*/checkpoints/*")
        if '"name": "a"' in (path / "manifest.json").read_text()
    ]
    marker = daemon.sh("cat /proc/sys/kernel/random/boot_id")
    for name in ("manifest.json", "devices.state", "memory.img", "disk.raw"):
        kept: Path = directory / f"{name}.kept"
        (directory / name).rename(kept)
        refused(daemon, 1, *CHECKPOINT, "restore", GOLDEN, "a", "-y")
        kept.rename(directory / name)
    state = (directory / "devices.state").read_bytes()
    (directory / "devices.state").write_bytes(state[:-1000])
    refused(daemon, 1, *CHECKPOINT, "restore", GOLDEN, "a", "-y")
    (directory / "devices.state").write_bytes(state)
    assert daemon.sh("cat /proc/sys/kernel/random/boot_id") == marker
    daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "a", "-y")


def test_a_full_pool(daemon: Daemon) -> None:
    """Refused with the numbers, the guest goes on; with room again the same name is saved."""
    filler = daemon.home / "filler"
    space = os.statvfs(daemon.home)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - (150 << 20))
    try:
        assert "are free and" in refused(daemon, 1, *CHECKPOINT, "save", GOLDEN, "a")
        assert daemon.sh("echo on > file; sync; cat file") == "on\n"
    finally:
        filler.unlink()
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "a")


def test_a_qemu_that_is_too_old_is_refused(daemon: Daemon, tmp_path: Path) -> None:
    old = tmp_path / "qemu-old"
    old.write_text("#!/bin/sh\necho 'QEMU emulator version 7.2.9 (Debian 1:7.2)'\n")
    old.chmod(0o755)
    daemon.end()
    daemon.extra["BOXD_QEMU"] = str(old)
    daemon.start()
    sentence = refused(daemon, 1, "machine", "new", "other", "--vcpu", 1, "--memory", "512M")
    assert "7.2" in sentence and "9.0" in sentence
