"""Snapshots: save, list, look at, remove, make machines from. They are the account's, addressed by name or id."""

from __future__ import annotations

from openboxd.api import convert
from openboxd.api.door import Method
from openboxd.api.machines import given, wanted
from openboxd.api.missing import not_offered
from openboxd.api.ports import Service
from openboxd.errors import NotSupported
from openboxd.model import Caller, SnapshotStatus
from openboxd.wire import boxd_api_pb2 as pb


def own_only(org: str) -> None:
    """Snapshots of an organization would be somebody else's: to answer with one's own would be wrong."""
    if org:
        raise NotSupported(not_offered("snapshots of organizations"))


async def create_snapshot(
    service: Service, caller: Caller, request: pb.CreateSnapshotRequest
) -> pb.CreateSnapshotResponse:
    saving = await service.save_snapshot(caller, request.vm, request.name)
    pending = saving.status is SnapshotStatus.PENDING  # else it was over before this call was answered
    return pb.CreateSnapshotResponse(
        snapshot_id=saving.id,
        name=saving.name,
        version=saving.version + 1 if pending else saving.failed_version or saving.version,
        status=saving.status.value,
    )


async def list_snapshots(
    service: Service, caller: Caller, request: pb.ListSnapshotsRequest
) -> pb.ListSnapshotsResponse:
    own_only(request.org)
    views = await service.snapshots(caller)
    return pb.ListSnapshotsResponse(snapshots=[convert.snapshot_to_wire(view) for view in views])


async def get_snapshot(service: Service, caller: Caller, request: pb.GetSnapshotRequest) -> pb.GetSnapshotResponse:
    own_only(request.org)
    return pb.GetSnapshotResponse(
        snapshot=convert.snapshot_to_wire(await service.snapshot_view(caller, request.name))
    )


async def delete_snapshot(
    service: Service, caller: Caller, request: pb.DeleteSnapshotRequest
) -> pb.DeleteSnapshotResponse:
    own_only(request.org)
    await service.remove_snapshot(caller, request.name)
    return pb.DeleteSnapshotResponse()


async def create_vm_from_snapshot(
    service: Service, caller: Caller, request: pb.CreateVmFromSnapshotRequest
) -> pb.CreateVmResponse:
    own_only(request.org)
    as_new = pb.CreateVmRequest(
        name=request.name, config=request.config, isolated=request.isolated, labels=request.labels
    )
    if request.HasField("spec"):
        as_new.spec.CopyFrom(request.spec)
    machine = await service.create_from_snapshot(
        caller, request.snapshot, wanted(as_new), given(request.config), wait=request.wait
    )
    return convert.created_to_wire(service, machine)


METHODS: dict[str, Method] = {
    "CreateSnapshot": create_snapshot,
    "CreateVmFromSnapshot": create_vm_from_snapshot,
    "ListSnapshots": list_snapshots,
    "GetSnapshot": get_snapshot,
    "DeleteSnapshot": delete_snapshot,
}
