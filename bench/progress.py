"""What is being measured now: on a terminal a line that changes, elsewhere one line for each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

Tell = Callable[[str], None]
"""Takes what is done now, in a few words."""


def silent(text: str) -> None:
    """Tells nobody."""


@contextmanager
def telling(console: Console, what: str) -> Iterator[Tell]:
    """For the time of the block, show what is told, after `what` and with the seconds since the beginning."""
    begun = time.monotonic()

    def line(text: str) -> str:
        return f"{what}: {text} ({time.monotonic() - begun:.0f} s)"

    if not console.is_terminal:
        yield lambda text: console.print(f"  {line(text)}", highlight=False, markup=False, soft_wrap=True)
        return
    with console.status(what) as status:
        yield lambda text: status.update(line(text))
