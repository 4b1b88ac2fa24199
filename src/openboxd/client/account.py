"""The daemon's calls about the caller's account and keys."""

from __future__ import annotations

from openboxd.client.connection import BOXD_API, HOST, Connection
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


class AccountCalls:
    """A part of `Client`."""

    _connection: Connection

    async def whoami(self) -> pb.WhoamiResponse:
        return await self._connection.unary(f"{BOXD_API}Whoami", pb.WhoamiRequest(), pb.WhoamiResponse)

    async def create_api_key(
        self, name: str, expires_in_secs: int, org: str = "", kind: str = ""
    ) -> pb.CreateApiKeyResponse:
        """The key itself is in this answer and nowhere else; 0 seconds = without end. With `org` it does not reach
        beyond that organization."""
        request = pb.CreateApiKeyRequest(name=name, expires_in_secs=expires_in_secs, org=org, kind=kind)
        return await self._connection.unary(f"{BOXD_API}CreateApiKey", request, pb.CreateApiKeyResponse)

    async def api_keys(self) -> list[pb.ApiKeyInfo]:
        request = pb.ListApiKeysRequest()
        return list((await self._connection.unary(f"{BOXD_API}ListApiKeys", request, pb.ListApiKeysResponse)).keys)

    async def delete_api_key(self, key_id: str) -> None:
        request = pb.DeleteApiKeyRequest(id=key_id)
        await self._connection.unary(f"{BOXD_API}DeleteApiKey", request, pb.DeleteApiKeyResponse)

    async def link_ssh_key(self, public_key: str, device_id: str, label: str) -> None:
        request = pb.LinkSshKeyRequest(pubkey=public_key, device_id=device_id, label=label)
        await self._connection.unary(f"{BOXD_API}LinkSshKey", request, pb.LinkSshKeyResponse)

    async def ssh_keys(self) -> list[host_pb.SshKeyInfo]:
        request = host_pb.ListSshKeysRequest()
        return list((await self._connection.unary(f"{HOST}ListSshKeys", request, host_pb.ListSshKeysResponse)).keys)

    async def unlink_ssh_key(self, fingerprint: str) -> None:
        request = host_pb.UnlinkSshKeyRequest(fingerprint=fingerprint)
        await self._connection.unary(f"{HOST}UnlinkSshKey", request, host_pb.UnlinkSshKeyResponse)
