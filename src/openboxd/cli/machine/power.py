"""`boxd machine start`, `stop` and `reboot`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.describe import machine_argument, status
from openboxd.cli.output import answer, note
from openboxd.cli.progress import watching
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.command("start", cls=Command)
@machine_argument
@pass_state
def start(state: State, machine: str) -> None:
    """Boot the stopped machine NAME from its disk; one that sleeps goes on instead. Harmless if it runs."""

    async def begin(client: Client) -> None:
        vm = None if state.json else await client.machine(machine)
        if vm is not None and status(vm) in ("stopped", "failed"):
            note(f"machine {vm.name} boots from its disk, which takes longer than waking up")
        await client.start(machine)

    _apply(state, machine, "starting", begin)


@click.command("stop", cls=Command)
@machine_argument
@pass_state
def stop(state: State, machine: str) -> None:
    """Shut machine NAME down. What is only in its memory is lost; disk and checkpoints stay."""
    _apply(state, machine, "stopping", lambda client: client.stop(machine))


@click.command("reboot", cls=Command)
@machine_argument
@pass_state
def reboot(state: State, machine: str) -> None:
    """Shut machine NAME down and boot it again. Memory and connections are lost."""
    _apply(state, machine, "rebooting", lambda client: client.reboot(machine))


def _apply(state: State, machine: str, title: str, change: Callable[[Client], Awaitable[None]]) -> None:
    async def work(client: Client) -> GetVmResponse:
        with going_on(f"{title} {machine} goes on; see 'boxd machine get {machine}'"):
            async with watching(client, machine, f"{title} {machine}"):
                await change(client)
        return await client.machine(machine)

    vm = state.run(work)
    answer(state, {"name": vm.name, "id": vm.vm_id, "status": status(vm)}, f"machine {vm.name} is {status(vm)}")
