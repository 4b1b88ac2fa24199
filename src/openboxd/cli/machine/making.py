"""What all commands share that make a machine: options, the wait until it runs, and what is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openboxd.cli.machine.describe import boot, reached, status, url
from openboxd.cli.output import answer, facts
from openboxd.cli.ssh.refresh import refresh
from openboxd.cli.state import State
from openboxd.cli.types import LABEL
from openboxd.errors import MachineLost, OutcomeUnknown

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse

F = TypeVar("F", bound=Callable[..., Any])

POLL = 0.25
WAIT_LIMIT = 600.0
"""Seconds after which a boot counts as never ending: the daemon gives up on one much earlier."""


def labels_option(text: str) -> Callable[[F], F]:
    """--label, as `labels`."""
    return click.option("--label", "labels", type=LABEL, multiple=True, metavar="KEY=VALUE", help=text)


def idle_options(whom: str, default: str) -> Callable[[F], F]:
    """Both idle timers, as `auto_suspend` and `auto_hibernate`; None if they are not given."""

    def decorate(command: F) -> F:
        for verb in ("hibernate", "suspend"):  # the last one that is added is shown first
            command = click.option(
                f"--auto-{verb}-timeout",
                f"auto_{verb}",
                type=click.IntRange(0),
                metavar="SECONDS",
                help=f"{verb.capitalize()} {whom} when nobody has used it for so long{default}.",
            )(command)
        return command

    return decorate


def show_made(state: State, vm: GetVmResponse, *, copied: bool = False) -> None:
    """What is told of a machine that was just made; of a copy also what it is one of."""
    refresh(state)
    data = {
        "name": vm.name,
        "id": vm.vm_id,
        "status": status(vm),
        "url": url(vm),
        "https_url": vm.https_url,
        "source": vm.source,
        "boot": boot(vm) if vm.boot_time_ms else None,
    }
    source = [("source", vm.source)] if copied else []
    pairs = [("name", vm.name), ("status", status(vm)), ("url", reached(vm.https_url)), *source, ("boot", boot(vm))]
    answer(state, data, facts(pairs))


async def until_running(client: Client, ref: str, name: str) -> GetVmResponse:
    """Wait for the end of a boot.

    Raises:
        MachineLost: the machine did not come up.
        OutcomeUnknown: it is neither up nor given up after a long time.
    """
    try:
        async with asyncio.timeout(WAIT_LIMIT):
            while True:
                vm = await client.machine(ref)
                if vm.status == "running":
                    return vm
                if vm.status in ("failed", "stopped", "destroying", "destroyed"):
                    raise MachineLost(f"machine '{name}' did not start, it is {vm.status}: {_reason(vm)}")
                await asyncio.sleep(POLL)
    except TimeoutError:
        raise OutcomeUnknown(
            f"machine '{name}' has not started after {WAIT_LIMIT:.0f} s; watch it with 'boxd machine get {name}'"
        ) from None


def _reason(vm: GetVmResponse) -> str:
    return vm.status_reason or f"no reason is known; try 'boxd machine start {vm.name}'"
