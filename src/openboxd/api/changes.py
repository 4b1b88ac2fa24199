"""Changing a machine: its name, size, labels and settings."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.missing import not_offered
from openboxd.api.ports import Service
from openboxd.errors import NotSupported
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def rename_vm(service: Service, caller: Caller, request: pb.RenameVmRequest) -> pb.RenameVmResponse:
    machine = await service.rename_machine(caller, request.vm_id, request.new_name)
    return pb.RenameVmResponse(name=machine.name)


async def resize_vm(service: Service, caller: Caller, request: pb.ResizeVmRequest) -> pb.ResizeVmResponse:
    machine, rebooted = await service.resize_machine(caller, request.vm_id, request.vcpu, request.memory_bytes)
    return pb.ResizeVmResponse(vcpu=machine.size.vcpu, memory_bytes=machine.size.memory_bytes, rebooted=rebooted)


async def update_vm_labels(
    service: Service, caller: Caller, request: pb.UpdateVmLabelsRequest
) -> pb.UpdateVmLabelsResponse:
    labels = await service.update_labels(
        caller, request.vm, dict(request.set), tuple(request.remove), replace_all=request.replace_all
    )
    return pb.UpdateVmLabelsResponse(labels=dict(labels))


async def set_delete_after(
    service: Service, caller: Caller, request: pb.SetDeleteAfterRequest
) -> pb.SetDeleteAfterResponse:
    machine = await service.set_delete_after(
        caller, request.vm_id, request.delete_after_secs, request.delete_after_cron
    )
    return pb.SetDeleteAfterResponse(delete_at_ms=machine.delete_at_ms)


async def set_idle_ignore_outbound(
    service: Service, caller: Caller, request: pb.SetIdleIgnoreOutboundRequest
) -> pb.SetIdleIgnoreOutboundResponse:
    await service.set_idle_ignore_outbound(caller, request.vm_id, enabled=request.enabled)
    return pb.SetIdleIgnoreOutboundResponse()


async def set_bot_protection(
    service: Service, caller: Caller, request: pb.SetBotProtectionRequest
) -> pb.SetBotProtectionResponse:
    await service.set_bot_protection(caller, request.vm_id, request.mode, enabled=request.enabled)
    return pb.SetBotProtectionResponse()


async def set_auto_suspend_timeout(
    service: Service, caller: Caller, request: pb.SetAutoSuspendTimeoutRequest
) -> pb.SetAutoSuspendTimeoutResponse:
    _idle_timer_is_off(service, caller, request.vm_id, request.timeout_secs)
    return pb.SetAutoSuspendTimeoutResponse()


async def set_auto_hibernate_timeout(
    service: Service, caller: Caller, request: pb.SetAutoHibernateTimeoutRequest
) -> pb.SetAutoHibernateTimeoutResponse:
    _idle_timer_is_off(service, caller, request.vm_id, request.timeout_secs)
    return pb.SetAutoHibernateTimeoutResponse()


def _idle_timer_is_off(service: Service, caller: Caller, ref: str, seconds: int) -> None:
    """Switching a timer off that is always off is done; anything else would be a promise that nobody keeps."""
    service.machine(caller, ref)
    if seconds:
        raise NotSupported(not_offered("idle timers"))


METHODS: dict[str, Method] = {
    "RenameVm": rename_vm,
    "ResizeVm": resize_vm,
    "UpdateVmLabels": update_vm_labels,
    "SetDeleteAfter": set_delete_after,
    "SetIdleIgnoreOutbound": set_idle_ignore_outbound,
    "SetBotProtection": set_bot_protection,
    "SetAutoSuspendTimeout": set_auto_suspend_timeout,
    "SetAutoHibernateTimeout": set_auto_hibernate_timeout,
}
