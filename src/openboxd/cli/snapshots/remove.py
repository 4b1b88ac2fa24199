"""`boxd snapshots remove`."""

from __future__ import annotations

import click

from openboxd.cli.base import Command
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.output import answer
from openboxd.cli.snapshots.describe import snapshot_argument
from openboxd.cli.state import State, pass_state


@click.command("remove", cls=Command)
@snapshot_argument
@yes_option
@pass_state
def remove(state: State, name: str, yes: bool) -> None:
    """Remove SNAPSHOT for good (short: rm). Machines that were made from it stay as they are.

    Asks for confirmation unless -y is given.
    """
    need_terminal("removing a snapshot", yes)
    found = state.run(lambda client: client.snapshot(name))
    ask(f"Remove snapshot '{found.name}' with all it holds? It cannot be brought back.", yes)
    state.run(lambda client: client.remove_snapshot(found.snapshot_id))
    data = {"snapshot": found.name, "snapshot_id": found.snapshot_id, "removed": True}
    answer(state, data, f"snapshot {found.name} was removed")
