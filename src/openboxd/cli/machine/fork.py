"""`boxd machine fork`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.machine.making import idle_options, labels_option, show_made, until_running
from openboxd.cli.progress import watching
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import GIVEN

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.command("fork", cls=Command)
@machine_argument
@click.argument("name", metavar="[NEW]", type=GIVEN, required=False, default=None)
@click.option(
    "--from-checkpoint",
    "checkpoint",
    metavar="CHECKPOINT",
    type=GIVEN,
    help="Copy what the machine was at this checkpoint; the machine itself is left alone.",
)
@labels_option("A further label; may be repeated.")
@idle_options("the copy", "; 0 for never (default: as NAME)")
@click.option(
    "--isolated", is_flag=True, help="Give the copy no way to boxd from inside (a copy of an isolated one has none)."
)
@click.option("--shared", is_flag=True, help="Let all members of NAME's organization use the copy.")
@click.option("--no-wait", is_flag=True, help="Do not wait for a copy that has to boot.")
@pass_state
def fork(
    state: State,
    machine: str,
    name: str | None,
    checkpoint: str | None,
    labels: tuple[tuple[str, str], ...],
    auto_suspend: int | None,
    auto_hibernate: int | None,
    isolated: bool,
    shared: bool,
    no_wait: bool,
) -> None:
    """Make machine NEW, a copy of machine NAME as it is now: memory, disk and processes go on in both.

    NAME goes on; it is paused for a fraction of a second. The copy is a machine of its own, with its own address
    and keys, and has the size, labels and settings of NAME, but not its checkpoints, routes and exposed ports.
    What was connected to NAME stays connected to NAME. It is yours alone unless you share it. A stopped machine
    is copied from its disk, and its copy boots. Without NEW the copy is called <name>-fork.

    With --json: {name, id, status, url, https_url, source, boot}.
    """

    async def work(client: Client) -> GetVmResponse:
        with going_on(f"the fork of {machine} goes on; see 'boxd machine list'"):
            async with watching(client, machine, f"forking {machine}"):
                made = await client.fork(
                    machine,
                    name or "",
                    checkpoint=checkpoint or "",
                    labels=dict(labels),
                    auto_suspend=auto_suspend,
                    auto_hibernate=auto_hibernate,
                    isolated=isolated,
                    shared=shared,
                )
            if no_wait:
                return await client.machine(made.vm_id)
            async with watching(client, made.vm_id, f"starting {made.name}"):
                return await until_running(client, made.vm_id, made.name)

    show_made(state, state.run(work), copied=True)
