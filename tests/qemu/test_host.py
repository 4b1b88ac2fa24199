"""The small primitives of the host that runs rest on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openboxd.host import holes, pidfd
from openboxd.host.process import Process, clean_environment, start_detached
from openboxd.qemu.rundir import RunDir, is_run_id, listen

PAGE = 4096


def test_a_punched_hole_reads_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 16 * PAGE)
    with path.open("r+b") as file:
        holes.punch_hole(file.fileno(), 4 * PAGE, 8 * PAGE)
        assert list(holes.data_ranges(file.fileno())) == [(0, 4 * PAGE), (12 * PAGE, 16 * PAGE)]
    assert path.read_bytes() == b"x" * 4 * PAGE + bytes(8 * PAGE) + b"x" * 4 * PAGE
    with path.open("rb") as file, pytest.raises(OSError, match="Bad file"):
        holes.punch_hole(file.fileno(), 0, PAGE)


def test_an_empty_file_has_no_data(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with path.open("w+b") as file:
        file.truncate(8 * PAGE)
        assert list(holes.data_ranges(file.fileno())) == []


async def test_a_detached_process_is_reaped_with_its_status(tmp_path: Path) -> None:
    for script, status in (("exit 3", 3), ("kill -9 $$", -9), ("exit 0", 0)):
        process = start_detached(["/bin/sh", "-c", script], log=tmp_path / "log")
        assert await asyncio.wait_for(process.wait(), 10) == status
        assert not process.alive
        process.kill()
        assert not Path(f"/proc/{process.pid}").exists()  # not even a zombie


async def test_a_process_that_is_not_our_child_ends_with_unknown_status(tmp_path: Path) -> None:
    """A child of a child: what an adopted run is."""
    script = "import subprocess, sys; print(subprocess.Popen(['sleep', '60'], stdout=2).pid, flush=True)"
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=subprocess.PIPE)
    pid = int((await parent.communicate())[0])
    process = Process(pid, os.pidfd_open(pid))
    assert process.alive
    process.kill(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 10) is None
    assert not process.alive


async def test_processes_are_found_by_their_arguments(tmp_path: Path) -> None:
    word = f"needle-{os.getpid()}"
    process = start_detached(["/bin/sleep", "60"], log=tmp_path / "log")
    other = start_detached([sys.executable, "-c", "import time; time.sleep(60)", word], log=tmp_path / "log")
    async with asyncio.timeout(10):
        while True:  # the kernel shows arguments a moment after the start
            found = pidfd.find(lambda argv: word in argv)
            if found:
                break
            await asyncio.sleep(0.001)
    assert [one.pid for one in found] == [other.pid]
    await pidfd.kill_all(found)
    await asyncio.wait_for(other.wait(), 10)
    assert process.alive
    process.kill()
    await asyncio.wait_for(process.wait(), 10)
    assert pidfd.find(lambda argv: word in argv) == []


async def test_what_a_process_says_goes_to_a_private_log(tmp_path: Path) -> None:
    process = start_detached(["/bin/sh", "-c", "echo out; echo err >&2; umask"], log=tmp_path / "log")
    await asyncio.wait_for(process.wait(), 10)
    assert (tmp_path / "log").read_text() == "out\nerr\n0077\n"
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


async def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        start_detached([str(tmp_path / "none")], log=tmp_path / "log")


def test_secrets_are_not_passed_on() -> None:
    assert clean_environment({"PATH": "/bin", "BOXD_TOKEN": "x", "AWS_SECRET": "y"}) == {"PATH": "/bin"}


def test_run_ids_are_never_paths() -> None:
    assert is_run_id("0123456789ab")
    for bad in ("", "..", "0123456789a", "0123456789AB", "0123456789ab\n", "../../../etc", "0123456789abc"):
        assert not is_run_id(bad)


def test_a_record_and_last_words(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "r" / "0123456789ab")
    run.make({"machine_id": "m", "plan": {}})
    assert run.read_record() == {"machine_id": "m", "plan": {}}
    assert run.record.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        run.make({})
    assert run.last_words() == ""
    run.log.write_text(
        "2026-11-29T18:00:00.123Z qemu-system-x86_64: Size mismatch: mem\n"
        "2026-11-29T18:00:00.124Z /usr/bin/qemu-system-x86_64: load of migration failed: Invalid argument\n"
    )
    assert run.last_words() == "Size mismatch: mem; load of migration failed: Invalid argument"
    run.record.write_text("{}")
    with pytest.raises(ValueError, match="not whole"):
        run.read_record()
    run.remove()
    run.remove()
    assert not run.path.exists()


def test_our_sockets_listen_at_once_and_are_private(tmp_path: Path) -> None:
    import socket

    path = tmp_path / "s"
    with listen(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OSError, match="too long"):
        listen(tmp_path / ("x" * 120))
