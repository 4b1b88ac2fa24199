"""`boxd machine checkpoint verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command
from openboxd.cli.checkpoint.describe import pick
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer, duration, fail, note, size
from openboxd.cli.progress import bar
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import GIVEN, complete_checkpoint
from openboxd.errors import OutcomeUnknown

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.openboxd_host_pb2 import Damage, Verification


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
    async with bar(f"verifying {name}") as show:
        async for item in client.verify_checkpoint(machine, name):
            if item.HasField("result"):
                return item.result
            show(item.progress)
    raise OutcomeUnknown(f"the verification of checkpoint '{name}' ended without a result; try again")


def _verdict(found: Verification) -> str:
    if found.damages:
        return "damaged"
    return "ok" if found.sealed else "unknown"


def _as_json(machine: str, found: Verification) -> dict[str, Any]:
    return {
        "machine": machine,
        "checkpoint": found.checkpoint,
        "verdict": _verdict(found),
        "checked_bytes": found.checked_bytes,
        "duration_ms": found.duration_ms,
        "damages": [{"file": d.file, "start": d.start, "end": d.end, "text": d.text} for d in found.damages],
    }


def _text(machine: str, found: Verification) -> str:
    lines = [f"checkpoint {found.checkpoint} on machine {machine} is {_verdict(found)}"]
    if found.sealed and found.checked_bytes:
        lines[0] += f" ({size(found.checked_bytes)} read in {duration(found.duration_ms)})"
    return "\n".join([*lines, *(f"  {_place(each)} {each.text}" for each in found.damages)])


def _place(found: Damage) -> str:
    return f"{found.file}, bytes {found.start} to {found.end}," if found.end else found.file
