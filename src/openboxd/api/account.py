"""The account: who one is, one's keys, and the reads of what is not offered, which are empty."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def whoami(service: Service, caller: Caller, request: pb.WhoamiRequest) -> pb.WhoamiResponse:
    user = service.user(caller)
    return pb.WhoamiResponse(
        user_id=user.id,
        pubkey_fingerprints=[]
        if caller.machine_id or caller.org_id
        else [key.fingerprint for key in service.ssh_keys(caller)],
        display_name=user.name,
        billing=pb.BillingInfo(),  # clients rely on the message being there; nobody bills here
        is_host_owner=user.is_owner and not caller.machine_id and not caller.org_id,
    )


async def get_config(service: Service, caller: Caller, request: pb.GetConfigRequest) -> pb.GetConfigResponse:
    return pb.GetConfigResponse(default_image=service.default_image(), zone=service.zone)


async def link_ssh_key(service: Service, caller: Caller, request: pb.LinkSshKeyRequest) -> pb.LinkSshKeyResponse:
    await service.link_ssh_key(caller, request.pubkey, request.device_id, request.label)
    return pb.LinkSshKeyResponse()


async def create_api_key(
    service: Service, caller: Caller, request: pb.CreateApiKeyRequest
) -> pb.CreateApiKeyResponse:
    row, key = await service.create_api_key(caller, request.name, request.expires_in_secs, request.org, request.kind)
    return pb.CreateApiKeyResponse(id=row.id, api_key=key, expires_at=row.expires_at)


async def list_api_keys(service: Service, caller: Caller, request: pb.ListApiKeysRequest) -> pb.ListApiKeysResponse:
    """Times are epoch seconds, 0 = never. A listing shows one's own keys only."""
    return pb.ListApiKeysResponse(
        keys=[
            pb.ApiKeyInfo(
                id=key.id,
                name=key.name,
                key_prefix=key.prefix,
                created_at=key.created_at,
                last_used_at=key.last_used_at,
                expires_at=key.expires_at,
                org=service.org_name(key.org_id),
                kind=key.kind,
                created_by=key.user_id,
                mine=True,
            )
            for key in service.api_keys(caller)
        ]
    )


async def delete_api_key(
    service: Service, caller: Caller, request: pb.DeleteApiKeyRequest
) -> pb.DeleteApiKeyResponse:
    await service.delete_api_key(caller, request.id)
    return pb.DeleteApiKeyResponse()


async def list_networks(service: Service, caller: Caller, request: pb.ListNetworksRequest) -> pb.ListNetworksResponse:
    return pb.ListNetworksResponse()


async def list_disks(service: Service, caller: Caller, request: pb.ListDisksRequest) -> pb.ListDisksResponse:
    return pb.ListDisksResponse()


METHODS: dict[str, Method] = {
    "Whoami": whoami,
    "GetConfig": get_config,
    "LinkSshKey": link_ssh_key,
    "CreateApiKey": create_api_key,
    "ListApiKeys": list_api_keys,
    "DeleteApiKey": delete_api_key,
    "ListNetworks": list_networks,
    "ListDisks": list_disks,
}
