"""The daemon's calls about snapshots."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from openboxd.client.connection import BOXD_API, HOST, Connection
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


class SnapshotCalls:
    """A part of `Client`."""

    _connection: Connection

    async def save_snapshot(self, ref: str, name: str) -> pb.CreateSnapshotResponse:
        """Answers when the save is admitted."""
        request = pb.CreateSnapshotRequest(vm=ref, name=name)
        return await self._connection.unary(f"{BOXD_API}CreateSnapshot", request, pb.CreateSnapshotResponse)

    async def snapshot_done(self, ref: str) -> pb.SnapshotInfo:
        """Wait until no version of the snapshot is pending any more."""
        request = host_pb.WaitSnapshotRequest(name=ref)
        return await self._connection.unary(f"{HOST}WaitSnapshot", request, pb.SnapshotInfo, None)

    async def snapshot(self, ref: str) -> pb.SnapshotInfo:
        request = pb.GetSnapshotRequest(name=ref)
        return (await self._connection.unary(f"{BOXD_API}GetSnapshot", request, pb.GetSnapshotResponse)).snapshot

    async def snapshots(self) -> list[pb.SnapshotInfo]:
        request, path = pb.ListSnapshotsRequest(), f"{BOXD_API}ListSnapshots"
        return list((await self._connection.unary(path, request, pb.ListSnapshotsResponse)).snapshots)

    async def create_from_snapshot(
        self,
        snapshot: str,
        name: str,
        *,
        vcpu: int,
        memory_bytes: int,
        labels: Mapping[str, str],
        isolated: bool = False,
        wait: bool = False,
    ) -> pb.CreateVmResponse:
        """Answers when the machine is scheduled, or with `wait` when it runs. Zeros mean the snapshot's own size."""
        config = pb.VmConfig(vcpu=vcpu, memory_bytes=memory_bytes)
        request = pb.CreateVmFromSnapshotRequest(
            snapshot=snapshot, name=name, config=config, labels=dict(labels), isolated=isolated, wait=wait
        )
        path = f"{BOXD_API}CreateVmFromSnapshot"
        return await self._connection.unary(path, request, pb.CreateVmResponse, None)

    def verify_snapshot(self, ref: str) -> AsyncIterator[host_pb.VerifyCheckpointResponse]:
        """Progress, then the result as the last item."""
        request = host_pb.VerifySnapshotRequest(name=ref)
        return self._connection.stream(f"{HOST}VerifySnapshot", request, host_pb.VerifyCheckpointResponse)

    async def remove_snapshot(self, ref: str) -> None:
        request = pb.DeleteSnapshotRequest(name=ref)
        await self._connection.unary(f"{BOXD_API}DeleteSnapshot", request, pb.DeleteSnapshotResponse, None)
