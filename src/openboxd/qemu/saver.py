"""The saver: a process of its own per save (`python -m openboxd.qemu.saver`).

It competes with nobody for the interpreter, and it outlives the daemon: the pause is a lease held by two. On
stdout it writes one JSON object a line, {"step": ...} while it works and at the end {"report": ...} or
{"error": ..., "text": ...}. SIGTERM takes the save back. Nobody listening is no reason to stop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openboxd.host.files import is_full
from openboxd.qemu.convergence import TakeFailed
from openboxd.qemu.memory_image import IncompleteImage
from openboxd.qemu.qmp import Gone, Monitor, QmpError
from openboxd.qemu.rundir import RunDir
from openboxd.qemu.stream import StreamError
from openboxd.qemu.take import AfterPause, Order, Take

MODULE = "openboxd.qemu.saver"

_SWITCH = 0.0005  # seconds; the thread that splits must let the thread that resumes through quickly


def saver_arguments(run: RunDir, order: Order) -> list[str]:
    """Arguments of a saver, by which it is also found (`run.path`)."""
    words = ["--run", str(run.path), "--ram", str(order.ram_bytes), "--qemu", str(order.pid)]
    words += ["--disk", str(order.disk), "--staging", str(order.staging)]
    words += ["--paused"] if order.paused else []
    return words + (["--parent", str(order.parent)] if order.parent else [])


def main(argv: list[str], after_pause: AfterPause | None = None) -> int:
    """Run one saver."""
    options = _parse(argv)
    order = Order(options.ram, options.qemu, options.disk, options.staging, options.parent, options.paused)
    sys.setswitchinterval(_SWITCH)
    return asyncio.run(_main(RunDir(options.run), order, after_pause))


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=MODULE)
    for name in ("--ram", "--qemu"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--run", "--disk", "--staging"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--parent", type=Path)
    parser.add_argument("--paused", action="store_true")
    return parser.parse_args(argv)


async def _main(run: RunDir, order: Order, after_pause: AfterPause | None) -> int:
    task = asyncio.ensure_future(_save(run, order, after_pause))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        report = await task
    except asyncio.CancelledError:
        return _fail("cancelled", "it was taken back")
    except Gone as error:
        return _fail("gone", str(error))
    except (TakeFailed, StreamError, IncompleteImage, QmpError) as error:
        return _fail("failed", str(error))
    except OSError as error:
        return _fail("full" if is_full(error) else "failed", error.strerror or str(error))
    _say({"report": report})
    return 0


async def _save(run: RunDir, order: Order, after_pause: AfterPause | None) -> dict[str, Any]:
    monitor = await Monitor.connect(run.saver_monitor, f"saver of {run.run_id}")
    try:
        return asdict(await Take(monitor, order, _step, after_pause=after_pause).run())
    finally:
        await monitor.close()


def _step(name: str, detail: Mapping[str, Any]) -> None:
    _say({"step": name, **detail})


def _fail(kind: str, text: str) -> int:
    _say({"error": kind, "text": text})
    return 1


def _say(message: Mapping[str, Any]) -> None:
    """One line; whole in one write. The daemon may be gone."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
