"""`boxd machine events`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer, duration, iso, note, table
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.openboxd_host_pb2 import Event

HEAD = ("TIME", "WHAT", "OUTCOME", "TOOK", "BY", "ERROR")


@click.command("events", cls=Command)
@machine_argument
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many at most.")
@pass_state
def events(state: State, machine: str, limit: int) -> None:
    """Show what was done to machine NAME: by whom, when, how long it took and how it ended. The newest stand last.

    What nobody ordered is there as well: a crash, a guest that powered itself off, what a restarted daemon put in
    order. The last 1000 entries of a machine are kept.
    """

    async def work(client: Client) -> tuple[str, list[Event]]:
        vm = await client.machine(machine)
        return vm.name, await client.events(vm.vm_id, limit)

    name, found = state.run(work)
    answer(state, [_as_json(name, event) for event in found], table(HEAD, [_row(event) for event in found]))
    if not found and not state.json:
        note(f"nothing was done to machine {name} yet")


def _row(event: Event) -> tuple[str, ...]:
    return (
        iso(event.at_ms / 1000).replace("T", " ").removesuffix("Z"),
        f"{event.operation} {event.detail}".strip(),
        event.outcome,
        duration(event.duration_ms),
        event.actor_name or event.actor or "boxd",
        event.error,
    )


def _as_json(machine: str, event: Event) -> dict[str, Any]:
    return {
        "machine": machine,
        "at": iso(event.at_ms / 1000, "milliseconds"),
        "actor": event.actor,
        "actor_name": event.actor_name,
        "operation": event.operation,
        "detail": event.detail,
        "outcome": event.outcome,
        "duration_ms": event.duration_ms,
        "error": event.error,
    }
