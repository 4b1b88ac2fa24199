"""The model's nouns in the words of the wire. Units differ by field there: see the comments."""

from __future__ import annotations

from typing import Any

from openboxd.api.ports import Service
from openboxd.model import (
    Caller,
    CheckpointStatus,
    CheckpointView,
    CustomDomainView,
    Event,
    Image,
    Machine,
    Progress,
    SnapshotView,
    Verification,
)
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


def domain(service: Service, machine: Machine) -> str:
    """Where a machine is found by name."""
    return f"{machine.name}.{service.zone}"


def https_url(service: Service, name: str) -> str:
    """Where a domain of a machine is reached by HTTPS; empty while HTTPS is off."""
    port = service.https_port
    return f"https://{name}" + (f":{port}" if port != 443 else "") if port else ""


def machine_to_wire(service: Service, caller: Caller, machine: Machine) -> pb.GetVmResponse:
    """A machine as GetVm and ListVms show it. Its organization is told twice, once only while it is shared."""
    org = service.org_name(machine.org_id)
    return pb.GetVmResponse(
        vm_id=machine.id,
        name=machine.name,
        image_ref=machine.image_name,
        public_ip=machine.address,
        ssh_port=machine.ssh_port,
        status=machine.status.value,
        restart_policy=machine.restart_policy,
        disk_bytes=machine.disk_bytes,
        access_domain=service.zone,
        source=machine.source or "standalone",
        source_info=source_to_wire(machine),
        vcpu=machine.size.vcpu,
        memory_bytes=machine.size.memory_bytes,
        created_at=machine.created_at,  # epoch seconds
        boot_time_ms=machine.boot_time_ms,
        last_connected_ms=machine.last_connected_ms,
        delete_at_ms=machine.delete_at_ms,
        delete_after_cron=machine.delete_after_cron,
        auto_suspend_timeout_secs=machine.auto_suspend_secs,
        auto_hibernate_timeout_secs=machine.auto_hibernate_secs,
        hibernated_at_ms=machine.hibernated_at_ms,
        resident_bytes=service.resident_bytes(machine),
        https_url=https_url(service, domain(service, machine)),
        idle_ignore_outbound=machine.idle_ignore_outbound,
        bot_protection=machine.bot_protection != "off",
        bot_protection_mode=machine.bot_protection,
        isolated=machine.isolated,
        labels=dict(machine.labels),
        custom_domains=[custom_domain_to_wire(service, view) for view in service.domains_of(caller, machine)],
        created_by=machine.owner_id,
        created_by_name=service.user_name(machine.owner_id),
        org=org if machine.shared else "",
        org_id=machine.org_id if machine.shared else "",
        billing_org=org,
        billing_org_id=machine.org_id,
        status_reason=machine.status_reason,
        problems=service.problems(machine),
        networks=machine.networks,
        egress_allow=machine.egress_allow,
    )


def custom_domain_to_wire(service: Service, view: CustomDomainView) -> pb.CustomDomainInfo:
    """A domain of somebody's own."""
    return pb.CustomDomainInfo(
        domain=view.domain,
        vm_id=view.machine.id,
        vm_name=view.machine.name,
        status="pending" if view.problem else "active",
        last_error=view.problem,
        https_url=https_url(service, view.domain),
    )


def forked_to_wire(service: Service, machine: Machine) -> pb.ForkVmResponse:
    """The thin record that ForkVm answers with."""
    return pb.ForkVmResponse(**_thin(service, machine), forked_from=machine.source.partition("/")[2])


def source_to_wire(machine: Machine) -> pb.VmSource | None:
    """What a machine is a copy of: `fork/<machine>` or `snapshot/<name>:v<version>`; None for one that is no copy."""
    if not machine.source:
        return None
    kind, _, rest = machine.source.partition("/")
    name, _, version = rest.partition(":v")
    return pb.VmSource(kind=kind, name=name, version=int(version or 0), id=machine.source_id)


def created_to_wire(service: Service, machine: Machine) -> pb.CreateVmResponse:
    """The thin record that CreateVm answers with."""
    return pb.CreateVmResponse(**_thin(service, machine), boots_first=service.boots_first(machine))


def _thin(service: Service, machine: Machine) -> dict[str, Any]:
    return {
        "vm_id": machine.id,
        "name": machine.name,
        "public_ip": machine.address,
        "url": domain(service, machine),
        "image": machine.image_name,
        "status": machine.status.value,
        "boot_time_ms": machine.boot_time_ms,
    }


def checkpoint_to_wire(service: Service, caller: Caller, view: CheckpointView) -> pb.CheckpointInfo:
    """A checkpoint with its sizes, as this caller is shown it: `size_bytes` is what it alone occupies."""
    checkpoint, usage = view.checkpoint, view.usage
    return pb.CheckpointInfo(
        checkpoint_id=checkpoint.id,
        name=checkpoint.name,
        status=checkpoint.status.value,
        size_bytes=usage.exclusive_bytes,
        created_at=checkpoint.created_at_ms,  # epoch milliseconds
        created_by=checkpoint.created_by,
        available=checkpoint.status is CheckpointStatus.READY,
        total_bytes=usage.exclusive_bytes + usage.shared_bytes,
        shared_bytes=usage.shared_bytes,
        failure_reason=checkpoint.failure_reason,
        pause_us=checkpoint.pause_us,
        duration_ms=checkpoint.duration_ms,
        parent_name=view.parent_name,
        is_current=view.is_current,
        created_by_name=service.author_name(caller, checkpoint.created_by),
    )


def snapshot_to_wire(view: SnapshotView) -> pb.SnapshotInfo:
    """A snapshot with its sizes. Of one that was never saved only what is to become of it is known."""
    snapshot, usage = view.snapshot, view.usage
    return pb.SnapshotInfo(
        snapshot_id=snapshot.id,
        name=snapshot.name,
        version=snapshot.version,
        status=snapshot.status.value,
        size_bytes=usage.exclusive_bytes,
        updated_at=snapshot.updated_at_ms,  # epoch milliseconds
        vcpu=snapshot.size.vcpu,
        memory_bytes=snapshot.size.memory_bytes,
        use_count=view.use_count,
        created_at=snapshot.created_at_ms if snapshot.version else 0,
        failed_version=snapshot.failed_version,
        failure_reason=snapshot.failure_reason,
        storage="local",
        total_bytes=usage.exclusive_bytes + usage.shared_bytes,
        shared_bytes=usage.shared_bytes,
        source_name=snapshot.source_name,
        source_vm_id=snapshot.source_id,
        image_ref=snapshot.image_name,
        pause_us=snapshot.pause_us,
        duration_ms=snapshot.duration_ms,
    )


def image_to_wire(service: Service, image: Image) -> host_pb.ImageInfo:
    """An image, marked if new machines use it unless told otherwise."""
    return host_pb.ImageInfo(
        digest=image.digest,
        name=image.name,
        created_at=image.created_at,
        disk_bytes=image.disk_bytes,
        kernel_version=image.kernel_version,
        is_default=image.name == service.default_image(),
        warm=[host_pb.WarmSize(vcpu=size.vcpu, memory_bytes=size.memory_bytes) for size in service.warm_sizes(image)],
    )


def verification_to_wire(found: Verification) -> host_pb.Verification:
    """What reading a checkpoint told."""
    return host_pb.Verification(
        checkpoint=found.checkpoint,
        checked_bytes=found.checked_bytes,
        duration_ms=found.duration_ms,
        damages=[host_pb.Damage(file=d.file, start=d.start, end=d.end, text=d.text) for d in found.damages],
        sealed=found.sealed,
    )


def event_to_wire(event: Event, actor_name: str) -> host_pb.Event:
    """An entry of the event log, with the name of who ordered it."""
    return host_pb.Event(
        at_ms=event.at_ms,
        actor=event.actor,
        actor_name=actor_name,
        operation=event.operation,
        detail=event.detail,
        outcome=event.outcome.value,
        duration_ms=event.duration_ms,
        error=event.error,
    )


def progress_to_wire(progress: Progress) -> host_pb.Progress:
    """Progress; an unknown fraction stays unset."""
    return host_pb.Progress(
        operation=progress.operation, step=progress.step, fraction=progress.fraction, detail=progress.detail
    )
