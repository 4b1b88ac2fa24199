"""The daemon's calls about users, organizations, sharing and usage."""

from __future__ import annotations

from openboxd.client.connection import BOXD_API, HOST, Connection
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


class PeopleCalls:
    """A part of `Client`."""

    _connection: Connection

    # -- accounts of the host

    async def account(self) -> host_pb.UserInfo:
        """The caller's own: limits, and what counts against them."""
        return await self._connection.unary(f"{HOST}GetAccount", host_pb.GetAccountRequest(), host_pb.UserInfo)

    async def users(self) -> list[host_pb.UserInfo]:
        request = host_pb.ListUsersRequest()
        return list((await self._connection.unary(f"{HOST}ListUsers", request, host_pb.ListUsersResponse)).users)

    async def add_user(self, name: str) -> host_pb.AddUserResponse:
        """The key is in this answer and nowhere else."""
        request = host_pb.AddUserRequest(name=name)
        return await self._connection.unary(f"{HOST}AddUser", request, host_pb.AddUserResponse)

    async def add_user_key(self, user: str, *, only: bool) -> host_pb.AddUserResponse:
        """The key is in this answer and nowhere else."""
        request = host_pb.AddUserKeyRequest(user=user, only=only)
        return await self._connection.unary(f"{HOST}AddUserKey", request, host_pb.AddUserResponse)

    async def remove_user(self, user: str, *, machines: bool) -> list[str]:
        """Names of the machines that were removed with them."""
        request = host_pb.RemoveUserRequest(user=user, remove_machines=machines)
        path = f"{HOST}RemoveUser"
        return list((await self._connection.unary(path, request, host_pb.RemoveUserResponse, None)).machines)

    async def set_quota(self, user: str, **limits: int | None) -> host_pb.UserInfo:
        """machines, vcpu, memory_bytes, pool_bytes; None leaves one as it is."""
        request = host_pb.SetQuotaRequest(
            user=user, **{name: limit for name, limit in limits.items() if limit is not None}
        )
        return await self._connection.unary(f"{HOST}SetQuota", request, host_pb.UserInfo)

    # -- organizations

    async def orgs(self) -> list[pb.OrgSummary]:
        request = pb.ListOrgsRequest()
        return list((await self._connection.unary(f"{BOXD_API}ListOrgs", request, pb.ListOrgsResponse)).orgs)

    async def create_org(self, name: str) -> pb.CreateOrgResponse:
        request = pb.CreateOrgRequest(name=name)
        return await self._connection.unary(f"{BOXD_API}CreateOrg", request, pb.CreateOrgResponse)

    async def rename_org(self, org: str, name: str) -> None:
        request = pb.RenameOrgRequest(org_id=org, name=name)
        await self._connection.unary(f"{BOXD_API}RenameOrg", request, pb.RenameOrgResponse)

    async def remove_org(self, org: str) -> None:
        request = host_pb.RemoveOrgRequest(org_id=org)
        await self._connection.unary(f"{HOST}RemoveOrg", request, host_pb.RemoveOrgResponse)

    async def org_members(self, org: str) -> pb.GetOrgMembersResponse:
        """Members; invitations too for those who manage the organization."""
        request = pb.GetOrgMembersRequest(org_id=org)
        return await self._connection.unary(f"{BOXD_API}GetOrgMembers", request, pb.GetOrgMembersResponse)

    async def set_member_role(self, org: str, user: str, role: str) -> None:
        request = pb.SetOrgMemberRoleRequest(org_id=org, user_id=user, role=role)
        await self._connection.unary(f"{BOXD_API}SetOrgMemberRole", request, pb.SetOrgMemberRoleResponse)

    async def remove_member(self, org: str, user: str) -> None:
        """Without a user the caller leaves."""
        request = pb.RemoveOrgMemberRequest(org_id=org, user_id=user)
        await self._connection.unary(f"{BOXD_API}RemoveOrgMember", request, pb.RemoveOrgMemberResponse)

    async def invite(self, org: str, email: str, role: str) -> pb.InviteOrgMemberResponse:
        """The token is in this answer and nowhere else."""
        request = pb.InviteOrgMemberRequest(org_id=org, email=email, role=role)
        return await self._connection.unary(f"{BOXD_API}InviteOrgMember", request, pb.InviteOrgMemberResponse)

    async def revoke_invite(self, token: str) -> None:
        request = pb.RevokeOrgInviteRequest(token=token)
        await self._connection.unary(f"{BOXD_API}RevokeOrgInvite", request, pb.RevokeOrgInviteResponse)

    async def accept_invite(self, token: str) -> host_pb.AcceptOrgInviteResponse:
        request = host_pb.AcceptOrgInviteRequest(token=token)
        return await self._connection.unary(f"{HOST}AcceptOrgInvite", request, host_pb.AcceptOrgInviteResponse)

    # -- sharing

    async def share(self, ref: str, org: str) -> None:
        """Without an organization: with the machine's, or the only one that its owner is in."""
        request = pb.ShareVmRequest(vm_id=ref, org=org)
        await self._connection.unary(f"{BOXD_API}ShareVm", request, pb.ShareVmResponse)

    async def unshare(self, ref: str) -> None:
        request = pb.UnshareVmRequest(vm_id=ref)
        await self._connection.unary(f"{BOXD_API}UnshareVm", request, pb.UnshareVmResponse)

    # -- usage; moments are epoch seconds, 0 = the default

    async def machine_usage(self, ref: str, since: int, until: int, org: str) -> pb.GetVmUsageResponse:
        request = pb.GetVmUsageRequest(vm_id=ref, since=since, until=until, org=org)
        return await self._connection.unary(f"{BOXD_API}GetVmUsage", request, pb.GetVmUsageResponse)

    async def usage(self, since: int, until: int, org: str) -> pb.GetOrgUsageResponse:
        """Of the caller's own machines, or of an organization."""
        request = pb.GetOrgUsageRequest(org=org, since=since, until=until)
        return await self._connection.unary(f"{BOXD_API}GetOrgUsage", request, pb.GetOrgUsageResponse)
