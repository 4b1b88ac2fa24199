"""Running programs: told apart by how they end, and never left behind."""

from __future__ import annotations

import asyncio
import os
import select

import pytest

from openboxd.errors import HostUnfit, OperationFailed
from openboxd.host import programs


def ends(pid: int, limit: float = 60.0) -> bool:
    """Whether a process that may be somebody else's child has ended, or does within `limit` seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], limit)[0])
    finally:
        os.close(descriptor)


async def test_lines_come_as_they_are_written() -> None:
    lines: list[str] = []
    await programs.stream(["sh", "-c", "echo one; echo two >&2"], lines.append, timeout=60)
    assert lines == ["one", "two"]


async def test_a_failure_carries_the_last_words() -> None:
    with pytest.raises(OperationFailed, match="sh failed with status 3: no mirror"):
        await programs.stream(["sh", "-c", "echo no mirror >&2; exit 3"], lambda line: None, timeout=60)


async def test_a_killed_program_says_so() -> None:
    with pytest.raises(OperationFailed, match="killed by signal 9"):
        await programs.stream(["sh", "-c", "kill -9 $$"], lambda line: None, timeout=60)


@pytest.mark.parametrize("how", ["cancel", "deadline"])
async def test_no_process_of_the_group_is_left(how: str) -> None:
    pids: list[int] = []
    told = asyncio.Event()

    def line(text: str) -> None:
        pids.extend(map(int, text.split()))
        told.set()

    script = "sleep 300 & echo $$ $!; wait"
    task = asyncio.create_task(programs.stream(["sh", "-c", script], line, timeout=300 if how == "cancel" else 5))
    await asyncio.wait_for(told.wait(), 60)
    if how == "cancel":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with pytest.raises(OperationFailed, match="did not end within 5 s"):
            await task
    assert len(pids) == 2
    assert all(ends(pid) for pid in pids)


async def test_a_missing_program_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "locate", lambda program: None)
    with pytest.raises(HostUnfit, match=r"mkfs\.xfs is not installed.*apt install xfsprogs"):
        await programs.stream(["mkfs.xfs"], lambda line: None, timeout=1)
    with pytest.raises(HostUnfit, match="nftables"):
        programs.run(["nft"])


def test_short_programs_answer_with_their_output() -> None:
    assert programs.run(["echo", "hello"]) == "hello\n"
    with pytest.raises(OperationFailed, match="did not end within 0 s"):
        programs.run(["sleep", "60"], timeout=0.1)


def test_system_programs_are_found_without_sbin_in_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert programs.find("losetup").endswith("/losetup")
