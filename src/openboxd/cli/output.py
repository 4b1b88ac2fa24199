"""What is printed: JSON or columns on stdout, words on stderr. Nothing a machine says can steer the terminal."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

import click

from openboxd.cli.state import State

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Text on one line without control characters, which could hide or fake output on a terminal."""
    return CONTROL.sub(" ", text)


def answer(state: State, data: Any, text: str) -> None:
    """The command's result: `data` as JSON if that was asked for, else `text`."""
    if state.json:
        print(json.dumps(data, indent=2))
    elif text:
        print(text)


def note(text: str) -> None:
    """A remark for people; never on stdout."""
    print(clean(text), file=sys.stderr)


def report_error(message: str) -> None:
    """The one line that says what went wrong."""
    note(f"error: {message}")


def fail(message: str, status: int = 1) -> NoReturn:
    """Say what went wrong and leave with `status`."""
    report_error(message)
    raise click.exceptions.Exit(status)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, two blanks apart, never cut: lines may be longer than the terminal, names stay whole."""
    cells = [list(head), *([clean(cell) or "-" for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and values, one pair a line."""
    width = max(len(name) for name, _ in pairs) + 1
    return "\n".join(f"{name + ':':<{width}} {clean(value) or '-'}" for name, value in pairs)


def size(count: int) -> str:
    """Bytes in powers of 1024, as in `24.3G` and `18B`."""
    amount = float(count)
    for unit in ("B", "K", "M", "G"):
        if amount < 1024:
            return f"{count}B" if unit == "B" else f"{amount:.1f}{unit}"
        amount /= 1024
    return f"{amount:.1f}T"


def duration(milliseconds: float) -> str:
    """`6ms`, `1.9s`."""
    return f"{milliseconds:.0f}ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f}s"


def age(epoch_seconds: float) -> str:
    """How long ago, in the largest whole unit."""
    seconds = max(0, int(time.time() - epoch_seconds))
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def iso(epoch_seconds: float, timespec: str = "seconds") -> str:
    """A moment in UTC, ISO 8601."""
    moment = datetime.fromtimestamp(epoch_seconds, UTC)
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
