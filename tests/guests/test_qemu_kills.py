"""QEMU killed under a real machine, at named steps and at random moments of its operations, many times over.

One daemon and one guest serve all of it: a restore brings the guest back after each kill, which is the promise.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable

import pytest

from openboxd import settings
from openboxd.client.client import Client
from openboxd.errors import BoxdError
from openboxd.host import pidfd
from openboxd.qemu.rundir import RunDir, is_run_id
from openboxd.qemu.saving import savers_of
from tests.guests import keeping, killed_qemu
from tests.guests.direct import CALL, direct, save, sh
from tests.guests.killed_daemon import IN_THE_PAUSE
from tests.lab import BOOTED, GOLDEN, Daemon

pytestmark = pytest.mark.guest

GOOD, NEW = "good", "new"

AS_IT_WAS, RESTORED, FAILED = "runs as it was", "runs, restored", "failed"

SAVES = {
    ("before stage", "old"): False,
    ("before capture", "old"): False,
    (IN_THE_PAUSE, "old"): False,
    ("after capture", "old"): True,
    ("before publish", "old"): True,
    ("after ready", "old"): True,
}
"""Where QEMU is killed in a save, and whether the checkpoint is there afterwards. The machine is always `failed`."""

RESTORES = {
    ("before clone", "old"): RESTORED,
    ("after load", "old"): RESTORED,
    ("before swap", "old"): RESTORED,
    ("after load", "new"): AS_IT_WAS,
    ("before drain", "new"): AS_IT_WAS,
    ("after load", "both"): FAILED,
    ("before swap", "new"): FAILED,
    ("after swap", "new"): FAILED,
    ("after resume", "new"): FAILED,
    ("after answer", "new"): FAILED,
}
"""Where which of the two QEMUs is killed in a restore, and what the machine is then."""

RANDOM = 6
"""Kills at moments that nobody chose, of each operation."""

Operation = Callable[[Client], Awaitable[object]]


def _restore(client: Client) -> Awaitable[object]:
    return client.restore(GOLDEN, GOOD)


def _save(client: Client) -> Awaitable[object]:
    return save(client, NEW)


async def _outcome(work: Awaitable[object]) -> BoxdError | None:
    try:
        async with asyncio.timeout(CALL):
            await work
    except BoxdError as error:
        return error
    return None


async def _settled(daemon: Daemon, client: Client) -> str:
    """The machine's status once it agrees with the processes: nobody tells the daemon of a kill."""
    deadline = time.monotonic() + CALL
    while True:
        status = (await client.machine(GOLDEN)).status
        if (status, len(daemon.qemus())) in (("running", 1), ("failed", 0), ("stopped", 0)):
            return str(status)
        assert time.monotonic() < deadline, (status, daemon.qemus())
        await asyncio.sleep(0.02)


def _nothing_left(daemon: Daemon, told: object) -> None:
    assert list((daemon.home / "pool/staging").iterdir()) == [], told
    assert list((daemon.home / "pool/machines").glob("*/disk.next")) == [], told
    run_dir = settings.load(daemon.home, environ=daemon.env).run_dir
    runs = [path for path in run_dir.iterdir() if is_run_id(path.name)]
    assert len(runs) == len(daemon.qemus()), (told, runs)
    assert all(not savers_of(RunDir(path)) for path in runs), told


async def _checkpoints(client: Client, told: object) -> list[str]:
    found = {c.name: c.status for c in await client.checkpoints(GOLDEN)}
    assert set(found.values()) <= {"ready", "failed"}, (told, found)
    assert found[BOOTED] == found[GOOD] == "ready", (told, found)
    return sorted(name for name, status in found.items() if status == "ready")


async def _verified(client: Client) -> None:
    for name in await _checkpoints(client, "at the end"):
        last = [item async for item in client.verify_checkpoint(GOLDEN, name)][-1]
        assert last.result.sealed and not last.result.damages, last


async def _digest(client: Client) -> str:
    return await sh(client, f"python3 pattern.py ask {keeping.SOCKET} state | grep -o '\"digest.*'")


async def _brought_back(client: Client, digest: str, name: str = GOOD) -> None:
    await client.restore(GOLDEN, name)
    assert await _digest(client) == digest


class Struck:
    """A daemon whose QEMUs can be killed at its steps, with a pattern in the guest's memory that `good` holds."""

    def __init__(self, daemon: Daemon, client: Client, digest: str) -> None:
        self.daemon, self.client, self.digest = daemon, client, digest

    async def kill_at(self, point: str, victims: str, work: Operation) -> BoxdError | None:
        """Carry out an operation that loses a QEMU; what it said."""
        killed_qemu.order(self.daemon.home, point, victims, self.daemon.qemus())
        error = await _outcome(work(self.client))
        assert killed_qemu.carried_out(self.daemon.home), f"'{point}' was not reached: {error}"
        return error

    async def kill_after(self, delay: float, work: Operation) -> tuple[str, BoxdError | None]:
        """The same at a moment; which of the QEMUs that are there was hit if any, and what the operation said."""
        under_way = asyncio.ensure_future(_outcome(work(self.client)))
        await asyncio.sleep(delay)  # the moment is arbitrary on purpose: whatever it hits must end well
        victims = self.daemon.qemus()
        was_there = await kill(random.choice(victims))
        hit = f"one of {len(victims)} QEMUs" if was_there else ""
        return hit, await under_way


async def kill(pid: int) -> bool:
    """SIGKILL a process of ours; it is gone afterwards. Whether it was still there: a QEMU may end by itself."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    pidfd.send(descriptor, signal.SIGKILL)
    async with asyncio.timeout(CALL):
        await pidfd.wait_gone(descriptor)
    os.close(descriptor)
    return True


@pytest.fixture(scope="module")
def struck(lab):
    """One daemon for all tests here: each leaves the machine running, restored from `good`."""
    with lab.daemon() as daemon:
        daemon.end()
        daemon.program = [sys.executable, "-m", "tests.guests.killed_qemu"]
        daemon.start()
        keeping.start(daemon, pages=64)
        daemon.boxd("machine", "checkpoint", "save", GOLDEN, GOOD)
        yield daemon


async def _struck(daemon: Daemon, client: Client) -> Struck:
    return Struck(daemon, client, await _digest(client))


async def test_in_a_save(struck: Daemon) -> None:
    async with direct(struck) as client:
        lab = await _struck(struck, client)
        for (point, victims), is_there in SAVES.items():
            error = await lab.kill_at(point, victims, _save)
            assert await _settled(struck, client) == "failed", point
            ready = await _checkpoints(client, point)
            assert (NEW in ready) == is_there, (point, error)
            _nothing_left(struck, point)
            print(f"{point}: {error}")
            await _brought_back(client, lab.digest, NEW if is_there else GOOD)
            if is_there:
                await client.remove_checkpoint(GOLDEN, NEW)
        await _verified(client)


async def test_in_a_restore(struck: Daemon) -> None:
    async with direct(struck) as client:
        lab = await _struck(struck, client)
        for (point, victims), expected in RESTORES.items():
            await sh(client, "touch later; sync")
            error = await lab.kill_at(point, victims, _restore)
            status = await _settled(struck, client)
            print(f"{point}, {victims}: {status}; {error}")
            assert status == ("failed" if expected == FAILED else "running"), (point, victims)
            if expected != FAILED:
                assert ("later" in await sh(client, "ls")) == (expected == AS_IT_WAS), (point, victims)
            assert (error is None) == (expected == RESTORED or point == "after answer"), (point, victims, error)
            _nothing_left(struck, (point, victims))
            assert await _checkpoints(client, point) == sorted([BOOTED, GOOD])
            await _brought_back(client, lab.digest)
        await _verified(client)


async def test_in_a_boot(struck: Daemon) -> None:
    async with direct(struck) as client:
        lab = await _struck(struck, client)
        assert await kill(*struck.qemus())
        assert await _settled(struck, client) == "failed"
        for point in ("after launch", "after connect", "before answer"):
            error = await lab.kill_at(point, "new", lambda client: client.start(GOLDEN))
            assert error is not None and GOLDEN in str(error), point
            assert await _settled(struck, client) in ("stopped", "failed"), point
            print(f"{point}: {error}")
            _nothing_left(struck, point)
        await _brought_back(client, lab.digest)


async def test_at_moments_that_nobody_chose(struck: Daemon) -> None:
    seed = random.randrange(1 << 32)
    random.seed(seed)
    print("seed", seed)
    async with direct(struck) as client:
        lab, hits = await _struck(struck, client), set[str]()
        for number in range(2 * RANDOM):
            work, longest = ((_save, 1.2), (_restore, 0.8))[number % 2]
            delay = random.uniform(0, longest)
            hit, error = await lab.kill_after(delay, work)
            hits.add(hit)
            status = await _settled(struck, client)
            ready = await _checkpoints(client, (seed, number))
            print(f"{work.__name__} after {delay:.3f} s, {hit or 'none hit'}: {status}, {', '.join(ready)}; {error}")
            _nothing_left(struck, (seed, number))
            if status == "failed":
                await _brought_back(client, lab.digest, NEW if NEW in ready else GOOD)
            assert await _digest(client) == lab.digest
            if NEW in ready:
                await client.remove_checkpoint(GOLDEN, NEW)
        assert hits - {""}, "every QEMU had ended before it could be killed"
        assert await save(client, NEW) == "ready"
        await _verified(client)
