"""`boxd machine list`, also `boxd ls`."""

from __future__ import annotations

import click

from openboxd.cli.base import Command
from openboxd.cli.machine.describe import as_row, reached, status
from openboxd.cli.output import age, answer, note, size, table
from openboxd.cli.ssh.refresh import refresh
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_org


@click.command("list", cls=Command)
@click.option("-l", "--label", "labels", multiple=True, metavar="KEY[=VALUE]", help="Only machines with this label.")
@click.option("--org", default="", metavar="ORG", shell_complete=complete_org, help="Only those of an organization.")
@pass_state
def list_machines(state: State, labels: tuple[str, ...], org: str) -> None:
    """List the machines (short: ls): your own, and those that are shared with you.

    A machine that is suspended has the status `standby`.

    With --json: an array of {name, status, url, source, sharing, id, https_url, vcpu, memory_bytes, image,
    created_at, owner}; `url` is the bare domain, `https_url` is empty while HTTPS is off.
    """
    machines = state.run(lambda client: client.machines(labels, org))
    rows: list[tuple[str, ...]] = [
        (
            vm.name,
            status(vm),
            str(vm.vcpu),
            size(vm.memory_bytes),
            vm.image_ref,
            age(vm.created_at),
            reached(vm.https_url),
        )
        for vm in machines
    ]
    head: tuple[str, ...] = ("NAME", "STATUS", "VCPU", "MEMORY", "IMAGE", "AGE", "URL")
    if any(vm.org for vm in machines):  # whose it is matters once something is shared
        head += ("OWNER", "SHARED WITH")
        rows = [(*row, vm.created_by_name, vm.org) for row, vm in zip(rows, machines, strict=True)]
    text = table(head, rows)
    answer(state, [as_row(vm) for vm in machines], text)
    refresh(state)  # machines may have come and gone by other hands
    if not machines and not state.json:
        note("there are no machines; 'boxd machine new' makes one")
