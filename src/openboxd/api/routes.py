"""Ways in to machines: HTTPS routes and exposed ports."""

from __future__ import annotations

from openboxd.api.convert import domain, https_url
from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.model import Caller, ExposedPort, Machine, RouteView
from openboxd.wire import boxd_api_pb2 as pb


def route_domain(service: Service, view: RouteView) -> str:
    """Host name of a route."""
    own = domain(service, view.machine)
    return f"{view.route.name}.{own}" if view.route.name else own


def route_to_wire(service: Service, view: RouteView) -> pb.ProxyInfo:
    """A route. Clients take `port` for what traffic is led to; `port_mode` says whether somebody chose it."""
    found = not view.route.port
    return pb.ProxyInfo(
        name=view.route.name,
        vm_name=view.machine.name,
        vm_id=view.machine.id,
        domain=route_domain(service, view),
        port=view.port,
        effective_port=view.port,
        port_mode="auto" if found else "locked",
        port_display=f"auto ({view.port})" if found else str(view.port),
        is_default=not view.route.name,
        https_url=https_url(service, route_domain(service, view)),
    )


def exposed_to_wire(service: Service, machine: Machine, exposed: ExposedPort) -> pb.ExposePortResponse:
    """An exposed port."""
    return pb.ExposePortResponse(
        vm_name=machine.name,
        vm_id=machine.id,
        dns=domain(service, machine),
        public_port=exposed.public_port,
        vm_port=exposed.port,
        protocol=exposed.protocol,
    )


async def list_proxies(service: Service, caller: Caller, request: pb.ListProxiesRequest) -> pb.ListProxiesResponse:
    views = await service.routes(caller, request.vm or request.vm_name)
    return pb.ListProxiesResponse(proxies=[route_to_wire(service, view) for view in views])


async def create_proxy(service: Service, caller: Caller, request: pb.CreateProxyRequest) -> pb.CreateProxyResponse:
    view = await service.create_route(caller, request.vm or request.vm_name, request.name, request.port)
    name = route_domain(service, view)
    return pb.CreateProxyResponse(
        name=request.name,
        vm_name=view.machine.name,
        domain=name,
        port=view.port,
        https_url=https_url(service, name),
    )


async def delete_proxy(service: Service, caller: Caller, request: pb.DeleteProxyRequest) -> pb.DeleteProxyResponse:
    await service.delete_route(caller, request.vm or request.vm_name, request.name)
    return pb.DeleteProxyResponse()


async def set_proxy_port(
    service: Service, caller: Caller, request: pb.SetProxyPortRequest
) -> pb.SetProxyPortResponse:
    await service.set_route_port(caller, request.vm or request.vm_name, request.name, request.port)
    return pb.SetProxyPortResponse()


async def expose_port(service: Service, caller: Caller, request: pb.ExposePortRequest) -> pb.ExposePortResponse:
    ref = request.vm or request.vm_id
    return exposed_to_wire(service, *await service.expose_port(caller, ref, request.vm_port, request.protocol))


async def unexpose_port(service: Service, caller: Caller, request: pb.UnexposePortRequest) -> pb.UnexposePortResponse:
    gone = await service.unexpose_port(caller, request.vm or request.vm_id, request.vm_port)
    return pb.UnexposePortResponse(forward=exposed_to_wire(service, *gone))


async def list_exposed_ports(
    service: Service, caller: Caller, request: pb.ListExposedPortsRequest
) -> pb.ListExposedPortsResponse:
    found = service.exposed_ports(caller, request.vm)
    return pb.ListExposedPortsResponse(forwards=[exposed_to_wire(service, *each) for each in found])


METHODS: dict[str, Method] = {
    "ListProxies": list_proxies,
    "CreateProxy": create_proxy,
    "DeleteProxy": delete_proxy,
    "SetProxyPort": set_proxy_port,
    "ExposePort": expose_port,
    "UnexposePort": unexpose_port,
    "ListExposedPorts": list_exposed_ports,
}
