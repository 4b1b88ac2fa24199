"""`boxd machine suspend` (also `pause`), `resume`, `hibernate` and `wake`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.describe import boot, machine_argument, status
from openboxd.cli.output import answer
from openboxd.cli.progress import watching
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.command("suspend", cls=Command)
@machine_argument
@pass_state
def suspend(state: State, machine: str) -> None:
    """Pause machine NAME. Its memory stays in the host's, so it goes on at once.

    Whoever uses it resumes it: a connection to its domain, SSH port or an exposed port, a command or a file copied.
    Connections stay open. Harmless if it is suspended. `boxd machine pause` is the same.

    With --json: {name, id, status, suspend_us}.
    """
    vm, took = _carry_out(state, machine, "suspending", lambda client: client.suspend(machine))
    _tell(state, vm, {"suspend_us": took}, f" after {took / 1000:.1f} ms" if took else "")


@click.command("resume", cls=Command)
@machine_argument
@pass_state
def resume(state: State, machine: str) -> None:
    """Let the suspended machine NAME go on. Harmless if it runs.

    With --json: {name, id, status, resume_us}.
    """
    vm, took = _carry_out(state, machine, "resuming", lambda client: client.resume(machine))
    _tell(state, vm, {"resume_us": took}, f" after {took / 1000:.1f} ms" if took else "")


@click.command("hibernate", cls=Command)
@machine_argument
@pass_state
def hibernate(state: State, machine: str) -> None:
    """Put the memory of machine NAME to disk and end its process: it takes no memory of the host any more.

    Whoever uses it wakes it, as with a suspended machine; open connections are cut. It may be running or suspended,
    and survives a reboot of the host. Harmless if it is hibernated.

    With --json: {name, id, status}.
    """
    vm, _ = _carry_out(state, machine, "hibernating", lambda client: client.hibernate(machine))
    _tell(state, vm, {}, "")


@click.command("wake", cls=Command)
@machine_argument
@pass_state
def wake(state: State, machine: str) -> None:
    """Let the hibernated machine NAME go on where it was. Harmless if it runs.

    With --json: {name, id, status, boot}.
    """
    vm, _ = _carry_out(state, machine, "waking", lambda client: client.wake(machine))
    _tell(state, vm, {"boot": boot(vm)}, "")


def _carry_out(
    state: State, machine: str, title: str, change: Callable[[Client], Awaitable[int | None]]
) -> tuple[GetVmResponse, int]:
    """The machine afterwards, and the microseconds that the daemon told."""

    async def work(client: Client) -> tuple[GetVmResponse, int]:
        with going_on(f"{title} {machine} goes on; see 'boxd machine get {machine}'"):
            async with watching(client, machine, f"{title} {machine}"):
                took = await change(client)
        return await client.machine(machine), took or 0

    return state.run(work)


def _tell(state: State, vm: GetVmResponse, more: dict[str, Any], after: str) -> None:
    data = {"name": vm.name, "id": vm.vm_id, "status": status(vm), **more}
    answer(state, data, f"machine {vm.name} is {status(vm)}{after}")
