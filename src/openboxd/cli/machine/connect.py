"""`boxd connect`: a login shell in a machine."""

from __future__ import annotations

import os
import sys

import click

from openboxd.cli.base import BareCommand
from openboxd.cli.hints import report
from openboxd.cli.machine import terminal
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.machine.exec import NOT_RUN
from openboxd.cli.machine.session import run, to_standard_streams
from openboxd.cli.machine.shell import login_shell
from openboxd.cli.output import fail, note
from openboxd.cli.ssh.login import login, way_to
from openboxd.cli.state import State, pass_state
from openboxd.errors import BoxdError, Interrupted, NotFound
from openboxd.model import ExecOutput, ExecRequest


@click.command("connect", cls=BareCommand)
@click.option("--agent", "by_agent", is_flag=True, help="Not by SSH, but through the machine's agent.")
@machine_argument
@pass_state
def connect(state: State, machine: str, by_agent: bool) -> None:
    """Open a login shell in machine NAME. It needs a terminal.

    By SSH, with a key of this computer's own that is linked for it; where that is not possible, through the machine's
    agent. The exit status is the shell's. 125: it could not be run or its end is unknown; stderr says why.
    """
    if not terminal.both_are_terminals():
        fail("connect needs a terminal; to run one command use 'boxd machine exec'", 2)
    try:
        status = None if by_agent or state.here is not None else _by_ssh(state, machine)
        if status is None:
            status = _by_agent(state, machine)
    except BoxdError as error:
        report(state, error)
        raise click.exceptions.Exit(NOT_RUN) from None
    raise click.exceptions.Exit(status)


def _by_ssh(state: State, machine: str) -> int | None:
    """The shell's exit status; None if nobody could be logged in. Raises BoxdError if that is final."""
    try:
        way = way_to(state, machine)
        return login(way) if way is not None else None  # what the agent's way answers says why
    except (NotFound, Interrupted):
        raise
    except (BoxdError, OSError) as error:
        note(f"SSH is not possible ({error}); this shell comes through the machine's agent")
        return None


def _by_agent(state: State, machine: str) -> int:
    """The same by a command with a terminal. Raises BoxdError."""
    cols, rows = terminal.size()
    request = ExecRequest(login_shell(os.environ.get("TERM", "")), tty=True, cols=cols, rows=rows)
    last = b"\n"

    def show(piece: ExecOutput) -> None:
        nonlocal last
        to_standard_streams(piece)
        last = piece.data[-1:] or last

    try:
        return state.run(lambda client: run(client, machine, request, show))
    finally:
        if last != b"\n" and sys.exc_info()[0] is not None:
            print(file=sys.stderr)  # the shell's line was cut; what went wrong begins on one of its own
