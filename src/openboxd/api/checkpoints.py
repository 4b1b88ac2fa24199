"""Checkpoints: save, list, restore, remove. They are addressed by machine and name."""

from __future__ import annotations

from openboxd.api import convert
from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def create_checkpoint(
    service: Service, caller: Caller, request: pb.CreateCheckpointRequest
) -> pb.CreateCheckpointResponse:
    saved = await service.save_checkpoint(caller, request.vm, request.name)
    return pb.CreateCheckpointResponse(checkpoint_id=saved.id, name=saved.name, status=saved.status.value)


async def list_checkpoints(
    service: Service, caller: Caller, request: pb.ListCheckpointsRequest
) -> pb.ListCheckpointsResponse:
    views = await service.checkpoints(caller, request.vm)
    return pb.ListCheckpointsResponse(
        checkpoints=[convert.checkpoint_to_wire(service, caller, view) for view in views]
    )


async def restore_checkpoint(
    service: Service, caller: Caller, request: pb.RestoreCheckpointRequest
) -> pb.RestoreCheckpointResponse:
    machine = await service.restore_checkpoint(caller, request.vm, request.name)
    held = service.last_hold(caller, machine.id)
    return pb.RestoreCheckpointResponse(held_connections=held.connections, longest_wait_ms=held.longest_ms)


async def delete_checkpoint(
    service: Service, caller: Caller, request: pb.DeleteCheckpointRequest
) -> pb.DeleteCheckpointResponse:
    await service.remove_checkpoint(caller, request.vm, request.name)
    return pb.DeleteCheckpointResponse()


METHODS: dict[str, Method] = {
    "CreateCheckpoint": create_checkpoint,
    "ListCheckpoints": list_checkpoints,
    "RestoreCheckpoint": restore_checkpoint,
    "DeleteCheckpoint": delete_checkpoint,
}
