"""The daemon's calls about machines as such."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from openboxd.client.connection import BOXD_API, HOST, Connection
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


class MachineCalls:
    """A part of `Client`."""

    _connection: Connection

    async def create(
        self,
        name: str = "",
        *,
        image: str = "",
        vcpu: int = 0,
        memory_bytes: int = 0,
        disk_bytes: int = 0,
        labels: Mapping[str, str] | None = None,
        isolated: bool = False,
        org: str = "",
        shared: bool = False,
    ) -> pb.CreateVmResponse:
        """Answers when the machine is scheduled; it boots by itself."""
        config = pb.VmConfig(vcpu=vcpu, memory_bytes=memory_bytes, disk_bytes=disk_bytes)
        request = pb.CreateVmRequest(
            name=name,
            image_ref=image,
            restart_policy="always",
            config=config,
            labels=dict(labels or {}),
            isolated=isolated,
            org=org,
            shared=shared,
        )
        return await self._connection.unary(f"{BOXD_API}CreateVm", request, pb.CreateVmResponse)

    async def fork(
        self,
        source: str,
        name: str = "",
        *,
        checkpoint: str = "",
        labels: Mapping[str, str] | None = None,
        auto_suspend: int | None = None,
        auto_hibernate: int | None = None,
        isolated: bool = False,
        shared: bool = False,
    ) -> pb.ForkVmResponse:
        """Answers when the copy runs; that of a stopped machine is starting then.

        The idle timers are in seconds, 0 for none; None inherits the source's.
        """
        idle = pb.SrfConfig(auto_suspend_timeout_secs=auto_suspend, auto_hibernate_timeout_secs=auto_hibernate)
        request = pb.ForkVmRequest(
            source_vm_id=source,
            name=name,
            config=pb.VmConfig(srf=idle),
            from_checkpoint=checkpoint,
            labels=dict(labels or {}),
            isolated=isolated,
            shared=shared,
        )
        return await self._connection.unary(f"{BOXD_API}ForkVm", request, pb.ForkVmResponse, None)

    async def machine(self, ref: str) -> pb.GetVmResponse:
        return await self._connection.unary(f"{BOXD_API}GetVm", pb.GetVmRequest(vm_id=ref), pb.GetVmResponse)

    async def machines(self, selector: tuple[str, ...] = (), org: str = "") -> list[pb.GetVmResponse]:
        """All that the caller may use, or those of an organization."""
        request = pb.ListVmsRequest(label_selector=selector, org=org, all_contexts=not org)
        return list((await self._connection.unary(f"{BOXD_API}ListVms", request, pb.ListVmsResponse)).vms)

    async def machines_and_authority(self) -> tuple[list[pb.GetVmResponse], str]:
        """All machines, and the public key of the authority that signs their SSH host keys."""
        request = pb.ListVmsRequest(all_contexts=True)
        found = await self._connection.unary(f"{BOXD_API}ListVms", request, pb.ListVmsResponse)
        return list(found.vms), found.ssh_host_key

    async def start(self, ref: str) -> None:
        await self._connection.unary(f"{BOXD_API}StartVm", pb.StartVmRequest(vm_id=ref), pb.StartVmResponse, None)

    async def stop(self, ref: str) -> None:
        await self._connection.unary(f"{BOXD_API}StopVm", pb.StopVmRequest(vm_id=ref), pb.StopVmResponse, None)

    async def reboot(self, ref: str) -> None:
        request = pb.RebootVmRequest(vm_id=ref)
        await self._connection.unary(f"{BOXD_API}RebootVm", request, pb.RebootVmResponse, None)

    async def logs(self, ref: str, *, follow: bool) -> AsyncIterator[bytes]:
        """The end of the machine's console; with `follow` until the machine is removed."""
        request = pb.StreamLogsRequest(vm_id=ref, follow=follow)
        async for chunk in self._connection.stream(f"{BOXD_API}StreamLogs", request, pb.LogChunk):
            yield chunk.data

    async def destroy(self, ref: str) -> None:
        request = pb.DestroyVmRequest(vm_id=ref)
        await self._connection.unary(f"{BOXD_API}DestroyVm", request, pb.DestroyVmResponse, None)

    async def suggest_name(self) -> str:
        request = pb.SuggestVmNameRequest()
        return (await self._connection.unary(f"{BOXD_API}SuggestVmName", request, pb.SuggestVmNameResponse)).name

    def watch(self, ref: str) -> AsyncIterator[host_pb.Progress]:
        """Progress of the machine's operations until the iterator is closed."""
        request = host_pb.WatchMachineRequest(ref=ref)
        return self._connection.stream(f"{HOST}WatchMachine", request, host_pb.Progress)

    async def destroy_self(self, confirm_name: str) -> host_pb.DestroySelfResponse:
        """From inside a machine: remove it."""
        request, path = host_pb.DestroySelfRequest(confirm_name=confirm_name), f"{HOST}DestroySelf"
        return await self._connection.unary(path, request, host_pb.DestroySelfResponse)

    async def events(self, ref: str, limit: int) -> list[host_pb.Event]:
        """What was done to a machine, oldest first."""
        request = host_pb.ListEventsRequest(vm=ref, limit=limit)
        return list((await self._connection.unary(f"{HOST}ListEvents", request, host_pb.ListEventsResponse)).events)
