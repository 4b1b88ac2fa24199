"""Progress on stderr while something long runs: a bar on a terminal; elsewhere nothing, or a line for every step."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from openboxd.cli.output import clean, note
from openboxd.errors import BoxdError

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.openboxd_host_pb2 import Progress

Show = Callable[["Progress"], None]


@asynccontextmanager
async def bar(title: str, *, lines: bool = False) -> AsyncIterator[Show]:
    """A bar for the time of the block; its value takes what there is to show.

    Without a terminal nothing is shown, or with `lines`, which is for what takes minutes, what step has begun.
    """
    if not sys.stderr.isatty():
        yield _said(title) if lines else lambda progress: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=24),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[step]}", markup=False),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task(title, total=None, step="")

        def show(progress: Progress) -> None:
            step = clean(f"{progress.step} {progress.detail}".strip())
            if progress.HasField("fraction"):
                display.update(task, total=1.0, completed=progress.fraction, step=step)
            else:
                display.update(task, total=None, step=step)

        yield show


def _said(title: str) -> Show:
    """What says each step once, when it begins."""
    last = ""

    def show(progress: Progress) -> None:
        nonlocal last
        if progress.step != last:
            last = progress.step
            note(f"{title}: {progress.step} {progress.detail}".rstrip())

    return show


@asynccontextmanager
async def watching(client: Client, ref: str, title: str) -> AsyncIterator[None]:
    """Show the machine's progress for the time of the block. That it cannot be had is no reason to fail."""
    async with bar(title) as show:
        watch = asyncio.create_task(_follow(client, ref, show)) if sys.stderr.isatty() else None
        try:
            yield
        finally:
            if watch is not None:
                watch.cancel()
                await asyncio.wait([watch])


async def _follow(client: Client, ref: str, show: Show) -> None:
    try:
        async for progress in client.watch(ref):
            show(progress)
    except BoxdError:
        pass
