"""Failures in words, with a hint where a name was probably mistyped."""

from __future__ import annotations

import asyncio
import difflib
import re
from typing import TYPE_CHECKING

from openboxd.cli.output import note, report_error
from openboxd.cli.state import State
from openboxd.errors import BoxdError, NotFound

if TYPE_CHECKING:
    from openboxd.client.client import Client

LIMIT = 2.0
"""Seconds that looking for a hint may take."""

# The exact words of errors.machine_not_found and errors.checkpoint_not_found.
MACHINE = re.compile(r"VM '(.*)' not found")
CHECKPOINT = re.compile(r"checkpoint '(.*)' not found on machine '(.*)'")


def report(state: State, error: BoxdError) -> None:
    """The line of error, and for people a second one that begins with `hint:` if there is something to say."""
    report_error(error.message)
    if state.json or not isinstance(error, NotFound):
        return
    wanted, known = _names(state, error.message)
    close = difflib.get_close_matches(wanted, known, n=1) if wanted else []
    if close:
        note(f"hint: did you mean '{close[0]}'?")
    elif match := CHECKPOINT.fullmatch(error.message):
        note(f"hint: 'boxd machine checkpoint list {match[2]}' shows what there is")


def _names(state: State, message: str) -> tuple[str, list[str]]:
    """The name that was not found, and those that could have been meant."""

    async def look(client: Client) -> tuple[str, list[str]]:
        if match := CHECKPOINT.fullmatch(message):
            return match[1], [found.name for found in await client.checkpoints(match[2])]
        if match := MACHINE.fullmatch(message):
            return match[1], [found.name for found in await client.machines()]
        return "", []

    async def bounded(client: Client) -> tuple[str, list[str]]:
        return await asyncio.wait_for(look(client), LIMIT)

    try:
        return state.run(bounded)
    except (BoxdError, TimeoutError):
        return "", []  # the error itself has been told
