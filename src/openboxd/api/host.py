"""The service of our own: images, progress, the outcome of a save, the state of the host, SSH keys."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd import __version__
from openboxd.api import convert
from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.api.streams import reading
from openboxd.model import Caller, Image, Progress, Verification
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


async def build_image(
    service: Service, caller: Caller, request: host_pb.BuildImageRequest
) -> AsyncIterator[host_pb.BuildImageResponse]:
    async with reading(service.build_image(caller, request.name or service.default_image())) as items:
        async for item in items:
            yield _news(service, item)


async def warm_image(
    service: Service, caller: Caller, request: host_pb.WarmImageRequest
) -> AsyncIterator[host_pb.BuildImageResponse]:
    name = request.name or service.default_image()
    async with reading(service.warm_image(caller, name, request.vcpu, request.memory_bytes)) as items:
        async for item in items:
            yield _news(service, item)


def _news(service: Service, item: Progress | Image) -> host_pb.BuildImageResponse:
    if isinstance(item, Image):
        return host_pb.BuildImageResponse(image=convert.image_to_wire(service, item))
    return host_pb.BuildImageResponse(progress=convert.progress_to_wire(item))


async def list_images(
    service: Service, caller: Caller, request: host_pb.ListImagesRequest
) -> host_pb.ListImagesResponse:
    images = service.images(caller)
    return host_pb.ListImagesResponse(images=[convert.image_to_wire(service, image) for image in images])


async def remove_image(
    service: Service, caller: Caller, request: host_pb.RemoveImageRequest
) -> host_pb.RemoveImageResponse:
    await service.remove_image(caller, request.name)
    return host_pb.RemoveImageResponse()


async def watch_machine(
    service: Service, caller: Caller, request: host_pb.WatchMachineRequest
) -> AsyncIterator[host_pb.Progress]:
    service.machine(caller, request.ref)  # refuses an unknown machine at once, not at the first progress
    async with reading(service.progress(caller, request.ref)) as source:
        async for progress in source:
            yield convert.progress_to_wire(progress)


async def wait_checkpoint(
    service: Service, caller: Caller, request: host_pb.WaitCheckpointRequest
) -> pb.CheckpointInfo:
    done = await service.checkpoint_done(caller, request.vm, request.name)
    return convert.checkpoint_to_wire(service, caller, done)


async def wait_snapshot(service: Service, caller: Caller, request: host_pb.WaitSnapshotRequest) -> pb.SnapshotInfo:
    return convert.snapshot_to_wire(await service.snapshot_done(caller, request.name))


async def verify_checkpoint(
    service: Service, caller: Caller, request: host_pb.VerifyCheckpointRequest
) -> AsyncIterator[host_pb.VerifyCheckpointResponse]:
    async with reading(service.verify_checkpoint(caller, request.vm, request.name)) as items:
        async for item in items:
            yield _verified(item)


async def verify_snapshot(
    service: Service, caller: Caller, request: host_pb.VerifySnapshotRequest
) -> AsyncIterator[host_pb.VerifyCheckpointResponse]:
    async with reading(service.verify_snapshot(caller, request.name)) as items:
        async for item in items:
            yield _verified(item)


def _verified(item: Progress | Verification) -> host_pb.VerifyCheckpointResponse:
    if isinstance(item, Verification):
        return host_pb.VerifyCheckpointResponse(result=convert.verification_to_wire(item))
    return host_pb.VerifyCheckpointResponse(progress=convert.progress_to_wire(item))


async def list_events(
    service: Service, caller: Caller, request: host_pb.ListEventsRequest
) -> host_pb.ListEventsResponse:
    found = service.events(caller, request.vm, request.limit)
    return host_pb.ListEventsResponse(events=[convert.event_to_wire(event, name) for event, name in found])


async def doctor(service: Service, caller: Caller, request: host_pb.DoctorRequest) -> host_pb.DoctorResponse:
    findings = [
        host_pb.Finding(subject=f.subject, verdict=f.verdict, detail=f.detail, remedy=f.remedy)
        for f in await service.doctor(caller)
    ]
    return host_pb.DoctorResponse(findings=findings, version=__version__, home=service.data_dir)


async def list_ssh_keys(
    service: Service, caller: Caller, request: host_pb.ListSshKeysRequest
) -> host_pb.ListSshKeysResponse:
    return host_pb.ListSshKeysResponse(
        keys=[
            host_pb.SshKeyInfo(
                fingerprint=key.fingerprint, public_key=key.public_key, device_id=key.device_id, label=key.label
            )
            for key in service.ssh_keys(caller)
        ]
    )


async def unlink_ssh_key(
    service: Service, caller: Caller, request: host_pb.UnlinkSshKeyRequest
) -> host_pb.UnlinkSshKeyResponse:
    await service.unlink_ssh_key(caller, request.fingerprint)
    return host_pb.UnlinkSshKeyResponse()


async def destroy_self(
    service: Service, caller: Caller, request: host_pb.DestroySelfRequest
) -> host_pb.DestroySelfResponse:
    machine = await service.destroy_self(caller, request.confirm_name)
    return host_pb.DestroySelfResponse(name=machine.name, vm_id=machine.id)


async def root_certificate(
    service: Service, caller: Caller, request: host_pb.RootCertificateRequest
) -> host_pb.RootCertificateResponse:
    return host_pb.RootCertificateResponse(pem=service.root_certificate)


METHODS: dict[str, Method] = {
    "RootCertificate": root_certificate,
    "DestroySelf": destroy_self,
    "BuildImage": build_image,
    "WarmImage": warm_image,
    "ListImages": list_images,
    "RemoveImage": remove_image,
    "WatchMachine": watch_machine,
    "WaitCheckpoint": wait_checkpoint,
    "WaitSnapshot": wait_snapshot,
    "VerifyCheckpoint": verify_checkpoint,
    "VerifySnapshot": verify_snapshot,
    "ListEvents": list_events,
    "Doctor": doctor,
    "ListSshKeys": list_ssh_keys,
    "UnlinkSshKey": unlink_ssh_key,
}
