"""`boxd machine exec`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command
from openboxd.cli.hints import report
from openboxd.cli.machine import terminal
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.machine.session import Sink, run, to_standard_streams
from openboxd.cli.machine.shell import shell_line
from openboxd.cli.output import answer, report_error
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import VARIABLE
from openboxd.errors import BoxdError
from openboxd.model import ExecOutput, ExecRequest

if TYPE_CHECKING:
    from openboxd.client.client import Client

NOT_RUN = 125
TIMED_OUT = 124


class ExecCommand(Command):
    """Options may stand before and after NAME; from the first word of the command on, everything is the command's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._sorted(ctx, args))

    def _sorted(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options first, then `--`, NAME and the command untouched."""
        with_value = {
            name
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        options: list[str] = []
        names: list[str] = []
        rest = list(args)
        while rest:
            word = rest.pop(0)
            if word == "--":
                # Before the name it ends the options, after it it begins the command.
                return [*options, "--", *names, *rest]
            if word.startswith("-") and word != "-":
                options.append(word)
                if word in with_value and rest:
                    options.append(rest.pop(0))
            elif names:
                return [*options, "--", *names, word, *rest]
            else:
                names.append(word)
        return [*options, "--", *names]


@click.command("exec", cls=ExecCommand, options_metavar="[OPTIONS]")
@machine_argument
@click.argument("command", metavar="[--] COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("-e", "--env", "variables", type=VARIABLE, multiple=True, metavar="NAME=VALUE", help="Set a variable.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End it after this.")
@click.option("-n", "--no-stdin", is_flag=True, help="Do not read stdin, as inside a 'while read' loop.")
@click.option("--tty", is_flag=True, help="Give the command a terminal.")
@pass_state
def exec_command(
    state: State,
    machine: str,
    command: tuple[str, ...],
    variables: tuple[tuple[str, str], ...],
    timeout: float | None,
    no_stdin: bool,
    tty: bool,
) -> None:
    """Run COMMAND in machine NAME, as user boxd in /home/boxd.

    Arguments arrive as they are given here. A COMMAND of a single argument is a line for the machine's shell, as in
    'cd /srv && make'. stdin, stdout and stderr are connected and binary safe.

    The exit status is the command's own. 124: --timeout ran out and the command was killed. 125: it could not be run
    or its end is unknown; stderr says why. 130: Ctrl-C, which ends the command.

    With --json: {output, exit_code}, where output holds stdout and stderr in the order they came. If they are not
    UTF-8, what is not is replaced in output, and {"binary": true} comes with it.
    """
    cols, rows = terminal.size()
    request = ExecRequest(shell_line(command, variables), tty=tty, cols=cols, rows=rows)
    output = bytearray()

    def collect(piece: ExecOutput) -> None:
        output.extend(piece.data)

    sink: Sink = collect if state.json else to_standard_streams
    try:
        status = state.run(lambda client: _bounded(client, machine, request, sink, timeout, not no_stdin))
    except BoxdError as error:
        report(state, error)
        raise click.exceptions.Exit(NOT_RUN) from None
    if state.json:
        answer(state, {**decoded(output), "exit_code": status}, "")
    raise click.exceptions.Exit(status)


def decoded(output: bytearray) -> dict[str, Any]:
    """Text that says when it is not all there is to the bytes."""
    try:
        return {"output": output.decode()}
    except UnicodeDecodeError:
        return {"output": output.decode("utf-8", "replace"), "binary": True}


async def _bounded(
    client: Client, machine: str, request: ExecRequest, sink: Sink, limit: float | None, stdin: bool
) -> int:
    try:
        async with asyncio.timeout(limit):
            return await run(client, machine, request, sink, stdin=stdin)
    except TimeoutError:
        report_error(f"the command ran longer than {limit:g} s on machine '{machine}' and was killed")
        return TIMED_OUT
