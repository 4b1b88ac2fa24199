"""Confirmation of what cannot be taken back: asked on the terminal, no is the default, `-y` answers yes.

Two steps, so that a command without a terminal is refused before anything else happens, also before the daemon is
asked what the question should say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from openboxd.cli.output import clean, fail

F = TypeVar("F", bound=Callable[..., object])

yes_option: Callable[[F], F] = click.option(
    "-y", "--yes", "--confirm", "yes", is_flag=True, help="Do not ask for confirmation."
)


def need_terminal(action: str, yes: bool) -> None:
    """Leave with status 2 if the question could not be asked."""
    if not yes and not _interactive():
        fail(f"{action} asks for confirmation and there is no terminal; nothing was done. Add -y to go ahead", 2)


def ask(question: str, yes: bool) -> None:
    """Return only after a yes; everything else leaves with status 1, Ctrl-C with 130."""
    if yes:
        return
    sys.stderr.write(f"{clean(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        fail("not confirmed; nothing was done")


def _interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()
