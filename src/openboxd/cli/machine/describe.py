"""A machine as the commands show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openboxd.cli.base import MachineArgument
from openboxd.cli.output import duration, iso
from openboxd.cli.types import complete_machine

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import GetVmResponse

F = TypeVar("F", bound=Callable[..., object])

machine_argument: Callable[[F], F] = click.argument(
    "machine", cls=MachineArgument, metavar="NAME", shell_complete=complete_machine
)


def status(vm: GetVmResponse) -> str:
    """The status in the words of the command line: what the wire calls suspended stands by."""
    return "standby" if vm.status == "suspended" else vm.status


def url(vm: GetVmResponse) -> str:
    """The machine's domain, without a scheme."""
    return f"{vm.name}.{vm.access_domain}"


def reached(https_url: str) -> str:
    """Where a domain is reached by HTTPS, for people."""
    return https_url or "none, HTTPS is off"


def boot(vm: GetVmResponse) -> str:
    """How long it took from the order until the machine answered."""
    return duration(vm.boot_time_ms) if vm.boot_time_ms else "-"


def timer(seconds: int) -> str:
    """An idle timer; 0 is off."""
    return f"{seconds}s" if seconds else "off"


def as_row(vm: GetVmResponse) -> dict[str, Any]:
    """One element of `machine list --json`: the strings that scripts know, then what they do not have."""
    return {
        "name": vm.name,
        "status": status(vm),
        "url": url(vm),
        "source": vm.source,
        "sharing": "shared" if vm.org else "private",
        "id": vm.vm_id,
        "https_url": vm.https_url,
        "vcpu": vm.vcpu,
        "memory_bytes": vm.memory_bytes,
        "image": vm.image_ref,
        "created_at": iso(vm.created_at),
        "owner": vm.created_by_name or vm.created_by,
    }


def as_json(vm: GetVmResponse) -> dict[str, Any]:
    """`machine get --json`: the strings that scripts know, then what they do not have."""
    return {
        "name": vm.name,
        "id": vm.vm_id,
        "status": status(vm),
        "url": url(vm),
        "ssh": f"ssh {vm.name}.boxd" if vm.ssh_port else "-",
        "public_ip": vm.public_ip,
        "domains": ",".join(found.domain for found in vm.custom_domains) or "-",
        "source": vm.source,
        "auto_suspend": timer(vm.auto_suspend_timeout_secs),
        "auto_hibernate": timer(vm.auto_hibernate_timeout_secs),
        "sharing": "shared" if vm.org else "private",
        "networks": ",".join(vm.networks) or "-",
        "isolated": "yes" if vm.isolated else "no",
        "https_url": vm.https_url,
        "image": vm.image_ref,
        "boot": boot(vm),
        "created_at": iso(vm.created_at),
        "restart_policy": vm.restart_policy,
        "status_reason": vm.status_reason,
        "egress": list(vm.egress_allow),
        "ssh_port": vm.ssh_port,
        "problems": list(vm.problems),
        "vcpu": vm.vcpu,
        "memory_bytes": vm.memory_bytes,
        "resident_bytes": vm.resident_bytes,
        "disk_bytes": vm.disk_bytes,
        "labels": dict(vm.labels),
        "last_connected": iso(vm.last_connected_ms / 1000) if vm.last_connected_ms else "",
        "delete_at": iso(vm.delete_at_ms / 1000) if vm.delete_at_ms else "",
        "created_by": vm.created_by_name or vm.created_by,
        "org": vm.billing_org,
    }
