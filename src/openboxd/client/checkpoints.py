"""The daemon's calls about checkpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd.client.connection import BOXD_API, HOST, Connection
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


class CheckpointCalls:
    """A part of `Client`."""

    _connection: Connection

    async def save(self, ref: str, name: str) -> pb.CreateCheckpointResponse:
        """Answers when the save is admitted."""
        request = pb.CreateCheckpointRequest(vm=ref, name=name)
        return await self._connection.unary(f"{BOXD_API}CreateCheckpoint", request, pb.CreateCheckpointResponse)

    async def checkpoint_done(self, ref: str, name: str) -> pb.CheckpointInfo:
        """Wait until the checkpoint is not pending any more."""
        request = host_pb.WaitCheckpointRequest(vm=ref, name=name)
        return await self._connection.unary(f"{HOST}WaitCheckpoint", request, pb.CheckpointInfo, None)

    async def checkpoints(self, ref: str) -> list[pb.CheckpointInfo]:
        request = pb.ListCheckpointsRequest(vm=ref)
        answer = await self._connection.unary(f"{BOXD_API}ListCheckpoints", request, pb.ListCheckpointsResponse)
        return list(answer.checkpoints)

    async def restore(self, ref: str, name: str) -> pb.RestoreCheckpointResponse:
        request = pb.RestoreCheckpointRequest(vm=ref, name=name)
        path = f"{BOXD_API}RestoreCheckpoint"
        return await self._connection.unary(path, request, pb.RestoreCheckpointResponse, None)

    async def remove_checkpoint(self, ref: str, name: str) -> None:
        request = pb.DeleteCheckpointRequest(vm=ref, name=name)
        await self._connection.unary(f"{BOXD_API}DeleteCheckpoint", request, pb.DeleteCheckpointResponse, None)

    def verify_checkpoint(self, ref: str, name: str) -> AsyncIterator[host_pb.VerifyCheckpointResponse]:
        """Progress, then the result as the last item."""
        request = host_pb.VerifyCheckpointRequest(vm=ref, name=name)
        return self._connection.stream(f"{HOST}VerifyCheckpoint", request, host_pb.VerifyCheckpointResponse)
