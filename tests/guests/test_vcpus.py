"""Several vCPUs: after every restore all of them run, and so does what was pinned to each."""

from __future__ import annotations

import asyncio
import re

import pytest

from openboxd.client.client import Client
from openboxd.model import GIB
from tests.guests import keeping
from tests.guests.direct import CALL, direct, save, sh
from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

VCPUS = 2
ROUNDS = 8

TICK = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    with open("/dev/shm/t" + sys.argv[1], "w") as file:
        file.write(str(time.monotonic()))
    time.sleep(0.1)
"""


async def _ticks(client: Client) -> list[str]:
    """What is pinned to each vCPU wrote last."""
    return (await sh(client, f"for c in $(seq 0 {VCPUS - 1}); do cat /dev/shm/t$c; echo; done")).split()


async def _timers(client: Client) -> list[int]:
    """Interrupts of the local timer, by vCPU."""
    return [int(count) for count in (await sh(client, "grep LOC: /proc/interrupts")).split()[1 : 1 + VCPUS]]


async def _all_go_on(client: Client) -> None:
    """Until what is pinned to each vCPU has written again, and each has had interrupts of its timer."""
    ticks, timers = await _ticks(client), await _timers(client)
    assert len(timers) == VCPUS, timers
    async with asyncio.timeout(CALL):
        while True:
            now, after = await _ticks(client), await _timers(client)
            if len(ticks) < VCPUS:  # one was read in the middle of its writing
                ticks = now
                continue
            wrote = len(now) == VCPUS and all(a != b for a, b in zip(ticks, now, strict=True))
            if wrote and all(a < b for a, b in zip(timers, after, strict=True)):
                return


async def test_all_vcpus_go_on_after_every_restore(daemon: Daemon) -> None:
    async with direct(daemon) as client:
        await client.resize(GOLDEN, VCPUS, GIB)
        assert (await sh(client, "nproc")).strip() == str(VCPUS)
        keeping.start(daemon, pages=512)
        await sh(client, f"cat > tick.py <<'END'\n{TICK}END\nsudo dmesg -C > /dev/null")
        for number in range(VCPUS):
            await sh(client, f"setsid python3 tick.py {number} >/dev/null 2>&1 </dev/null &")
            await sh(client, f"for i in $(seq 300); do test -s /dev/shm/t{number} && exit 0; sleep 0.1; done; exit 1")
        await sh(client, "setsid sh -c 'while :; do :; done' >/dev/null 2>&1 </dev/null &")  # one of them is busy
        for number in range(ROUNDS):
            digest = keeping.ask(daemon, "scramble")["digest"]
            assert await save(client, "here") == "ready"
            keeping.ask(daemon, "scramble")
            await client.restore(GOLDEN, "here")
            await _all_go_on(client)
            assert keeping.state(daemon)["digest"] == digest, number
            assert (await sh(client, "nproc")).strip() == str(VCPUS)
            await client.remove_checkpoint(GOLDEN, "here")
        kernel = await sh(client, "sudo dmesg")
        assert not re.search(r"stall|lockup|hung task|blocked for more", kernel, re.IGNORECASE), kernel
