"""Rounds of save, restore and remove on one real machine leave nothing behind.

`BOXD_ROUNDS=200` makes as many of them; the suite makes a few, which finds what is lost in every round.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from pathlib import Path

import pytest

from openboxd import settings
from openboxd.client.client import Client
from openboxd.host import pidfd
from tests.guests.direct import CALL, direct, save, sh
from tests.lab import CACHE, GOLDEN, Daemon

pytestmark = pytest.mark.guest

ROUNDS = int(os.environ.get("BOXD_ROUNDS", "30"))

WARM = 5
"""Rounds before anything is counted: modules are imported, pools of threads filled."""

MIB = 1 << 20

RESIDENT = 16
"""MiB that the daemon's memory may differ by: it depends on when Python gives memory back, not on the rounds."""

THREADS = min(32, (os.cpu_count() or 1) + 4)
"""Threads that may be more: the loop's pool begins one when jobs overlap that never did before, up to this many."""

SPACE = 32
"""MiB that the filesystem's free space may differ by: logs, the store's journal, the filesystem's own."""

BASE = "base"


def _counts(daemon: Daemon) -> dict[str, int]:
    """Everything that a round may leave. MiB and threads may be some more afterwards, the rest not."""
    assert daemon.process is not None
    root = Path(f"/proc/{daemon.process.pid}")
    found = pidfd.find(lambda argv: any(str(daemon.home) in argument for argument in argv))
    for process in found:
        os.close(process.pidfd)
    status = dict(line.split(":", 1) for line in (root / "status").read_text().splitlines())
    run_dir = settings.load(daemon.home, environ=daemon.env).run_dir
    loops = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
    return {
        "descriptors": len(list((root / "fd").iterdir())),
        "threads": len(list((root / "task").iterdir())),
        "processes": len(found),
        "files in the pool": sum(1 for path in (daemon.home / "pool").rglob("*") if path.is_file()),
        "files of runs": sum(1 for path in run_dir.rglob("*")),
        "loop devices": sum(f"({CACHE}/" in line for line in loops.splitlines()),
        "resident MiB": int(status["VmRSS"].split()[0]) // 1024,
        "free MiB": _free(daemon),
    }


def _free(daemon: Daemon) -> int:
    space = os.statvfs(daemon.home)
    return space.f_bavail * space.f_frsize // MIB


async def _round(client: Client, number: int) -> None:
    await sh(
        client, f"echo {number} > round; head -c 1000000 /dev/urandom | dd of=big conv=notrunc status=none; sync"
    )
    assert await save(client, "r") == "ready"
    await client.restore(GOLDEN, "r")
    await client.remove_checkpoint(GOLDEN, "r")


async def _at_rest(daemon: Daemon, client: Client) -> dict[str, int]:
    """The counts after a restore of `base`: its disk and its checkpoints are then what they were each time before.

    XFS gives back what was removed a moment later, so it is waited for until that has come to rest.
    """
    await client.restore(GOLDEN, BASE)
    found = _counts(daemon)
    for _ in range(int(CALL)):
        await asyncio.sleep(1.0)
        last, found = found, _counts(daemon)
        if found == last:
            break
    return found


@pytest.mark.timeout(60 + 20 * ROUNDS)
async def test_rounds_leave_nothing(daemon: Daemon) -> None:
    async with direct(daemon) as client:
        await sh(client, "head -c 1000000 /dev/urandom > big; sync")
        assert await save(client, BASE) == "ready"
        for number in range(WARM):
            await _round(client, number)
        before = await _at_rest(daemon, client)
        began = time.monotonic()
        for number in range(ROUNDS):
            await _round(client, number)
            if (number + 1) % 25 == 0:
                print(f"after {number + 1} rounds, {time.monotonic() - began:.0f} s: {_counts(daemon)}")
        took = time.monotonic() - began
        after = await _at_rest(daemon, client)
        print(f"{ROUNDS} rounds took {took:.0f} s\nbefore {before}\nafter  {after}")
        assert await sh(client, "test -e round || echo gone") == "gone\n"
    for name in before.keys() - {"resident MiB", "free MiB", "threads"}:
        assert after[name] <= before[name], (name, before, after)
    assert after["threads"] - before["threads"] <= THREADS, (before, after)
    assert after["resident MiB"] - before["resident MiB"] <= RESIDENT, (before, after)
    assert before["free MiB"] - after["free MiB"] <= SPACE, (before, after)
