"""A QEMU that is stopped (SIGSTOP), as by a debugger: errors in words and in time, and a way back.

Nothing of the daemon waits for it but the calls that need its guest; and when it goes on, everything does.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable

import pytest

from openboxd.client.client import Client
from openboxd.errors import BoxdError
from openboxd.model import ExecRequest
from tests.guests import keeping
from tests.guests.direct import CALL, direct, save, sh
from tests.lab import BOOTED, GOLDEN, Daemon

pytestmark = pytest.mark.guest


async def _content() -> AsyncIterator[bytes]:
    yield b"x"


async def _download(client: Client) -> None:
    async for _ in client.download(GOLDEN, "pattern.py"):
        pass


async def _refused(name: str, work: Awaitable[object]) -> str:
    """What a call says, and when."""
    began = time.monotonic()
    with pytest.raises(BoxdError) as told:
        async with asyncio.timeout(CALL):
            await work
    print(f"{name} after {time.monotonic() - began:.1f} s: {told.value}")
    return str(told.value)


async def test_calls_end_in_words_and_the_machine_goes_on_or_is_brought_back(daemon: Daemon) -> None:
    digest = keeping.start(daemon, pages=64)["digest"]
    async with direct(daemon) as client:
        running = await client.exec(GOLDEN, ExecRequest("echo one; sleep 3; echo two"))
        output = running.output()
        assert (await anext(output)).data == b"one\n"
        (pid,) = daemon.qemus()
        os.kill(pid, signal.SIGSTOP)
        calls = {
            "exec": sh(client, "true"),
            "download": _download(client),
            "upload": client.upload(GOLDEN, "new", 1, _content()),
            "listing": client.list_dir(GOLDEN, "."),
        }
        told = asyncio.gather(*(_refused(name, work) for name, work in calls.items()))
        began = time.monotonic()
        assert (await client.machine(GOLDEN)).status == "running"
        assert [c.name for c in await client.checkpoints(GOLDEN)] == [BOOTED]
        assert [machine.name for machine in await client.machines()] == [GOLDEN]
        print(f"three reads meanwhile took {time.monotonic() - began:.2f} s")
        assert all("has given no sign of life" in each for each in await told)
        assert await save(client, "new") == "failed"
        (failed,) = [c for c in await client.checkpoints(GOLDEN) if c.name == "new"]
        print("save:", failed.failure_reason)
        assert "keeps running" not in failed.failure_reason and "did not answer" in failed.failure_reason

        os.kill(pid, signal.SIGCONT)
        assert (await anext(output)).data == b"two\n", "a command that runs waits as long as it takes"
        async for _ in output:
            pass
        assert keeping.state(daemon)["digest"] == digest
        assert "new" not in await sh(client, "ls"), "what was given up does not happen later"
        assert await save(client, "new") == "ready"

        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        await client.restore(GOLDEN, "new")
        print(f"restored beside a stopped QEMU in {time.monotonic() - began:.1f} s")
        assert daemon.qemus() != [pid] and len(daemon.qemus()) == 1
        assert keeping.state(daemon)["digest"] == digest
