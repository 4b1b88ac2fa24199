"""`boxd machine checkpoint verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command
from openboxd.cli.checkpoint.describe import pick
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer, fail, note
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import GIVEN, complete_checkpoint
from openboxd.cli.verdict import as_json, as_text, read

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.openboxd_host_pb2 import Verification


@click.command("verify", cls=Command)
@machine_argument
@click.argument("checkpoint", type=GIVEN, required=False, default=None, shell_complete=complete_checkpoint)
@pass_state
def verify(state: State, machine: str, checkpoint: str | None) -> None:
    """Read CHECKPOINT of machine NAME, or all of them, and compare every byte with what was saved.

    Changes nothing; the machine and its other operations go on. The exit status is 1 if anything is damaged. A
    checkpoint that was saved by an early release has no digests: it is `unknown`.
    """

    async def work(client: Client) -> tuple[str, list[Verification]]:
        vm = await client.machine(machine)
        checkpoints = await client.checkpoints(vm.vm_id)
        wanted = [pick(vm.name, checkpoints, checkpoint)] if checkpoint else checkpoints
        names = [found.name for found in wanted if checkpoint or found.status == "ready"]
        return vm.name, [await _one(client, vm.vm_id, name) for name in names]

    name, found = state.run(work)
    answer(state, [_as_json(name, each) for each in found], "\n".join(_text(name, each) for each in found))
    damaged = [each.checkpoint for each in found if each.damages]
    if damaged:
        fail(f"damaged on machine '{name}': {', '.join(damaged)}; remove what is damaged and save again")
    if not found and not state.json:
        note(f"machine {name} has no checkpoints that are ready")


async def _one(client: Client, machine: str, name: str) -> Verification:
    return await read(f"checkpoint {name}", client.verify_checkpoint(machine, name))


def _as_json(machine: str, found: Verification) -> dict[str, Any]:
    return {"machine": machine, "checkpoint": found.checkpoint, **as_json(found)}


def _text(machine: str, found: Verification) -> str:
    return as_text(f"checkpoint {found.checkpoint} on machine {machine}", found)
