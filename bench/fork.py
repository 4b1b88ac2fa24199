"""Forks of a running machine: how long it stands still, and when the copy answers."""

from __future__ import annotations

import asyncio
import time

from bench.copies import used_mib
from bench.figures import spread
from bench.place import Place
from bench.result import Result, Row
from tests.guests.direct import sh
from tests.lab import GOLDEN


async def run(place: Place) -> Result:
    """Idle and busy; then several at once."""
    rows: list[Row] = [await _measure(place, rate) for rate in place.options.rates]
    count = 2 if place.options.short else 10
    took = await _at_once(place, count)
    notes = (f"{count} forks of one machine at once: all answer after {took:,.0f} ms",)
    return Result("fork", "Forks (milliseconds, MB)", rows, notes)


async def _measure(place: Place, rate: int) -> Row:
    client, pauses, forks, answers, costs = place.client, [], [], [], []
    async with place.busy(GOLDEN, rate):
        for number in range(place.options.runs):
            place.tell(f"{rate} MiB/s, fork {number + 1} of {place.options.runs}")
            before, begun = used_mib(place), time.monotonic()
            made = await client.fork(GOLDEN, f"copy-{number}")
            forks.append(1000 * (time.monotonic() - begun))
            await sh(client, "true", made.vm_id)
            answers.append(1000 * (time.monotonic() - begun))
            pauses.append(await _pause(place))
            costs.append((used_mib(place) - before) * 1.048576)
            await client.destroy(made.vm_id)
        real = await place.real_rate(GOLDEN)
    return {
        "dirty MiB/s": round(real, 1),
        "runs": len(forks),
        "pause": spread(pauses),
        "fork": spread(forks),
        "answer": spread(answers),
        "a copy's MB": spread(costs),
    }


async def _pause(place: Place) -> float:
    """Milliseconds that the last capture's vCPUs stood still, from the daemon's metrics: the sum's growth."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.daemon.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: boxd\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    sums = [line.split()[1] for line in text.splitlines() if line.startswith("boxd_save_pause_seconds_sum")]
    last, _seen[place.daemon.url] = _seen.get(place.daemon.url, 0.0), float(sums[0])
    return 1000 * (float(sums[0]) - last)


_seen: dict[str, float] = {}
"""By daemon, what its metrics told last."""


async def _at_once(place: Place, count: int) -> float:
    place.tell(f"{count} at once")
    client, begun = place.client, time.monotonic()

    async def one(number: int) -> str:
        made = await client.fork(GOLDEN, f"many-{number}")
        await sh(client, "true", made.vm_id)
        return str(made.vm_id)

    made = await asyncio.gather(*(one(number) for number in range(count)))
    took = 1000 * (time.monotonic() - begun)
    for name in made:
        await client.destroy(name)
    return took
