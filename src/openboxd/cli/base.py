"""Commands and groups of this program: each takes `--json`, and groups know `ls`, `rm` and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from openboxd.cli.state import State

FILLED = "openboxd.machine-left-out"
"""Set in a context whose machine was left out, and is the one that the command is typed in."""

ALIASES = {"ls": "list", "rm": "remove", "add": "new", "delete": "remove", "pause": "suspend"}


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(State).json = True


def json_option(*, hidden: bool = False) -> click.Option:
    """A new `--json` flag; where it stands makes no difference."""
    return click.Option(
        ["--json"],
        is_flag=True,
        is_eager=True,  # known when an option is carried out that answers by itself
        expose_value=False,
        callback=_remember,
        hidden=hidden,
        help="Print one JSON document on stdout, everything else on stderr.",
    )


class MachineArgument(click.Argument):
    """The machine that a command is about. In a machine it may be left out."""

    def make_metavar(self, ctx: click.Context) -> str:
        name = super().make_metavar(ctx)
        return f"[{name}]" if self.required and _here(ctx) else name


def _here(context: click.Context) -> str:
    state = context.find_object(State)
    return state.here.name if state is not None and state.here is not None else ""


def fill_in(here: str, params: Sequence[click.Parameter], given: dict[str, Any]) -> bool:
    """In a machine: put its name where the one of a machine was left out. Whether it was.

    Of the words that are not options, those that are there are the last ones: a single one is a checkpoint, say.
    """
    for param in params:
        if isinstance(param, click.Option) and param.name == "machine" and not isinstance(given.get("machine"), str):
            given["machine"] = here
    words = [param for param in params if isinstance(param, click.Argument)]
    if not words or not isinstance(words[0], MachineArgument):
        return False
    found = [given[name] for word in words if isinstance(given.get(name := word.name or ""), str)]
    if not found:
        given["machine"] = here
        return True
    last = words[-1]
    if last.nargs == -1 and "=" in found[0] and last.name:  # no machine has such a name
        edits = given.get(last.name)
        given[last.name] = (found[0], *(edits if isinstance(edits, tuple) else ()))
        given["machine"] = here
        return True
    if last.nargs != -1 and len(found) < len(words):
        given.update({word.name or "": value for word, value in zip(words, [here, *found], strict=False)})
        return True
    return False


class PipeClosed(Exception):
    """Whoever read our output has left. Not an OSError: click would take that for a failure of its own."""


class Command(click.Command):
    """A command with `--json`."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.append(json_option())

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        if here := _here(ctx):
            parse = parser.parse_args

            def parse_and_fill(args: list[str]) -> Any:
                given, rest, order = parse(args)
                ctx.meta[FILLED] = fill_in(here, self.get_params(ctx), given)
                return given, rest, order

            parser.parse_args = parse_and_fill
        return parser

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise PipeClosed from None


class BareCommand(Command):
    """A command whose output has no JSON form. Asked for one it refuses, so that no script takes it for JSON."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params[-1] = json_option(hidden=True)

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.ensure_object(State).json:
            raise click.UsageError(f"'{ctx.command_path}' has no JSON form; leave --json out", ctx)
        return super().invoke(ctx)


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
