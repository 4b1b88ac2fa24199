"""The daemon's calls as methods: names and numbers in, messages of the wire out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from openboxd.client.connection import BOXD_API, HOST, Connection, connected
from openboxd.client.endpoint import Endpoint
from openboxd.client.execution import Execution
from openboxd.client.people import PeopleCalls
from openboxd.client.sleep import SleepCalls
from openboxd.client.snapshots import SnapshotCalls
from openboxd.model import ExecRequest
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb

SLICE = 1024 * 1024
"""Bytes of one message of a streamed upload."""


class Client(SnapshotCalls, SleepCalls, PeopleCalls):
    """Calls that wait for a machine to do something have no deadline: the daemon bounds them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # -- machines

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

    # -- ways in

    async def routes(self, ref: str = "") -> list[pb.ProxyInfo]:
        """Of one machine, or of all."""
        request = pb.ListProxiesRequest(vm=ref)
        return list((await self._connection.unary(f"{BOXD_API}ListProxies", request, pb.ListProxiesResponse)).proxies)

    async def create_route(self, ref: str, name: str, port: int) -> pb.CreateProxyResponse:
        request = pb.CreateProxyRequest(vm=ref, name=name, port=port)
        return await self._connection.unary(f"{BOXD_API}CreateProxy", request, pb.CreateProxyResponse)

    async def set_route_port(self, ref: str, name: str, port: str) -> None:
        """An empty name is the default route, the only one that takes "auto"."""
        request = pb.SetProxyPortRequest(vm=ref, name=name, port=port)
        await self._connection.unary(f"{BOXD_API}SetProxyPort", request, pb.SetProxyPortResponse)

    async def delete_route(self, ref: str, name: str) -> None:
        request = pb.DeleteProxyRequest(vm=ref, name=name)
        await self._connection.unary(f"{BOXD_API}DeleteProxy", request, pb.DeleteProxyResponse)

    async def expose(self, ref: str, port: int, protocol: str) -> pb.ExposePortResponse:
        request = pb.ExposePortRequest(vm=ref, vm_port=port, protocol=protocol)
        return await self._connection.unary(f"{BOXD_API}ExposePort", request, pb.ExposePortResponse)

    async def unexpose(self, ref: str, port: int) -> pb.ExposePortResponse:
        request = pb.UnexposePortRequest(vm=ref, vm_port=port)
        return (await self._connection.unary(f"{BOXD_API}UnexposePort", request, pb.UnexposePortResponse)).forward

    async def exposed_ports(self, ref: str = "") -> list[pb.ExposePortResponse]:
        """Of one machine, or of all."""
        request, path = pb.ListExposedPortsRequest(vm=ref), f"{BOXD_API}ListExposedPorts"
        return list((await self._connection.unary(path, request, pb.ListExposedPortsResponse)).forwards)

    async def domains(self) -> list[pb.CustomDomainInfo]:
        """Domains of one's own, of all machines."""
        request, path = pb.ListCustomDomainsRequest(), f"{BOXD_API}ListCustomDomains"
        return list((await self._connection.unary(path, request, pb.ListCustomDomainsResponse)).domains)

    async def add_domain(self, ref: str, domain: str) -> pb.CustomDomainInfo:
        request, path = pb.AddCustomDomainRequest(vm_id=ref, domain=domain), f"{BOXD_API}AddCustomDomain"
        return (await self._connection.unary(path, request, pb.AddCustomDomainResponse)).domain

    async def remove_domain(self, domain: str) -> None:
        request, path = pb.RemoveCustomDomainRequest(domain=domain), f"{BOXD_API}RemoveCustomDomain"
        await self._connection.unary(path, request, pb.RemoveCustomDomainResponse)

    async def destroy_self(self, confirm_name: str) -> host_pb.DestroySelfResponse:
        """From inside a machine: remove it."""
        request, path = host_pb.DestroySelfRequest(confirm_name=confirm_name), f"{HOST}DestroySelf"
        return await self._connection.unary(path, request, host_pb.DestroySelfResponse)

    async def root_certificate(self) -> str:
        """PEM of the root behind the machines' HTTPS domains."""
        request, path = host_pb.RootCertificateRequest(), f"{HOST}RootCertificate"
        return (await self._connection.unary(path, request, host_pb.RootCertificateResponse)).pem

    # -- checkpoints

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

    async def events(self, ref: str, limit: int) -> list[host_pb.Event]:
        """What was done to a machine, oldest first."""
        request = host_pb.ListEventsRequest(vm=ref, limit=limit)
        return list((await self._connection.unary(f"{HOST}ListEvents", request, host_pb.ListEventsResponse)).events)

    # -- guest

    async def exec(self, ref: str, request: ExecRequest) -> Execution:
        """Start a command."""
        execution = Execution(self._connection, ref, request)
        await execution.start()
        return execution

    async def upload(self, ref: str, path: str, size: int, data: AsyncIterator[bytes]) -> int:
        """Write a file of exactly `size` bytes; the number written."""

        async def chunks() -> AsyncIterator[pb.UploadFileChunk]:
            yield pb.UploadFileChunk(vm_id=ref, path=path, total_size=size)
            async for piece in data:
                for start in range(0, len(piece), SLICE):
                    yield pb.UploadFileChunk(data=piece[start : start + SLICE])

        answer = await self._connection.upload(f"{BOXD_API}UploadFileStream", chunks(), pb.UploadFileResponse)
        return answer.bytes_written

    def download(self, ref: str, path: str) -> AsyncIterator[pb.DownloadFileChunk]:
        """A file in pieces; the first one carries its size."""
        request = pb.DownloadFileRequest(vm_id=ref, path=path)
        return self._connection.stream(f"{BOXD_API}DownloadFileStream", request, pb.DownloadFileChunk)

    async def list_dir(self, ref: str, path: str) -> pb.ListDirResponse:
        request = pb.ListDirRequest(vm_id=ref, path=path)
        return await self._connection.unary(f"{BOXD_API}ListDir", request, pb.ListDirResponse)

    async def mkdir(self, ref: str, path: str) -> None:
        request = pb.MkdirRequest(vm_id=ref, path=path)
        await self._connection.unary(f"{BOXD_API}Mkdir", request, pb.MkdirResponse)

    # -- host

    def build_image(self, name: str) -> AsyncIterator[host_pb.BuildImageResponse]:
        """Progress, then the image as the last item; an empty name means the default image."""
        request = host_pb.BuildImageRequest(name=name)
        return self._connection.stream(f"{HOST}BuildImage", request, host_pb.BuildImageResponse)

    def warm_image(self, name: str, vcpu: int, memory_bytes: int) -> AsyncIterator[host_pb.BuildImageResponse]:
        """Progress, then the image as the last item; new machines of this size need not boot then."""
        request = host_pb.WarmImageRequest(name=name, vcpu=vcpu, memory_bytes=memory_bytes)
        return self._connection.stream(f"{HOST}WarmImage", request, host_pb.BuildImageResponse)

    async def images(self) -> list[host_pb.ImageInfo]:
        request = host_pb.ListImagesRequest()
        return list((await self._connection.unary(f"{HOST}ListImages", request, host_pb.ListImagesResponse)).images)

    async def remove_image(self, name: str) -> None:
        request = host_pb.RemoveImageRequest(name=name)
        await self._connection.unary(f"{HOST}RemoveImage", request, host_pb.RemoveImageResponse)

    async def doctor(self) -> host_pb.DoctorResponse:
        return await self._connection.unary(f"{HOST}Doctor", host_pb.DoctorRequest(), host_pb.DoctorResponse)

    # -- account

    async def whoami(self) -> pb.WhoamiResponse:
        return await self._connection.unary(f"{BOXD_API}Whoami", pb.WhoamiRequest(), pb.WhoamiResponse)

    async def create_api_key(self, name: str, expires_in_secs: int) -> pb.CreateApiKeyResponse:
        """The key itself is in this answer and nowhere else; 0 seconds = without end."""
        request = pb.CreateApiKeyRequest(name=name, expires_in_secs=expires_in_secs)
        return await self._connection.unary(f"{BOXD_API}CreateApiKey", request, pb.CreateApiKeyResponse)

    async def api_keys(self) -> list[pb.ApiKeyInfo]:
        request = pb.ListApiKeysRequest()
        return list((await self._connection.unary(f"{BOXD_API}ListApiKeys", request, pb.ListApiKeysResponse)).keys)

    async def delete_api_key(self, key_id: str) -> None:
        request = pb.DeleteApiKeyRequest(id=key_id)
        await self._connection.unary(f"{BOXD_API}DeleteApiKey", request, pb.DeleteApiKeyResponse)

    async def link_ssh_key(self, public_key: str, device_id: str, label: str) -> None:
        request = pb.LinkSshKeyRequest(pubkey=public_key, device_id=device_id, label=label)
        await self._connection.unary(f"{BOXD_API}LinkSshKey", request, pb.LinkSshKeyResponse)

    async def ssh_keys(self) -> list[host_pb.SshKeyInfo]:
        request = host_pb.ListSshKeysRequest()
        return list((await self._connection.unary(f"{HOST}ListSshKeys", request, host_pb.ListSshKeysResponse)).keys)

    async def unlink_ssh_key(self, fingerprint: str) -> None:
        request = host_pb.UnlinkSshKeyRequest(fingerprint=fingerprint)
        await self._connection.unary(f"{HOST}UnlinkSshKey", request, host_pb.UnlinkSshKeyResponse)


@asynccontextmanager
async def open_client(endpoint: Endpoint) -> AsyncIterator[Client]:
    """A client on a connection that stands.

    Raises:
        Unavailable: no daemon answers there.
    """
    async with connected(endpoint) as connection:
        yield Client(connection)
