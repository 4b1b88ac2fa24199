"""`boxd version`."""

from __future__ import annotations

import click

from openboxd import __version__
from openboxd.cli.base import Command
from openboxd.cli.output import answer
from openboxd.cli.state import State, pass_state


@click.command("version", cls=Command)
@pass_state
def version(state: State) -> None:
    """Print the version of this program."""
    answer(state, {"version": __version__}, f"boxd {__version__}")
