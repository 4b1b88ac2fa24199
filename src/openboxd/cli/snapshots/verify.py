"""`boxd snapshots verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.output import answer, fail, note
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import GIVEN, complete_snapshot
from openboxd.cli.verdict import as_json, as_text, read

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.openboxd_host_pb2 import Verification


@click.command("verify", cls=Command)
@click.argument("snapshot", type=GIVEN, required=False, default=None, shell_complete=complete_snapshot)
@pass_state
def verify(state: State, snapshot: str | None) -> None:
    """Read SNAPSHOT, or all of them, and compare every byte with what was saved.

    Changes nothing; machines can be made from it meanwhile. The exit status is 1 if anything is damaged.
    """

    async def work(client: Client) -> list[Verification]:
        wanted = [snapshot] if snapshot else [found.name for found in await client.snapshots() if found.version]
        return [await read(f"snapshot {name}", client.verify_snapshot(name)) for name in wanted]

    found = state.run(work)
    data = [{"snapshot": each.checkpoint, **as_json(each)} for each in found]
    answer(state, data, "\n".join(as_text(f"snapshot {each.checkpoint}", each) for each in found))
    damaged = [each.checkpoint for each in found if each.damages]
    if damaged:
        fail(f"damaged: {', '.join(damaged)}; remove what is damaged and save again")
    if not found and not state.json:
        note("you have no snapshots that are ready")
