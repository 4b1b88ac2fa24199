"""Changing machines over the wire: names, sizes, labels, timers, settings, and reading the console."""

from __future__ import annotations

import asyncio
import time

import grpc
import pytest

from openboxd.wire import boxd_api_pb2 as pb


async def refused(call) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details()


async def test_rename(api, web):
    answer = await api.boxd.RenameVm(pb.RenameVmRequest(vm_id="web", new_name="www2"))
    assert answer.name == "www2"
    by_id = await api.boxd.GetVm(pb.GetVmRequest(vm_id=web.vm_id))
    assert (by_id.name, by_id.status) == ("www2", "running")
    code, text = await refused(api.boxd.GetVm(pb.GetVmRequest(vm_id="web")))
    assert (code, text) == (grpc.StatusCode.NOT_FOUND, "VM 'web' not found")
    code, _ = await refused(api.boxd.RenameVm(pb.RenameVmRequest(vm_id="www2", new_name="No Name")))
    assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_resize(api, web):
    answer = await api.boxd.ResizeVm(pb.ResizeVmRequest(vm_id="web", vcpu=1, memory_bytes=2**30))
    assert (answer.vcpu, answer.memory_bytes, answer.rebooted) == (1, 2**30, True)
    code, _ = await refused(api.boxd.ResizeVm(pb.ResizeVmRequest(vm_id="web", vcpu=500)))
    assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_labels(api, web):
    answer = await api.boxd.UpdateVmLabels(pb.UpdateVmLabelsRequest(vm="web", set={"env": "prod", "tier": ""}))
    assert dict(answer.labels) == {"env": "prod", "tier": ""}
    answer = await api.boxd.UpdateVmLabels(pb.UpdateVmLabelsRequest(vm="web", remove=["tier", "none"]))
    assert dict(answer.labels) == {"env": "prod"}
    listed = await api.boxd.ListVms(pb.ListVmsRequest(label_selector=["env=prod"]))
    assert [vm.name for vm in listed.vms] == ["web"]
    assert not (await api.boxd.ListVms(pb.ListVmsRequest(label_selector=["env=test"]))).vms


async def test_a_removal_timer_and_kept_settings_are_shown(api, web):
    begun = time.time() * 1000
    answer = await api.boxd.SetDeleteAfter(pb.SetDeleteAfterRequest(vm_id="web", delete_after_secs=600))
    assert begun + 595_000 < answer.delete_at_ms < begun + 660_000
    cron = await api.boxd.SetDeleteAfter(pb.SetDeleteAfterRequest(vm_id="web", delete_after_cron="0 3 * * *"))
    await api.boxd.SetIdleIgnoreOutbound(pb.SetIdleIgnoreOutboundRequest(vm_id="web", enabled=True))
    await api.boxd.SetBotProtection(pb.SetBotProtectionRequest(vm_id="web", enabled=True, mode="sleep_only"))
    vm = await api.boxd.GetVm(pb.GetVmRequest(vm_id="web"))
    assert (vm.delete_at_ms, vm.delete_after_cron) == (cron.delete_at_ms, "0 3 * * *")
    assert (vm.idle_ignore_outbound, vm.bot_protection, vm.bot_protection_mode) == (True, True, "sleep_only")
    cleared = await api.boxd.SetDeleteAfter(pb.SetDeleteAfterRequest(vm_id="web"))
    assert cleared.delete_at_ms == 0


async def test_idle_timers_are_set_and_cleared(api, web):
    for seconds in (30, 0):
        await api.boxd.SetAutoSuspendTimeout(pb.SetAutoSuspendTimeoutRequest(vm_id="web", timeout_secs=seconds))
        await api.boxd.SetAutoHibernateTimeout(
            pb.SetAutoHibernateTimeoutRequest(vm_id="web", timeout_secs=2 * seconds)
        )
        vm = await api.boxd.GetVm(pb.GetVmRequest(vm_id="web"))
        assert (vm.auto_suspend_timeout_secs, vm.auto_hibernate_timeout_secs) == (seconds, 2 * seconds)
    code, text = await refused(
        api.boxd.SetAutoSuspendTimeout(pb.SetAutoSuspendTimeoutRequest(vm_id="web", timeout_secs=2**32 - 1))
    )
    assert code is grpc.StatusCode.INVALID_ARGUMENT and "an idle timer has at most" in text
    code, _ = await refused(api.boxd.SetAutoSuspendTimeout(pb.SetAutoSuspendTimeoutRequest(vm_id="ghost")))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_the_console_is_raw_and_ends_with_the_machine(api, web):
    said = b"".join([chunk.data async for chunk in api.boxd.StreamLogs(pb.StreamLogsRequest(vm_id="web"))])
    assert said == b"Linux version 6.12\r\n\x1b[2J\xff\n"
    followed = api.boxd.StreamLogs(pb.StreamLogsRequest(vm_id="web", follow=True))
    assert (await followed.read()).data and (await followed.read()).data
    await api.boxd.DestroyVm(pb.DestroyVmRequest(vm_id="web"))
    async with asyncio.timeout(60):
        assert await followed.read() is grpc.aio.EOF
    with pytest.raises(grpc.aio.AioRpcError, match="VM 'web' not found"):
        await api.boxd.StreamLogs(pb.StreamLogsRequest(vm_id="web")).read()
