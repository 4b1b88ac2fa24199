"""Machines: make, look at, start, stop, reboot, destroy."""

from __future__ import annotations

from openboxd.api import convert
from openboxd.api.door import Method
from openboxd.api.missing import not_offered
from openboxd.api.ports import NewMachine, Service
from openboxd.errors import NotSupported
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


def refuse_unoffered(request: pb.CreateVmRequest) -> None:
    """What is asked for and would not be given must not be ignored in silence.

    Values that mean the same as leaving the field out (a timer of 0, SSH on) pass.
    """
    config = request.config
    asked = {
        "environment variables for a whole machine": request.env,
        "a start command for machines": request.cmd,
        "teams": request.team,
        "machine specs": request.HasField("spec"),
        "removing machines for want of use": config.srf.auto_destroy_timeout_secs,
        "machines without SSH": config.HasField("network") and not config.network.ssh,
        "extra disks": config.volumes,
    }
    for topic, present in asked.items():
        if present:
            raise NotSupported(not_offered(topic))


def wanted(request: pb.CreateVmRequest) -> NewMachine:
    """What is asked for, in the model's words. Raises NotSupported for what is not offered."""
    refuse_unoffered(request)
    return NewMachine(
        name=request.name,
        image=request.image_ref,
        vcpu=request.config.vcpu,
        memory_bytes=request.config.memory_bytes,
        disk_bytes=request.config.disk_bytes,
        restart_policy=request.restart_policy,
        labels=dict(request.labels),
        auto_suspend_secs=request.config.srf.auto_suspend_timeout_secs,
        auto_hibernate_secs=request.config.srf.auto_hibernate_timeout_secs,
        idle_ignore_outbound=request.config.idle_ignore_outbound,
        routes=[(proxy.name, proxy.port) for proxy in request.config.network.proxies],
        isolated=request.isolated,
        networks=tuple(request.networks),
        org=request.org,
        shared=request.shared,
    )


def given(config: pb.VmConfig) -> list[str]:
    """Idle settings that are asked for: 0 and no are values, too."""
    fields = {
        "auto_suspend_secs": config.srf.HasField("auto_suspend_timeout_secs"),
        "auto_hibernate_secs": config.srf.HasField("auto_hibernate_timeout_secs"),
        "idle_ignore_outbound": config.HasField("idle_ignore_outbound"),
    }
    return [name for name, present in fields.items() if present]


async def create_vm(service: Service, caller: Caller, request: pb.CreateVmRequest) -> pb.CreateVmResponse:
    return convert.created_to_wire(service, await service.create_machine(caller, wanted(request)))


async def fork_vm(service: Service, caller: Caller, request: pb.ForkVmRequest) -> pb.ForkVmResponse:
    as_new = pb.CreateVmRequest(
        name=request.name,
        config=request.config,
        isolated=request.isolated,
        labels=request.labels,
        org=service.machine(caller, request.source_vm_id).org_id if request.shared else "",
        shared=request.shared,
        networks=request.networks,
    )
    machine = await service.fork_machine(
        caller,
        request.source_vm_id,
        wanted(as_new),
        request.from_checkpoint,
        given(request.config),
    )
    return convert.forked_to_wire(service, machine)


async def get_vm(service: Service, caller: Caller, request: pb.GetVmRequest) -> pb.GetVmResponse:
    return convert.machine_to_wire(service, caller, service.machine(caller, request.vm_id))


async def list_vms(service: Service, caller: Caller, request: pb.ListVmsRequest) -> pb.ListVmsResponse:
    selector, everywhere = tuple(request.label_selector), request.all_contexts
    machines = service.machines(caller, selector, "" if everywhere else request.org, everywhere=everywhere)
    return pb.ListVmsResponse(
        vms=[convert.machine_to_wire(service, caller, machine) for machine in machines],
        ssh_host_key=service.ssh_host_key,
    )


async def destroy_vm(service: Service, caller: Caller, request: pb.DestroyVmRequest) -> pb.DestroyVmResponse:
    await service.destroy_machine(caller, request.vm_id)
    return pb.DestroyVmResponse()


async def start_vm(service: Service, caller: Caller, request: pb.StartVmRequest) -> pb.StartVmResponse:
    await service.start_machine(caller, request.vm_id)
    return pb.StartVmResponse()


async def stop_vm(service: Service, caller: Caller, request: pb.StopVmRequest) -> pb.StopVmResponse:
    await service.stop_machine(caller, request.vm_id)
    return pb.StopVmResponse()


async def reboot_vm(service: Service, caller: Caller, request: pb.RebootVmRequest) -> pb.RebootVmResponse:
    await service.reboot_machine(caller, request.vm_id)
    return pb.RebootVmResponse()


async def suggest_vm_name(
    service: Service, caller: Caller, request: pb.SuggestVmNameRequest
) -> pb.SuggestVmNameResponse:
    return pb.SuggestVmNameResponse(name=service.suggest_name(caller))


METHODS: dict[str, Method] = {
    "CreateVm": create_vm,
    "ForkVm": fork_vm,
    "GetVm": get_vm,
    "ListVms": list_vms,
    "DestroyVm": destroy_vm,
    "StartVm": start_vm,
    "StopVm": stop_vm,
    "RebootVm": reboot_vm,
    "SuggestVmName": suggest_vm_name,
}
