"""Ctrl-C while the daemon works: it ends this command and not the work, and that is said."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import click

from openboxd.cli.state import State


@contextmanager
def going_on(text: str) -> Iterator[None]:
    """If the block is interrupted, `text` is this command's last word.

    The interruption is a cancellation here and goes on as one; the word is left in the state of this invocation, to
    be said when progress bars are gone from the terminal.
    """
    try:
        yield
    except asyncio.CancelledError:
        click.get_current_context().ensure_object(State).last_word = text
        raise
