"""Machines that sleep: suspend and resume, hibernate and wake, and the idle timers that do it by themselves."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def suspend_vm(service: Service, caller: Caller, request: pb.SuspendVmRequest) -> pb.SuspendVmResponse:
    return pb.SuspendVmResponse(suspend_us=await service.suspend_machine(caller, request.vm_id))


async def resume_vm(service: Service, caller: Caller, request: pb.ResumeVmRequest) -> pb.ResumeVmResponse:
    return pb.ResumeVmResponse(resume_us=await service.resume_machine(caller, request.vm_id))


async def hibernate_vm(service: Service, caller: Caller, request: pb.HibernateVmRequest) -> pb.HibernateVmResponse:
    await service.hibernate_machine(caller, request.vm_id)
    return pb.HibernateVmResponse()


async def wake_vm(service: Service, caller: Caller, request: pb.WakeVmRequest) -> pb.WakeVmResponse:
    await service.wake_machine(caller, request.vm_id)
    return pb.WakeVmResponse()


async def set_auto_suspend(
    service: Service, caller: Caller, request: pb.SetAutoSuspendTimeoutRequest
) -> pb.SetAutoSuspendTimeoutResponse:
    await service.set_auto_suspend(caller, request.vm_id, request.timeout_secs)
    return pb.SetAutoSuspendTimeoutResponse()


async def set_auto_hibernate(
    service: Service, caller: Caller, request: pb.SetAutoHibernateTimeoutRequest
) -> pb.SetAutoHibernateTimeoutResponse:
    await service.set_auto_hibernate(caller, request.vm_id, request.timeout_secs)
    return pb.SetAutoHibernateTimeoutResponse()


METHODS: dict[str, Method] = {
    "SuspendVm": suspend_vm,
    "ResumeVm": resume_vm,
    "HibernateVm": hibernate_vm,
    "WakeVm": wake_vm,
    "SetAutoSuspendTimeout": set_auto_suspend,
    "SetAutoHibernateTimeout": set_auto_hibernate,
}
