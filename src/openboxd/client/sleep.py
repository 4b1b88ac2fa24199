"""The daemon's calls about machines that sleep."""

from __future__ import annotations

from openboxd.client.connection import BOXD_API, Connection
from openboxd.wire import boxd_api_pb2 as pb


class SleepCalls:
    """A part of `Client`."""

    _connection: Connection

    async def suspend(self, ref: str) -> int:
        """How long it took, in microseconds; 0 if it was suspended already."""
        request = pb.SuspendVmRequest(vm_id=ref)
        return (await self._connection.unary(f"{BOXD_API}SuspendVm", request, pb.SuspendVmResponse, None)).suspend_us

    async def resume(self, ref: str) -> int:
        """How long it took until it ran, in microseconds; 0 if it ran."""
        request = pb.ResumeVmRequest(vm_id=ref)
        return (await self._connection.unary(f"{BOXD_API}ResumeVm", request, pb.ResumeVmResponse, None)).resume_us

    async def hibernate(self, ref: str) -> None:
        """Returns when its memory is on disk and its QEMU process gone."""
        request = pb.HibernateVmRequest(vm_id=ref)
        await self._connection.unary(f"{BOXD_API}HibernateVm", request, pb.HibernateVmResponse, None)

    async def wake(self, ref: str) -> None:
        """Returns when its guest has answered."""
        await self._connection.unary(f"{BOXD_API}WakeVm", pb.WakeVmRequest(vm_id=ref), pb.WakeVmResponse, None)

    async def set_auto_suspend(self, ref: str, seconds: int) -> None:
        request = pb.SetAutoSuspendTimeoutRequest(vm_id=ref, timeout_secs=seconds)
        await self._connection.unary(f"{BOXD_API}SetAutoSuspendTimeout", request, pb.SetAutoSuspendTimeoutResponse)

    async def set_auto_hibernate(self, ref: str, seconds: int) -> None:
        request = pb.SetAutoHibernateTimeoutRequest(vm_id=ref, timeout_secs=seconds)
        await self._connection.unary(
            f"{BOXD_API}SetAutoHibernateTimeout", request, pb.SetAutoHibernateTimeoutResponse
        )
