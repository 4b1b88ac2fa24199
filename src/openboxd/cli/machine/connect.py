"""`boxd connect`: a login shell in a machine."""

from __future__ import annotations

import os

import click

from openboxd.cli.base import Command
from openboxd.cli.machine import terminal
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.machine.session import run, to_standard_streams
from openboxd.cli.machine.shell import login_shell
from openboxd.cli.output import fail
from openboxd.cli.state import State, pass_state
from openboxd.model import ExecRequest


@click.command("connect", cls=Command)
@machine_argument
@pass_state
def connect(state: State, machine: str) -> None:
    """Open a login shell in machine NAME. It needs a terminal; the exit status is the shell's."""
    if not terminal.both_are_terminals():
        fail("connect needs a terminal; to run one command use 'boxd machine exec'", 2)
    cols, rows = terminal.size()
    request = ExecRequest(login_shell(os.environ.get("TERM", "")), tty=True, cols=cols, rows=rows)
    status = state.run(lambda client: run(client, machine, request, to_standard_streams))
    raise click.exceptions.Exit(status)
