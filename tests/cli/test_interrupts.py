"""Ctrl-C while the daemon works: 130, the work goes on, and stderr says so."""

from __future__ import annotations

import asyncio
import signal

import pytest


def noticed(service, method: str) -> asyncio.Event:
    """Set when the method has been called."""
    called, original = asyncio.Event(), getattr(service, method)

    def noting(*arguments):
        called.set()
        return original(*arguments)

    setattr(service, method, noting)
    return called


async def interrupted(process) -> tuple[int, bytes, bytes]:
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out, err.removeprefix(b"\n")  # which ends the line of ^C on a terminal


async def test_a_save_goes_on(boxd, web, service):
    service.save.clear()
    called = noticed(service, "checkpoint_done")
    process = await boxd.start("machine", "checkpoint", "save", "web", "two")
    await asyncio.wait_for(called.wait(), 60)
    told = b"the save goes on; see 'boxd machine checkpoint list web'\n"
    assert await interrupted(process) == (130, b"", told)
    service.save.set()
    assert (await service.checkpoint_done(None, "web", "two")).checkpoint.status == "ready"


async def test_a_new_machine_goes_on(boxd, service):
    service.boot.clear()
    called = noticed(service, "machine")
    process = await boxd.start("machine", "new", "web")
    await asyncio.wait_for(called.wait(), 60)
    told = b"web is made and goes on starting; see 'boxd machine get web'\n"
    assert await interrupted(process) == (130, b"", told)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["reboot", "web"], b"rebooting web goes on; see 'boxd machine get web'\n"),
        (["rename", "web", "www2"], b"renaming web goes on; see 'boxd machine list'\n"),
        (["resize", "web", "--vcpu", "1"], b"resizing web goes on; see 'boxd machine get web'\n"),
    ],
)
async def test_what_waits_for_a_boot_goes_on(boxd, web, service, argv, told):
    service.boot.clear()
    process = await boxd.start("machine", *argv)
    await service.until(lambda: service.machine(None, web.id).status == "starting")
    assert await interrupted(process) == (130, b"", told)
