"""The account: who one is, one's SSH keys, and the reads that are empty for a single owner."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def whoami(service: Service, caller: Caller, request: pb.WhoamiRequest) -> pb.WhoamiResponse:
    user = service.user(caller)
    return pb.WhoamiResponse(
        user_id=user.id,
        pubkey_fingerprints=[key.fingerprint for key in service.ssh_keys(caller)],
        display_name=user.name,
        billing=pb.BillingInfo(),  # clients rely on the message being there; nobody bills here
    )


async def get_config(service: Service, caller: Caller, request: pb.GetConfigRequest) -> pb.GetConfigResponse:
    return pb.GetConfigResponse(default_image=service.default_image(), zone=service.zone)


async def link_ssh_key(service: Service, caller: Caller, request: pb.LinkSshKeyRequest) -> pb.LinkSshKeyResponse:
    await service.link_ssh_key(caller, request.pubkey, request.device_id, request.label)
    return pb.LinkSshKeyResponse()


async def list_orgs(service: Service, caller: Caller, request: pb.ListOrgsRequest) -> pb.ListOrgsResponse:
    """None: an empty default means the caller's own account, which is all there is."""
    return pb.ListOrgsResponse()


async def list_networks(service: Service, caller: Caller, request: pb.ListNetworksRequest) -> pb.ListNetworksResponse:
    return pb.ListNetworksResponse()


async def list_disks(service: Service, caller: Caller, request: pb.ListDisksRequest) -> pb.ListDisksResponse:
    return pb.ListDisksResponse()


METHODS: dict[str, Method] = {
    "Whoami": whoami,
    "GetConfig": get_config,
    "LinkSshKey": link_ssh_key,
    "ListOrgs": list_orgs,
    "ListNetworks": list_networks,
    "ListDisks": list_disks,
}
