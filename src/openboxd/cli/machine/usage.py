"""`boxd machine usage`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command
from openboxd.cli.output import answer, facts, iso, size, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_machine, complete_org

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import UsageRates, VmUsage

HEAD = ("NAME", "STATUS", "RUNNING", "ASLEEP", "STOPPED", "VCPU-H", "MEM-GIB-H", "DISK-GIB-H", "POOL", "COST")


@click.command("usage", cls=Command)
@click.argument("machine", metavar="[NAME]", default="", shell_complete=complete_machine)
@click.option("--since", type=click.DateTime(), metavar="DATE[THH:MM:SS]", help="Beginning of the period, in UTC.")
@click.option(
    "--until", type=click.DateTime(), metavar="DATE[THH:MM:SS]", help="End of the period, in UTC (default: now)."
)
@click.option("--org", default="", metavar="ORG", shell_complete=complete_org, help="Machines of an organization.")
@pass_state
def usage(state: State, machine: str, since: datetime | None, until: datetime | None, org: str) -> None:
    """Show what machine NAME used in its life, or all your machines in the last 28 days, also those that are gone.

    RUNNING, ASLEEP and STOPPED are times; the others add up: vCPUs while running, memory while running or suspended,
    disks and checkpoints always. Checkpoints stop counting when they or their machine are removed.

    With --json: {period, currency, rates, machines: [...]}, with NAME as an array of one.
    """
    start, end = _seconds(since), _seconds(until)
    if machine:
        one = state.run(lambda client: client.machine_usage(machine, start, end, org))
        found, period, rates, currency = [one.usage], (one.period_start, one.period_end), one.rates, one.currency
    else:
        every = state.run(lambda client: client.usage(start, end, org))
        found, period, rates = list(every.vms), (every.period_start, every.period_end), every.rates
        currency = every.currency
    data = {
        "period": {"since": iso(period[0]), "until": iso(period[1])},
        "currency": currency,
        "rates": _rates(rates),
        "machines": [as_json(vm) for vm in found],
    }
    text = _one(found[0], currency) if machine else table(HEAD, [_row(vm, currency) for vm in found])
    answer(state, data, text)


def _seconds(moment: datetime | None) -> int:
    return round(moment.replace(tzinfo=UTC).timestamp()) if moment else 0


def _row(vm: VmUsage, currency: str) -> tuple[str, ...]:
    seconds = vm.seconds
    return (
        vm.name,
        vm.status,
        span(seconds.running),
        span(seconds.standby + seconds.hibernated),
        span(seconds.stopped),
        f"{vm.vcpu_hours:.2f}",
        f"{vm.ram_gib_hours:.2f}",
        f"{vm.disk_gib_hours:.2f}",
        size(vm.disk_bytes),
        f"{vm.cost_micro / 1e6:.4f} {currency.upper()}" if vm.cost_micro else "0",
    )


def _one(vm: VmUsage, currency: str) -> str:
    pairs = list(zip([name.lower() for name in HEAD], _row(vm, currency), strict=True))
    pairs.insert(3, ("standby", span(vm.seconds.standby)))
    pairs.insert(4, ("hibernated", span(vm.seconds.hibernated)))
    checkpoints = f"{size(vm.checkpoint_bytes)}, {vm.checkpoint_gib_hours:.2f} GiB-h"
    return facts([pair for pair in pairs if pair[0] != "asleep"] + [("checkpoints", checkpoints)])


def span(seconds: int) -> str:
    """A length of time, as in `3d 4h`, `12m 5s`."""
    parts = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
    told: list[str] = []
    for length, unit in parts:
        if seconds >= length and len(told) < 2:
            told.append(f"{seconds // length}{unit}")
            seconds %= length
    return " ".join(told) or "0s"


def _rates(rates: UsageRates) -> dict[str, float]:
    return {
        "vcpu_hour": rates.vcpu_hour_micro / 1e6,
        "memory_gib_hour": rates.ram_gib_hour_micro / 1e6,
        "disk_gib_hour": rates.disk_gib_hour_micro / 1e6,
    }


def as_json(vm: VmUsage) -> dict[str, Any]:
    """A machine's usage as scripts see it; disks are told with their checkpoints in them."""
    return {
        "name": vm.name,
        "id": vm.vm_id,
        "owner": vm.owner_name or vm.owner,
        "sharing": vm.sharing,
        "status": vm.status,
        "seconds": {
            "running": vm.seconds.running,
            "standby": vm.seconds.standby,
            "hibernated": vm.seconds.hibernated,
            "stopped": vm.seconds.stopped,
        },
        "vcpu_hours": vm.vcpu_hours,
        "memory_gib_hours": vm.ram_gib_hours,
        "disk_gib_hours": vm.disk_gib_hours,
        "checkpoint_gib_hours": vm.checkpoint_gib_hours,
        "disk_bytes": vm.disk_bytes,
        "checkpoint_bytes": vm.checkpoint_bytes,
        "cost": vm.cost_micro / 1e6,
    }
