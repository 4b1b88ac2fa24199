"""Logs of processes that outlive the daemon are held small: they lie in memory, and guests can make QEMU talk."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from openboxd.edge.listener import listen_unix
from openboxd.host.holes import data_ranges
from openboxd.host.process import open_log, start_detached
from openboxd.model import MIB
from openboxd.qemu.rundir import RunDir
from openboxd.worker.housekeeping import LOG_MOST, keep_house, trim_logs
from tests.worker.world import LIMIT, World

RUN = "0123456789ab"
COMPLAINT = "2026-11-30T08:00:00.123456Z qemu-system-x86_64: virtio-serial-bus: Unexpected port id 31 for device\n"
LAST = "2026-11-30T08:00:01.123456Z qemu-system-x86_64: No space left on device\n"


def say(path: Path, count: int) -> None:
    """At least that many bytes, as a process appends them."""
    with open_log(path) as descriptor:
        os.write(descriptor, COMPLAINT.encode() * (count // len(COMPLAINT) + 1))


def taken(path: Path) -> int:
    with path.open("rb") as file:
        return sum(end - start for start, end in data_ranges(file.fileno()))


def all_logs(run_dir: Path) -> list[Path]:
    """One of each kind that lies there."""
    run = RunDir(run_dir / RUN)
    run.make({"machine_id": "m", "plan": {}})
    return [run.log, run.saver_log, *(run_dir / name for name in ("keeper.log", f"{RUN}.pasta.err"))]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "r"


def test_every_log_of_a_run_dir_is_trimmed_and_the_last_words_are_told(run_dir: Path) -> None:
    logs, run = all_logs(run_dir), RunDir(run_dir / RUN)
    for path in logs:
        say(path, LOG_MOST // 2)
    assert not trim_logs(run_dir)
    before = {path: path.read_bytes() for path in logs}
    assert not any(b"\0" in content for content in before.values())
    for path in logs:
        say(path, 3 * MIB)
    assert trim_logs(run_dir) and not trim_logs(run_dir)
    for path in logs:
        assert taken(path) < LOG_MOST < path.stat().st_size
    complaint = "virtio-serial-bus: Unexpected port id 31 for device"
    assert run.last_words() == "; ".join([complaint] * 4)
    with open_log(run.log) as descriptor:
        os.write(descriptor, LAST.encode())
    assert run.last_words() == "; ".join([complaint] * 3 + ["No space left on device"])


def test_only_logs_are_touched(run_dir: Path, tmp_path: Path) -> None:
    assert not trim_logs(run_dir)  # nothing is there
    path = all_logs(run_dir)[0]
    others = [tmp_path / "elsewhere.log", RunDir(run_dir / RUN).record, run_dir / "deep" / "er" / "some.log"]
    others[2].parent.mkdir(parents=True)
    for other in others:
        other.unlink(missing_ok=True)
        say(other, 2 * LOG_MOST)
    (run_dir / "link.log").symlink_to(others[0])
    (run_dir / "links").symlink_to(tmp_path)
    say(path, 2 * LOG_MOST)
    assert trim_logs(run_dir) and taken(path) < LOG_MOST
    assert all(taken(other) > LOG_MOST for other in others)


async def test_a_log_that_grows_and_grows_is_held(world: World, run_dir: Path) -> None:
    """By a process that goes on: what it says after a trim follows what was kept."""
    logs, run = all_logs(run_dir), RunDir(run_dir / RUN)
    heard, tell = os.pipe()
    said = f"echo; echo '{LAST.strip()}'"
    flood = f"exec < /dev/fd/{heard}; while read line; do head -c {4 * MIB} /dev/zero; done; {said}"
    process = start_detached(["/bin/sh", "-c", flood], log=run.log, fds=[heard])
    os.close(heard)
    try:
        with os.fdopen(tell, "wb", buffering=0) as pipe:
            async with keep_house(world.store, world.pool, world.home, run_dir), asyncio.timeout(LIMIT):
                for times in range(1, 9):
                    pipe.write(b"more\n")
                    for path in logs[1:]:
                        say(path, 4 * MIB)
                    while True:
                        grown = run.log.stat().st_size >= times * 4 * MIB
                        if grown and all(taken(path) <= LOG_MOST for path in logs):
                            break
                        await asyncio.sleep(0.01)
        async with asyncio.timeout(LIMIT):
            await process.wait()
    finally:
        process.kill()
    assert run.last_words().endswith("No space left on device")


def test_sockets_that_users_have_named_keep_no_log_from_being_trimmed(run_dir: Path) -> None:
    """A machine may be called `log`, and have a route."""
    logs = all_logs(run_dir)
    for path in (run_dir / "gates/api.log", run_dir / "a.err"):
        path.parent.mkdir(exist_ok=True)
        listen_unix(path).close()
    for log in logs:
        say(log, 2 * LOG_MOST)
    assert sorted(trim_logs(run_dir)) == sorted(logs)
    assert all(taken(log) < LOG_MOST for log in logs)


def test_a_log_that_cannot_be_trimmed_keeps_no_other_one_from_it(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = all_logs(run_dir)
    for log in logs:
        say(log, 2 * LOG_MOST)
    really = os.open

    def failing(path: Path, *arguments: int) -> int:
        if path == logs[0]:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return really(path, *arguments)

    monkeypatch.setattr(os, "open", failing)
    assert sorted(trim_logs(run_dir)) == sorted(logs[1:])
