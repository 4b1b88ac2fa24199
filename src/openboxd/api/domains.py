"""Domains of people's own."""

from __future__ import annotations

from openboxd.api.convert import custom_domain_to_wire
from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def add_custom_domain(
    service: Service, caller: Caller, request: pb.AddCustomDomainRequest
) -> pb.AddCustomDomainResponse:
    view = await service.add_custom_domain(caller, request.vm_id, request.domain)
    return pb.AddCustomDomainResponse(domain=custom_domain_to_wire(service, view))


async def list_custom_domains(
    service: Service, caller: Caller, request: pb.ListCustomDomainsRequest
) -> pb.ListCustomDomainsResponse:
    found = service.custom_domains(caller)
    return pb.ListCustomDomainsResponse(domains=[custom_domain_to_wire(service, view) for view in found])


async def remove_custom_domain(
    service: Service, caller: Caller, request: pb.RemoveCustomDomainRequest
) -> pb.RemoveCustomDomainResponse:
    await service.remove_custom_domain(caller, request.domain)
    return pb.RemoveCustomDomainResponse()


METHODS: dict[str, Method] = {
    "AddCustomDomain": add_custom_domain,
    "ListCustomDomains": list_custom_domains,
    "RemoveCustomDomain": remove_custom_domain,
}
