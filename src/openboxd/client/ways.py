"""The daemon's calls about ways in to machines."""

from __future__ import annotations

from openboxd.client.connection import BOXD_API, Connection
from openboxd.wire import boxd_api_pb2 as pb


class WayCalls:
    """A part of `Client`."""

    _connection: Connection

    async def routes(self, ref: str = "") -> list[pb.ProxyInfo]:
        """Of one machine, or of all."""
        request = pb.ListProxiesRequest(vm=ref)
        return list((await self._connection.unary(f"{BOXD_API}ListProxies", request, pb.ListProxiesResponse)).proxies)

    async def create_route(self, ref: str, name: str, port: int) -> pb.CreateProxyResponse:
        request = pb.CreateProxyRequest(vm=ref, name=name, port=port)
        return await self._connection.unary(f"{BOXD_API}CreateProxy", request, pb.CreateProxyResponse)

    async def set_route_port(self, ref: str, name: str, port: str) -> None:
        """An empty name is the default route, the only one that takes "auto"."""
        request = pb.SetProxyPortRequest(vm=ref, name=name, port=port)
        await self._connection.unary(f"{BOXD_API}SetProxyPort", request, pb.SetProxyPortResponse)

    async def delete_route(self, ref: str, name: str) -> None:
        request = pb.DeleteProxyRequest(vm=ref, name=name)
        await self._connection.unary(f"{BOXD_API}DeleteProxy", request, pb.DeleteProxyResponse)

    async def expose(self, ref: str, port: int, protocol: str) -> pb.ExposePortResponse:
        request = pb.ExposePortRequest(vm=ref, vm_port=port, protocol=protocol)
        return await self._connection.unary(f"{BOXD_API}ExposePort", request, pb.ExposePortResponse)

    async def unexpose(self, ref: str, port: int) -> pb.ExposePortResponse:
        request = pb.UnexposePortRequest(vm=ref, vm_port=port)
        return (await self._connection.unary(f"{BOXD_API}UnexposePort", request, pb.UnexposePortResponse)).forward

    async def exposed_ports(self, ref: str = "") -> list[pb.ExposePortResponse]:
        """Of one machine, or of all."""
        request, path = pb.ListExposedPortsRequest(vm=ref), f"{BOXD_API}ListExposedPorts"
        return list((await self._connection.unary(path, request, pb.ListExposedPortsResponse)).forwards)

    async def domains(self) -> list[pb.CustomDomainInfo]:
        """Domains of one's own, of all machines."""
        request, path = pb.ListCustomDomainsRequest(), f"{BOXD_API}ListCustomDomains"
        return list((await self._connection.unary(path, request, pb.ListCustomDomainsResponse)).domains)

    async def add_domain(self, ref: str, domain: str) -> pb.CustomDomainInfo:
        request, path = pb.AddCustomDomainRequest(vm_id=ref, domain=domain), f"{BOXD_API}AddCustomDomain"
        return (await self._connection.unary(path, request, pb.AddCustomDomainResponse)).domain

    async def remove_domain(self, domain: str) -> None:
        request, path = pb.RemoveCustomDomainRequest(domain=domain), f"{BOXD_API}RemoveCustomDomain"
        await self._connection.unary(path, request, pb.RemoveCustomDomainResponse)
