"""`boxd machine rename`, `resize` and `label`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.describe import machine_argument, status
from openboxd.cli.output import answer, clean, size
from openboxd.cli.progress import watching
from openboxd.cli.ssh.refresh import refresh
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import LABEL, SizeType

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse, ResizeVmResponse


@click.command("rename", cls=Command)
@machine_argument
@click.argument("new", metavar="NEW")
@pass_state
def rename(state: State, machine: str, new: str) -> None:
    """Give machine NAME the name NEW. A machine that runs is rebooted: its hostname comes with the boot.

    Its id, address, disk and checkpoints stay.

    With --json: {name, id, status}.
    """

    async def work(client: Client) -> GetVmResponse:
        with going_on(f"renaming {machine} goes on; see 'boxd machine list'"):
            async with watching(client, machine, f"renaming {machine}"):
                name = await client.rename(machine, new)
        return await client.machine(name)

    vm = state.run(work)
    refresh(state)
    data = {"name": vm.name, "id": vm.vm_id, "status": status(vm)}
    answer(state, data, f"machine {machine} is now {vm.name} and {status(vm)}")


@click.command("resize", cls=Command)
@machine_argument
@click.option("--vcpu", type=click.IntRange(1, 64), help="Number of virtual CPUs.")
@click.option("--memory", type=SizeType(), help="RAM, such as 4G.")
@pass_state
def resize(state: State, machine: str, vcpu: int | None, memory: int | None) -> None:
    """Give machine NAME another size. One that runs is rebooted, a stopped one has it from its next start.

    Naming one dimension fixes the other: 4 GiB for each vCPU, at least one. Checkpoints keep the size they were taken
    with, and restoring one brings it back.

    With --json: {name, vcpu, memory_bytes, rebooted}.
    """
    if vcpu is None and memory is None:
        raise click.UsageError("say --vcpu, --memory or both")

    async def work(client: Client) -> ResizeVmResponse:
        with going_on(f"resizing {machine} goes on; see 'boxd machine get {machine}'"):
            async with watching(client, machine, f"resizing {machine}"):
                return await client.resize(machine, vcpu or 0, memory or 0)

    done = state.run(work)
    data = {
        "name": machine,
        "vcpu": done.vcpu,
        "memory_bytes": done.memory_bytes,
        "rebooted": done.rebooted,
    }
    what = f"machine {machine} has {done.vcpu} vCPU and {size(done.memory_bytes)}"
    answer(state, data, f"{what}, and was rebooted" if done.rebooted else what)


@click.command("label", cls=Command)
@machine_argument
@click.argument("edits", metavar="KEY=VALUE|KEY-...", nargs=-1)
@pass_state
def label(state: State, machine: str, edits: tuple[str, ...]) -> None:
    """Set labels of machine NAME (KEY=VALUE) and remove others (KEY-), all at once. Without edits: show them.

    With --json: an object of all labels.
    """
    removed = [edit.removesuffix("-") for edit in edits if "=" not in edit and edit.endswith("-")]
    wanted = dict(LABEL.convert(edit, None, None) for edit in edits if "=" in edit or not edit.endswith("-"))

    async def work(client: Client) -> dict[str, str]:
        if not edits:
            return dict((await client.machine(machine)).labels)
        return await client.update_labels(machine, wanted, removed)

    labels = dict(sorted(state.run(work).items()))
    answer(state, labels, "\n".join(clean(f"{key}={value}") for key, value in labels.items()))
