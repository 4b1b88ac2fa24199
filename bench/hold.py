"""Waits of new HTTPS and SSH connections to a machine while it is restored in place, again and again.

A client of HTTPS is a TLS handshake and a GET, and waits for the first line of the answer; one of SSH waits for the
hello of the guest's sshd. Each has a connection of its own, and as soon as one has its answer the next one comes. So
what they wait is not for each other, but for the machine.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.clients import Seen, coming, https, row
from bench.clients import ssh as hello
from bench.place import Place
from bench.result import Curve, Plot, Result, Row
from tests.guests import counting
from tests.lab import GOLDEN, HTTPS, Daemon

HTTPS_CLIENTS, HTTPS_PAUSE = 2, 0.02
SSH_CLIENTS, SSH_PAUSE = 1, 0.5
"""Clients at a time, and the seconds from one to the next. Each of SSH costs the guest a process, and an emulated one
a third of a second: they must leave it some time for the others."""

REST = 3.0
"""Seconds at rest before the first restore."""

PAUSE = 1.0
"""Seconds between restores."""

HELD = re.compile(r"held (\d+) connections?, longest wait (\d+) ms")


@dataclass
class Restores:
    """When each was under way (monotonic seconds), and whom it held: how many, and the longest in milliseconds."""

    spans: list[tuple[float, float]] = field(default_factory=list)
    held: list[tuple[int, int]] = field(default_factory=list)

    def met(self, client: Seen) -> bool:
        """It came while the machine was being restored."""
        return any(start <= client.began <= end for start, end in self.spans)


async def run(place: Place) -> Result:
    """`runs` restores, with clients before, meanwhile and in between."""
    daemon, restores = place.daemon, Restores()
    context = await asyncio.to_thread(_prepare, daemon)
    port = (await place.client.machine(GOLDEN)).ssh_port
    by_https = https(f"{GOLDEN}.{counting.ZONE}", HTTPS, context)
    by_ssh = hello(port)
    await by_ssh()  # the guest of a new copy of a home is given its host key first, and starts its sshd anew
    async with (
        coming(by_https, HTTPS_CLIENTS, HTTPS_PAUSE) as web,
        coming(by_ssh, SSH_CLIENTS, SSH_PAUSE) as shell,
    ):
        await asyncio.sleep(REST)
        for number in range(place.options.runs):
            place.tell(f"restore {number + 1} of {place.options.runs}")
            await asyncio.to_thread(_restore, daemon, restores)
            await asyncio.sleep(PAUSE)
    rows = [*_rows("HTTPS", web, restores), *_rows("SSH", shell, restores)]
    return Result(
        "hold",
        "Waits of new connections (milliseconds)",
        rows,
        _notes([*web, *shell], restores),
        [_plot(web, restores)],
    )


def _rows(who: str, seen: Sequence[Seen], restores: Restores) -> list[Row]:
    return [
        row(who, "at rest", [each for each in seen if each.began < restores.spans[0][0]]),
        row(who, "during restores", [each for each in seen if restores.met(each)]),
        row(who, "in all", seen),
    ]


def _notes(seen: Sequence[Seen], restores: Restores) -> list[str]:
    seconds = [end - start for start, end in restores.spans]
    return [
        f"{len(seconds)} restores of {min(seconds):.2f} to {max(seconds):.2f} s",
        f"at a time {HTTPS_CLIENTS} clients of HTTPS, the next {1000 * HTTPS_PAUSE:.0f} ms after an answer, and "
        f"{SSH_CLIENTS} of SSH, the next {1000 * SSH_PAUSE:.0f} ms after one",
        f"a restore held {max(held for held, _ in restores.held)} connections at most, "
        f"{max(longest for _, longest in restores.held)} ms at most",
        *[f"failed: {each.failure}" for each in seen if each.failure][:5],
    ]


def _plot(seen: Sequence[Seen], restores: Restores) -> Plot:
    """How long each client waited by when it came, counted from the beginning of the restore it came in."""
    curves = [
        Curve(
            f"restore {number}",
            [1000 * (each.began - start) for each in seen if start <= each.began <= end],
            [1000 * each.seconds for each in seen if start <= each.began <= end],
            style="o",
        )
        for number, (start, end) in enumerate(restores.spans[:5], 1)
    ]
    return Plot("Waits of HTTPS clients that come during a restore", "came after, ms", "waited, ms", curves)


def _prepare(daemon: Daemon) -> ssl.SSLContext:
    """A web server in the machine, a checkpoint, and a client that trusts this daemon's root."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "root.crt"
        root.write_text(daemon.boxd("edge", "ca").stdout)
        context = counting.trusting(root)
    counting.start(daemon, 8000)
    counting.serving(context)
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "measured")
    return context


def _restore(daemon: Daemon, restores: Restores) -> None:
    began = time.monotonic()
    done = daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "measured", "-y")
    restores.spans.append((began, time.monotonic()))
    told = HELD.search(done.stdout)
    restores.held.append((int(told[1]), int(told[2])) if told else (0, 0))
