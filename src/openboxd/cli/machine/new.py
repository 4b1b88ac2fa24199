"""`boxd machine new`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.making import idle_options, labels_option, show_made, until_running
from openboxd.cli.output import note
from openboxd.cli.progress import watching
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import GIVEN, SizeType, complete_image, complete_org, complete_snapshot

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.command("new", cls=Command)
@click.argument("name", type=GIVEN, required=False, default=None)
@click.option("--vcpu", type=click.IntRange(1, 64), help="Number of virtual CPUs (default: 2).")
@click.option("--memory", type=SizeType(), help="RAM, such as 1G (default: 8G).")
@click.option(
    "--image",
    type=GIVEN,
    shell_complete=complete_image,
    help="Image to start from (default: the daemon's default image).",
)
@click.option(
    "--from-snapshot",
    "snapshot",
    type=GIVEN,
    metavar="SNAPSHOT",
    shell_complete=complete_snapshot,
    help="Go on where this snapshot was saved, with its memory, disk and size; NAME:vN asks for version N.",
)
@labels_option("A label; may be repeated.")
@idle_options("it", " (default: 0, never)")
@click.option("--isolated", is_flag=True, help="Give it no way to boxd from inside: no command, no metadata.")
@click.option(
    "--org", default="", metavar="ORG", shell_complete=complete_org, help="Let it belong to an organization."
)
@click.option("--shared", is_flag=True, help="Let all members of the organization use it.")
@click.option("--no-wait", is_flag=True, help="Return as soon as the machine is accepted, while it boots.")
@pass_state
def new(
    state: State,
    name: str | None,
    vcpu: int | None,
    memory: int | None,
    image: str | None,
    snapshot: str | None,
    labels: tuple[tuple[str, str], ...],
    auto_suspend: int | None,
    auto_hibernate: int | None,
    isolated: bool,
    org: str,
    shared: bool,
    no_wait: bool,
) -> None:
    """Make machine NAME and wait until it runs.

    Without NAME the daemon suggests one, which a terminal lets you change. Naming one of --vcpu and --memory fixes
    the other: 4 GiB for each vCPU, at least one.

    With --from-snapshot the machine goes on where the snapshot's stood, with a name, an address and host keys of its
    own; labels come on top of the captured ones.

    With --json: {name, id, status, url, https_url, source, boot}; boot is null while the machine still boots.
    """
    if not name and not state.json and sys.stdin.isatty() and sys.stderr.isatty():
        name = _prompt(state.run(lambda client: client.suggest_name()))

    if snapshot and image:
        raise click.UsageError("--from-snapshot and --image exclude each other: a snapshot has its own image")
    if snapshot and (org or shared):
        raise click.UsageError("a machine from a snapshot is your own; share it with 'boxd machine share'")

    async def work(client: Client) -> GetVmResponse:
        size = {"vcpu": vcpu or 0, "memory_bytes": memory or 0}
        if snapshot:
            with going_on("the machine is made all the same; see 'boxd machine list'"):
                created = await client.create_from_snapshot(
                    snapshot, name or "", **size, labels=dict(labels), isolated=isolated, wait=not no_wait
                )
        else:
            created = await client.create(
                name or "", image=image or "", **size, labels=dict(labels), isolated=isolated, org=org, shared=shared
            )
        if auto_suspend is not None:
            await client.set_auto_suspend(created.vm_id, auto_suspend)
        if auto_hibernate is not None:
            await client.set_auto_hibernate(created.vm_id, auto_hibernate)
        if created.boots_first and not state.json:
            note(
                "this machine boots, which takes longer; later ones of its size start warm, once the host has had "
                "time to prepare that (see WARM in 'boxd image list')"
            )
        if no_wait:
            return await client.machine(created.vm_id)
        with going_on(f"{created.name} is made and goes on starting; see 'boxd machine get {created.name}'"):
            async with watching(client, created.vm_id, f"starting {created.name}"):
                return await until_running(client, created.vm_id, created.name)

    show_made(state, state.run(work))


def _prompt(suggested: str) -> str:
    """A name from the person at the terminal; the prompt stays off stdout."""
    sys.stderr.write(f"Name [{suggested}]: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    return line.strip() or suggested
