"""What the tests themselves stand on."""

from __future__ import annotations

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openboxd.model import ExecRequest
from tests import lab
from tests.fakes.service_exec import LocalExec

LIMIT = 60


def test_no_port_is_given_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so few that chance alone would give one again."""
    monkeypatch.setattr(lab.secrets, "randbelow", lambda _: random.randrange(100))
    ports = [lab.free_port() for _ in range(40)]  # each keeps a descriptor until this process ends
    assert len(set(ports)) == len(ports)


def test_one_at_a_time_is_in_a_lock(tmp_path: Path) -> None:
    inside, second = threading.Event(), threading.Event()

    def come() -> None:
        inside.set()
        with lab.locked(tmp_path / "sub/a.lock"):
            second.set()

    other = threading.Thread(target=come, daemon=True)
    with lab.locked(tmp_path / "sub/a.lock"):
        other.start()
        assert inside.wait(LIMIT)
        assert not second.wait(0.1)
    assert second.wait(LIMIT)
    other.join(LIMIT)


def test_a_tree_is_what_is_still_there(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    seen = []
    for path, _ in lab.tree(tmp_path):
        seen.append(path.name)
        for name in ("b", "c"):
            (tmp_path / name / "file").unlink(missing_ok=True)
            if (tmp_path / name).exists():
                (tmp_path / name).rmdir()
    assert seen.count("file") == (1 if "a" in seen else 0)


async def test_feeding_a_command_of_the_fake_takes_no_thread_and_no_command_holds_its_end(tmp_path: Path) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))  # which waits for the command
    session = LocalExec(ExecRequest("head -c 3; exec sleep 1000"), tmp_path)
    session.start()
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(LIMIT):
            await session.write(b"yes")
            assert (await anext(session.output())).data == b"yes"
            writing = asyncio.create_task(session.write(bytes(1 << 20)))  # more than a pipe holds
            ending = asyncio.create_task(session.write_eof())
            await session.stdin_closed.wait()
            assert not writing.done()
            await session.close()
            await asyncio.gather(writing, ending)
    finally:
        await session.close()
