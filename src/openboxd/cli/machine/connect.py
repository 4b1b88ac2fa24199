"""`boxd connect`: a login shell in a machine."""

from __future__ import annotations

import os
import sys

import click

from openboxd.cli.base import Command
from openboxd.cli.hints import report
from openboxd.cli.machine import terminal
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.machine.exec import NOT_RUN
from openboxd.cli.machine.session import run, to_standard_streams
from openboxd.cli.machine.shell import login_shell
from openboxd.cli.output import fail
from openboxd.cli.state import State, pass_state
from openboxd.errors import BoxdError
from openboxd.model import ExecOutput, ExecRequest


@click.command("connect", cls=Command)
@machine_argument
@pass_state
def connect(state: State, machine: str) -> None:
    """Open a login shell in machine NAME. It needs a terminal.

    The exit status is the shell's. 125: it could not be run or its end is unknown; stderr says why.
    """
    if not terminal.both_are_terminals():
        fail("connect needs a terminal; to run one command use 'boxd machine exec'", 2)
    cols, rows = terminal.size()
    request = ExecRequest(login_shell(os.environ.get("TERM", "")), tty=True, cols=cols, rows=rows)
    last = b"\n"

    def show(piece: ExecOutput) -> None:
        nonlocal last
        to_standard_streams(piece)
        last = piece.data[-1:] or last

    try:
        status = state.run(lambda client: run(client, machine, request, show))
    except BoxdError as error:
        if last != b"\n":
            print(file=sys.stderr)  # the shell's line was cut; the error begins on one of its own
        report(state, error)
        raise click.exceptions.Exit(NOT_RUN) from None
    raise click.exceptions.Exit(status)
