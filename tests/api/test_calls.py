"""What each call of the API answers, over a real connection."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from openboxd import errors
from openboxd.api import door, missing, server
from openboxd.errors import BoxdError
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb
from openboxd.wire.metadata import ERROR_KEY

LIMIT = 10


async def refused(call) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def error_classes():
    found = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, BoxdError)]
    assert len(found) > 10
    return found


@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.__name__)
async def test_every_error_class_arrives_with_its_status_and_sentence(cls, api, service, monkeypatch):
    def refuse(caller, ref):
        raise cls(f"machine '{ref}' says no: ü")

    monkeypatch.setattr(service, "machine", refuse)
    error = await refused(api.boxd.GetVm(pb.GetVmRequest(vm_id="web")))
    assert error.code() == door.status_of(cls("x")) == grpc.StatusCode[cls.status]
    assert error.details() == "machine 'web' says no: ü"
    assert dict(error.trailing_metadata())[ERROR_KEY] == cls.__name__


async def test_an_unexpected_exception_is_logged_and_told_in_one_sentence(api, service, monkeypatch, caplog):
    def broken(caller, ref):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(service, "machine", broken)
    with caplog.at_level(logging.ERROR):
        error = await refused(api.boxd.GetVm(pb.GetVmRequest(vm_id="web")))
    assert error.code() == grpc.StatusCode.INTERNAL
    assert "secret" not in error.details()
    assert "Traceback" not in error.details()
    assert "secret detail" in caplog.text


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", "Bearer bxd_wrong"),),
        (("authorization", "bxd_" + "k" * 40),),
        (("authorization", "Basic bxd_" + "k" * 40),),
        (("authorization", "Bearer "),),
    ],
)
async def test_a_call_without_a_valid_key_is_refused(api, metadata):
    for name, call in server.BOXD_API.methods_by_name.items():
        if call.client_streaming or call.server_streaming or name not in ("GetVm", "ForkVm", "ListOrgs"):
            continue
        request = getattr(pb, call.input_type.name)()
        error = await refused(getattr(api.bare, name)(request, metadata=metadata))
        assert error.code() == grpc.StatusCode.UNAUTHENTICATED, name


async def test_streams_are_refused_without_a_key_too(api):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in api.bare.Exec(iter([pb.ExecChunk(vm_id="web", command="id")])):
            pass
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


async def test_reflection_needs_no_key_and_names_both_services(api):
    stub = reflection_pb2_grpc.ServerReflectionStub(api.channel)
    question = reflection_pb2.ServerReflectionRequest(list_services="")
    async for answer in stub.ServerReflectionInfo(iter([question])):
        names = {found.name for found in answer.list_services_response.service}
    assert {"boxd.api.v1.BoxdApi", "openboxd.v1.Host"} <= names


async def test_all_other_calls_say_what_is_not_offered(api):
    left = server.BOXD_API.methods_by_name.keys() - server.METHODS.keys()
    assert left
    for name in sorted(left):
        call = server.BOXD_API.methods_by_name[name]
        request = getattr(pb, call.input_type.name)()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            if call.server_streaming:
                async for _ in getattr(api.boxd, name)(iter([request]) if call.client_streaming else request):
                    pass
            else:
                await getattr(api.boxd, name)(request)
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED, name
        assert caught.value.details() == missing.sentence(name)
        assert caught.value.details().startswith("this boxd does not offer ")
        assert "the call" not in caught.value.details(), f"{name} has no topic"


async def test_a_machine_is_made_seen_and_destroyed(api, web, service):
    vm = await api.boxd.GetVm(pb.GetVmRequest(vm_id="web"))
    assert vm == await api.boxd.GetVm(pb.GetVmRequest(vm_id=web.vm_id))
    assert (vm.name, vm.status, vm.access_domain, vm.source) == ("web", "running", "boxd.test", "standalone")
    assert abs(vm.created_at - time.time()) < 60  # epoch seconds
    assert (vm.ssh_port, vm.auto_suspend_timeout_secs, vm.auto_hibernate_timeout_secs) == (10000, 0, 0)
    assert vm.public_ip == service.machine(None, "web").address
    assert vm.image_ref == "debian"
    assert vm.boot_time_ms == 1900
    assert web.url == "web.boxd.test"
    await api.boxd.DestroyVm(pb.DestroyVmRequest(vm_id="web"))
    error = await refused(api.boxd.GetVm(pb.GetVmRequest(vm_id="web")))
    assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, "VM 'web' not found")
    assert not (await api.boxd.ListVms(pb.ListVmsRequest())).vms


async def test_the_label_selector_reaches_the_service(api, web):
    await api.boxd.CreateVm(pb.CreateVmRequest(name="db", labels={"role": "db"}))
    listed = await api.boxd.ListVms(pb.ListVmsRequest(label_selector=["role=db"]))
    assert [vm.name for vm in listed.vms] == ["db"]
    assert dict(listed.vms[0].labels) == {"role": "db"}


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({"env": [pb.EnvVar(key="A", value="b")]}, "environment variables"),
        ({"config": pb.VmConfig(srf=pb.SrfConfig(auto_destroy_timeout_secs=9))}, "for want of use"),
        ({"config": pb.VmConfig(volumes=[pb.VolumeMount(disk_id="d")])}, "extra disks"),
        ({"config": pb.VmConfig(network=pb.NetworkConfig(ssh=False))}, "without SSH"),
    ],
)
async def test_what_would_be_ignored_is_refused_instead(api, extra, text):
    error = await refused(api.boxd.CreateVm(pb.CreateVmRequest(name="web", **extra)))
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED
    assert text in error.details()


async def test_a_timer_of_zero_and_ssh_on_are_the_default(api):
    config = pb.VmConfig(srf=pb.SrfConfig(auto_suspend_timeout_secs=0), network=pb.NetworkConfig(ssh=True))
    assert (await api.boxd.CreateVm(pb.CreateVmRequest(name="web", config=config))).name == "web"


async def test_stop_start_reboot(api, web, service):
    for call, request, status in (
        (api.boxd.StopVm, pb.StopVmRequest(vm_id="web"), "stopped"),
        (api.boxd.StartVm, pb.StartVmRequest(vm_id="web"), "running"),
        (api.boxd.RebootVm, pb.RebootVmRequest(vm_id="web"), "running"),
    ):
        await call(request)
        assert service.machine(None, "web").status == status


async def test_a_checkpoint_from_pending_to_restored_to_removed(api, web, service):
    service.save.clear()
    created = await api.boxd.CreateCheckpoint(pb.CreateCheckpointRequest(vm="web", name="one"))
    assert created.status == "pending"
    (row,) = (await api.boxd.ListCheckpoints(pb.ListCheckpointsRequest(vm="web"))).checkpoints
    assert (row.status, row.available, row.size_bytes) == ("pending", False, 0)
    waiting = asyncio.ensure_future(api.host.WaitCheckpoint(host_pb.WaitCheckpointRequest(vm="web", name="one")))
    service.save.set()
    row = await asyncio.wait_for(waiting, LIMIT)
    assert (row.status, row.available, row.is_current, row.pause_us) == ("ready", True, True, 24_300)
    assert row.total_bytes == row.size_bytes + row.shared_bytes > row.size_bytes > 0
    assert abs(row.created_at / 1000 - time.time()) < 60  # epoch milliseconds
    await api.boxd.RestoreCheckpoint(pb.RestoreCheckpointRequest(vm="web", name="one"))
    assert service.restores == 1
    await api.boxd.DeleteCheckpoint(pb.DeleteCheckpointRequest(vm="web", name="one"))
    error = await refused(api.boxd.RestoreCheckpoint(pb.RestoreCheckpointRequest(vm="web", name="one")))
    assert error.details() == "checkpoint 'one' not found on machine 'web'"


async def test_watching_a_machine_shows_its_progress_and_ends_with_the_caller(api, web, service):
    call = api.host.WatchMachine(host_pb.WatchMachineRequest(ref="web"))
    first = asyncio.ensure_future(call.read())
    await service.until(lambda: service.watching == 1)
    await api.boxd.CreateCheckpoint(pb.CreateCheckpointRequest(vm="web", name="one"))
    progress = await asyncio.wait_for(first, LIMIT)
    assert (progress.operation, progress.step, progress.fraction) == ("save", "memory", 0.5)
    call.cancel()
    await service.until(lambda: service.watching == 0)


async def test_images_are_built_with_progress_listed_and_removed(api):
    items = [item async for item in api.host.BuildImage(host_pb.BuildImageRequest(name="small"))]
    assert [item.WhichOneof("item") for item in items] == ["progress", "progress", "image"]
    assert items[0].progress.fraction == 0.25
    assert not items[1].progress.HasField("fraction")
    images = (await api.host.ListImages(host_pb.ListImagesRequest())).images
    assert [(image.name, image.is_default) for image in images] == [("debian", True), ("small", False)]
    await api.host.RemoveImage(host_pb.RemoveImageRequest(name="small"))
    findings = (await api.host.Doctor(host_pb.DoctorRequest())).findings
    assert [finding.verdict for finding in findings] == ["ok", "warning"]


async def test_account_calls(api):
    await api.boxd.LinkSshKey(pb.LinkSshKeyRequest(pubkey="ssh-ed25519 AAAA me", device_id="laptop"))
    await api.boxd.LinkSshKey(pb.LinkSshKeyRequest(pubkey="ssh-ed25519 BBBB me", device_id="laptop"))
    me = await api.boxd.Whoami(pb.WhoamiRequest())
    assert me.HasField("billing")
    assert (me.user_id, list(me.pubkey_fingerprints)) == ("u_owner", ["SHA256:fake"])
    config = await api.boxd.GetConfig(pb.GetConfigRequest())
    assert (config.default_image, config.zone) == ("debian", "boxd.test")
    assert (await api.boxd.SuggestVmName(pb.SuggestVmNameRequest())).name.startswith("brave-otter")
    assert not (await api.boxd.ListOrgs(pb.ListOrgsRequest())).orgs


async def test_a_taken_port_is_one_sentence(service, address):
    with pytest.raises(errors.HostUnfit, match="in use"):
        async with server.serve(service, address):
            pass
