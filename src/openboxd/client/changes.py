"""The daemon's calls about what a machine is set to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openboxd.client.connection import BOXD_API, Connection
from openboxd.wire import boxd_api_pb2 as pb


class ChangeCalls:
    """A part of `Client`."""

    _connection: Connection

    async def rename(self, ref: str, name: str) -> str:
        request = pb.RenameVmRequest(vm_id=ref, new_name=name)
        return (await self._connection.unary(f"{BOXD_API}RenameVm", request, pb.RenameVmResponse, None)).name

    async def resize(self, ref: str, vcpu: int, memory_bytes: int) -> pb.ResizeVmResponse:
        """0 means that the other one decides."""
        request = pb.ResizeVmRequest(vm_id=ref, vcpu=vcpu, memory_bytes=memory_bytes)
        return await self._connection.unary(f"{BOXD_API}ResizeVm", request, pb.ResizeVmResponse, None)

    async def update_labels(self, ref: str, wanted: Mapping[str, str], remove: Sequence[str]) -> dict[str, str]:
        """The labels afterwards."""
        request = pb.UpdateVmLabelsRequest(vm=ref, set=dict(wanted), remove=remove)
        answer = await self._connection.unary(f"{BOXD_API}UpdateVmLabels", request, pb.UpdateVmLabelsResponse)
        return dict(answer.labels)

    async def set_delete_after(self, ref: str, secs: int, cron: str) -> int:
        """When the machine will be removed, in epoch milliseconds; 0 for never."""
        request = pb.SetDeleteAfterRequest(vm_id=ref, delete_after_secs=secs, delete_after_cron=cron)
        answer = await self._connection.unary(f"{BOXD_API}SetDeleteAfter", request, pb.SetDeleteAfterResponse)
        return answer.delete_at_ms

    async def set_idle_ignore_outbound(self, ref: str, enabled: bool) -> None:
        request = pb.SetIdleIgnoreOutboundRequest(vm_id=ref, enabled=enabled)
        await self._connection.unary(f"{BOXD_API}SetIdleIgnoreOutbound", request, pb.SetIdleIgnoreOutboundResponse)

    async def set_networks(self, ref: str, networks: Sequence[str]) -> list[str]:
        request = pb.SetVmNetworksRequest(vm_id=ref, networks=networks)
        done = await self._connection.unary(f"{BOXD_API}SetVmNetworks", request, pb.SetVmNetworksResponse)
        return list(done.networks)

    async def set_egress_allow(self, ref: str, entries: Sequence[str]) -> list[str]:
        request = pb.SetVmEgressAllowRequest(vm=ref, entries=entries)
        done = await self._connection.unary(f"{BOXD_API}SetVmEgressAllow", request, pb.SetVmEgressAllowResponse)
        return list(done.entries)

    async def set_bot_protection(self, ref: str, mode: str) -> None:
        request = pb.SetBotProtectionRequest(vm_id=ref, enabled=mode != "off", mode=mode)
        await self._connection.unary(f"{BOXD_API}SetBotProtection", request, pb.SetBotProtectionResponse)
