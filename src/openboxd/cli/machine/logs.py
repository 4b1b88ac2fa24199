"""`boxd machine logs`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from openboxd.cli.base import BareCommand
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.machine.session import to_standard_streams
from openboxd.cli.state import State, pass_state
from openboxd.model import ExecOutput

if TYPE_CHECKING:
    from openboxd.client.client import Client

STEERING = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What could steer the terminal of whoever looks: a machine prints what it likes on its console."""


@click.command("logs", cls=BareCommand)
@machine_argument
@click.option("-f", "--follow", is_flag=True, help="Go on with what it says, until the machine is removed.")
@pass_state
def logs(state: State, machine: str, follow: bool) -> None:
    """Show the last of the console of machine NAME (4 MiB are kept).

    Raw bytes, except on a terminal, which is spared control characters. There is no --json form.
    """
    spare = sys.stdout.isatty()

    async def work(client: Client) -> None:
        async for piece in client.logs(machine, follow=follow):
            to_standard_streams(ExecOutput(STEERING.sub(b"", piece) if spare else piece))

    state.run(work)
