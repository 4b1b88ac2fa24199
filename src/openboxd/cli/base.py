"""Commands and groups of this program: each takes `--json`, and groups know `ls`, `rm` and the like."""

from __future__ import annotations

from typing import Any

import click

from openboxd.cli.state import State

FILLED = "openboxd.machine-left-out"
"""Set in a context whose machine was left out, and is the one that the command is typed in."""

ALIASES = {"ls": "list", "rm": "remove", "add": "new", "delete": "remove", "pause": "suspend"}


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(State).json = True


def json_option() -> click.Option:
    """A new `--json` flag; where it stands makes no difference."""
    return click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Print one JSON document on stdout, everything else on stderr.",
    )


class PipeClosed(Exception):
    """Whoever read our output has left. Not an OSError: click would take that for a failure of its own."""


class Command(click.Command):
    """A command with `--json`."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.append(json_option())

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise PipeClosed from None


class Group(click.Group):
    """A group whose commands take `--json`, as it does itself."""

    command_class = Command

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.append(json_option())

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        found = super().get_command(context, name)
        if found is None and name in ALIASES:
            found = super().get_command(context, ALIASES[name])
        return found


Group.group_class = Group
