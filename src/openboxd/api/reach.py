"""What machines reach: each other by their networks, the world by a list."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def set_vm_networks(
    service: Service, caller: Caller, request: pb.SetVmNetworksRequest
) -> pb.SetVmNetworksResponse:
    machine = await service.set_networks(caller, request.vm_id, tuple(request.networks))
    return pb.SetVmNetworksResponse(networks=machine.networks)


async def set_vm_egress_allow(
    service: Service, caller: Caller, request: pb.SetVmEgressAllowRequest
) -> pb.SetVmEgressAllowResponse:
    machine = await service.set_egress_allow(caller, request.vm, tuple(request.entries))
    return pb.SetVmEgressAllowResponse(entries=machine.egress_allow)


METHODS: dict[str, Method] = {"SetVmNetworks": set_vm_networks, "SetVmEgressAllow": set_vm_egress_allow}
