"""Where measurements take place: a daemon on a fresh copy of the prepared home, its client, and loads in guests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.progress import Tell, silent
from openboxd.client.client import Client
from openboxd.model import MIB, ExecRequest
from tests.guests.direct import sh
from tests.lab import GOLDEN, Daemon

PROGRAMS = Path(__file__).parent / "guest"

GOLDEN_MIB = 1024
"""RAM of the machine that the lab has prepared."""

SETTLE_LIMIT = 240.0
"""Seconds in which a new guest must have started all its services."""


TICKS_LIMIT = 120
"""Seconds that a guest's program looks at the clock at most, for something that takes far less."""


@dataclass(frozen=True)
class Options:
    """What is asked for: a short form, how many runs of each kind, sizes in MiB, dirty rates in MiB/s."""

    short: bool
    runs: int
    sizes: tuple[int, ...]
    rates: tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """See the module. `tell` takes what is being measured now, for whoever waits for it."""

    daemon: Daemon
    client: Client
    options: Options
    tell: Tell = silent

    async def machine(self, memory_mib: int) -> str:
        """The name of a running, settled machine of this size; the first time it is made."""
        if memory_mib == GOLDEN_MIB:
            return GOLDEN
        name = f"m{memory_mib}"
        if name not in [machine.name for machine in await self.client.machines()]:
            self.tell(f"a guest of {memory_mib} MiB boots")
            await self.client.create(name, vcpu=1, memory_bytes=memory_mib * MIB)
            await self.until_running(name)
            await self.settled(name)
        return name

    async def settled(self, name: str) -> None:
        """Until a booting guest has nothing left to start; in the short form, where no figure counts, at once."""
        if not self.options.short:
            async with asyncio.timeout(SETTLE_LIMIT):
                await sh(self.client, "systemctl is-system-running --wait || true; sudo udevadm settle", name)

    async def until_running(self, name: str) -> None:
        """Until a machine that starts by itself runs and answers."""
        async with asyncio.timeout(SETTLE_LIMIT):
            while (machine := await self.client.machine(name)).status != "running":
                assert machine.status in ("pending", "starting"), machine
                await asyncio.sleep(0.01)

    async def put(self, machine: str, program: str) -> str:
        """Bring one of our programs into a guest; its path there."""
        data = (PROGRAMS / program).read_bytes()

        async def once() -> AsyncIterator[bytes]:
            yield data

        path = f"/home/boxd/{program}"
        await self.client.upload(machine, path, len(data), once())
        return path

    @asynccontextmanager
    async def busy(self, machine: str, rate: int) -> AsyncIterator[None]:
        """While the block runs the guest writes `rate` MiB of its memory a second; 0 for an idle one."""
        if not rate:
            yield
            return
        path = await self.put(machine, "dirty.py")
        size = 64 if rate <= 10 else 192  # MiB that are written over and over
        await sh(self.client, f"setsid python3 {path} {rate} {size} >/dev/null 2>&1 </dev/null & echo $!", machine)
        await sh(
            self.client, "for i in $(seq 100); do [ -s /tmp/dirty.rate ] && exit; sleep 0.1; done; exit 1", machine
        )
        try:
            yield
        finally:
            await sh(self.client, "pkill -f [d]irty.py; rm -f /tmp/dirty.rate", machine)

    async def real_rate(self, machine: str) -> float:
        """MiB a second that a busy guest really writes."""
        return float(await sh(self.client, "cat /tmp/dirty.rate 2>/dev/null || echo 0", machine)) / MIB

    async def ticks(self, machine: str, work: Awaitable[None]) -> tuple[float, float]:
        """The largest gap, milliseconds, of a program in the guest that looks at the clock while `work` is done.

        By the guest's own monotonic clock, and by the arrival of its output here.
        """
        path, stop = await self.put(machine, "gaps.py"), "/tmp/gaps.stop"
        command = f"sudo rm -f {stop}; exec sudo chrt -f 50 python3 {path} {TICKS_LIMIT} {stop}"
        execution = await self.client.exec(machine, ExecRequest(command))
        await execution.write_eof()
        loop, gaps, text, last = asyncio.get_running_loop(), [0.0], b"", 0.0
        async with asyncio.TaskGroup() as group:
            async for piece in execution.output():
                now = loop.time()
                if last:
                    gaps.append(1000 * (now - last))
                else:
                    group.create_task(self._work(work, machine, stop))
                text, last = text[-200:] + piece.data, now
        assert execution.exit_code == 0, text
        return int(text.splitlines()[-1].split()[0]) / 1000, max(gaps)

    async def _work(self, work: Awaitable[None], machine: str, stop: str) -> None:
        await work
        await sh(self.client, f"touch {stop}", machine)

    @asynccontextmanager
    async def alone(self, machine: str) -> AsyncIterator[None]:
        """For the time of the block no other machine's vCPUs run; without a name, none at all."""
        others = [other.name for other in await self.client.machines() if other.status == "running"]
        others = [name for name in others if name != machine]
        for name in others:
            await self.client.suspend(name)
        try:
            yield
        finally:
            for name in others:
                await self.client.resume(name)
