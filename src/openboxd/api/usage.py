"""What machines used, and what that costs at the rates of this host."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.control.usage import MachineUsage
from openboxd.model import Caller, MachineStatus, Rates
from openboxd.wire import boxd_api_pb2 as pb


def rates_to_wire(rates: Rates) -> pb.UsageRates:
    """Prices in millionths per hour."""
    return pb.UsageRates(
        vcpu_hour_micro=rates.vcpu, ram_gib_hour_micro=rates.memory_gib, disk_gib_hour_micro=rates.disk_gib
    )


def usage_to_wire(service: Service, found: MachineUsage) -> pb.VmUsage:
    """Bytes of disks are told with those of checkpoints in them, which have fields of their own besides."""
    machine, used = found.machine, found.used
    return pb.VmUsage(
        vm_id=machine.id,
        name=machine.name,
        owner=machine.owner_id,
        owner_name=service.user_name(machine.owner_id),
        sharing="shared" if machine.shared else "private",
        status="deleted" if machine.status is MachineStatus.DESTROYED else machine.status.value,
        vcpu=machine.size.vcpu,
        memory_bytes=machine.size.memory_bytes,
        disk_bytes=used.disk_bytes + used.checkpoint_bytes,
        seconds=pb.StateSeconds(**{state: round(seconds) for state, seconds in used.seconds.items()}),
        vcpu_hours=used.vcpu_hours,
        ram_gib_hours=used.memory_gib_hours,
        disk_gib_hours=used.disk_gib_hours + used.checkpoint_gib_hours,
        cost_micro=found.cost_micro,
        complete=found.complete,
        checkpoint_bytes=used.checkpoint_bytes,
        checkpoint_gib_hours=used.checkpoint_gib_hours,
    )


async def get_vm_usage(service: Service, caller: Caller, request: pb.GetVmUsageRequest) -> pb.GetVmUsageResponse:
    report = service.machine_usage(caller, request.vm_id, request.since, request.until, request.org)
    return pb.GetVmUsageResponse(
        period_start=report.since,
        period_end=report.until,
        currency=report.rates.currency.lower(),
        rates=rates_to_wire(report.rates),
        usage=usage_to_wire(service, report.machines[0]),
    )


async def get_org_usage(service: Service, caller: Caller, request: pb.GetOrgUsageRequest) -> pb.GetOrgUsageResponse:
    """Without an organization: of the caller's own machines."""
    report = service.usage(caller, request.since, request.until, request.org)
    return pb.GetOrgUsageResponse(
        org_id=report.org.id if report.org else "",
        org=report.org.name if report.org else "",
        period_start=report.since,
        period_end=report.until,
        currency=report.rates.currency.lower(),
        rates=rates_to_wire(report.rates),
        total_cost_micro=report.cost_micro,
        vms=[usage_to_wire(service, found) for found in report.machines],
        complete=all(found.complete for found in report.machines),
    )


async def list_billing_activity(
    service: Service, caller: Caller, request: pb.ListBillingActivityRequest
) -> pb.ListBillingActivityResponse:
    """Nothing: what is used is told, and nobody is charged."""
    report = service.usage(caller, org=request.org)
    return pb.ListBillingActivityResponse(currency=report.rates.currency.lower())


METHODS: dict[str, Method] = {
    "GetVmUsage": get_vm_usage,
    "GetOrgUsage": get_org_usage,
    "ListBillingActivity": list_billing_activity,
}
