"""Machines that are made without a way to boxd, however they are made, and what they find."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.errors import PermissionDenied
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.inside.conftest import LIMIT, Doors
from tests.inside.test_metadata import api

CONFIG = pb.VmConfig(vcpu=1, memory_bytes=512 << 20)


async def _made(stub: BoxdApiStub, doors: Doors) -> set[str]:
    """Make one machine in each way that a client has; their names."""
    await stub.CreateVm(pb.CreateVmRequest(name="new", config=CONFIG, isolated=True))
    await stub.ForkVm(pb.ForkVmRequest(source_vm_id="web", name="fork", isolated=True))
    await stub.ForkVm(pb.ForkVmRequest(source_vm_id="fork", name="grandchild"))
    await stub.CreateSnapshot(pb.CreateSnapshotRequest(vm="web", name="base"))
    await doors.world.settled("web")
    await stub.CreateVmFromSnapshot(
        pb.CreateVmFromSnapshotRequest(snapshot="base", name="copy", isolated=True, wait=True)
    )
    return {"new", "fork", "grandchild", "copy"}


async def test_whichever_way_it_is_made_it_has_no_doors(doors: Doors) -> None:
    async with api(doors) as stub, asyncio.timeout(LIMIT):
        for name in await _made(stub, doors):
            machine = await doors.world.settled(name)
            assert machine.isolated, name
            assert (await stub.GetVm(pb.GetVmRequest(vm_id=name))).isolated, name
            for door in ("cli", "api"):
                _, task = doors.knock(door, name)
                with pytest.raises(PermissionDenied, match=f"machine '{name}' is isolated"):
                    await task
        assert not (await stub.GetVm(pb.GetVmRequest(vm_id="web"))).isolated
