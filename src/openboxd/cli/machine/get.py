"""`boxd machine get`."""

from __future__ import annotations

import click

from openboxd.cli.base import Command
from openboxd.cli.machine.describe import as_json, machine_argument, reached
from openboxd.cli.output import answer, facts, size
from openboxd.cli.state import State, pass_state


@click.command("get", cls=Command)
@machine_argument
@pass_state
def get(state: State, machine: str) -> None:
    """Show everything about machine NAME (or its id)."""
    vm = state.run(lambda client: client.machine(machine))
    data = as_json(vm)
    shown = {
        **data,
        "url": reached(vm.https_url),
        "https_url": "",
        "memory_bytes": size(vm.memory_bytes),
        "resident_bytes": size(vm.resident_bytes),
        "disk_bytes": size(vm.disk_bytes),
        "egress": ",".join(vm.egress_allow),
        "ssh_port": vm.ssh_port or "",
        "problems": "; ".join(vm.problems),
        "labels": ",".join(f"{key}={value}" for key, value in sorted(vm.labels.items())),
    }
    pairs = [(name.removesuffix("_bytes"), str(value)) for name, value in shown.items() if value != ""]
    answer(state, data, facts(pairs))
