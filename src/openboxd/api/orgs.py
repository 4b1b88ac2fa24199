"""Organizations: members, invitations, and machines that are shared with them."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.control.access import MANAGERS
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire import openboxd_host_pb2 as host_pb


async def list_orgs(service: Service, caller: Caller, request: pb.ListOrgsRequest) -> pb.ListOrgsResponse:
    """An empty default means the caller's own account, to which a machine belongs unless told otherwise."""
    return pb.ListOrgsResponse(
        orgs=[
            pb.OrgSummary(id=org.id, name=org.name, is_admin=member.role in MANAGERS, slug=org.name)
            for org, member in service.orgs(caller)
        ]
    )


async def create_org(service: Service, caller: Caller, request: pb.CreateOrgRequest) -> pb.CreateOrgResponse:
    org = await service.create_org(caller, request.name)
    return pb.CreateOrgResponse(id=org.id, name=org.name)


async def rename_org(service: Service, caller: Caller, request: pb.RenameOrgRequest) -> pb.RenameOrgResponse:
    await service.rename_org(caller, request.org_id, request.name)
    return pb.RenameOrgResponse()


async def remove_org(
    service: Service, caller: Caller, request: host_pb.RemoveOrgRequest
) -> host_pb.RemoveOrgResponse:
    await service.remove_org(caller, request.org_id)
    return host_pb.RemoveOrgResponse()


async def get_org_members(
    service: Service, caller: Caller, request: pb.GetOrgMembersRequest
) -> pb.GetOrgMembersResponse:
    """A listed invitation has its id where the token was: it revokes the invitation and accepts nothing."""
    members, invites = service.members(caller, request.org_id)
    return pb.GetOrgMembersResponse(
        members=[
            pb.OrgMemberInfo(user_id=user.id, role=member.role.value, display_name=user.name)
            for member, user in members
        ],
        invites=[
            pb.OrgInviteInfo(
                token=invite.id,
                email=invite.email,
                created_at=invite.created_at,  # epoch seconds
                expires_at=invite.expires_at,
                role=invite.role.value,
            )
            for invite in invites
        ],
    )


async def invite_org_member(
    service: Service, caller: Caller, request: pb.InviteOrgMemberRequest
) -> pb.InviteOrgMemberResponse:
    """Nobody sends mail: whoever invites hands the token on. What is shown as a URL is the command that takes it."""
    invite, token = await service.invite(caller, request.org_id, request.email, request.role)
    return pb.InviteOrgMemberResponse(
        token=token,
        accept_url=f"boxd org join {token}",
        expires_at=invite.expires_at,
        created_at=invite.created_at,
    )


async def revoke_org_invite(
    service: Service, caller: Caller, request: pb.RevokeOrgInviteRequest
) -> pb.RevokeOrgInviteResponse:
    await service.revoke_invite(caller, request.token)
    return pb.RevokeOrgInviteResponse()


async def accept_org_invite(
    service: Service, caller: Caller, request: host_pb.AcceptOrgInviteRequest
) -> host_pb.AcceptOrgInviteResponse:
    org = await service.accept_invite(caller, request.token)
    return host_pb.AcceptOrgInviteResponse(id=org.id, name=org.name)


async def remove_org_member(
    service: Service, caller: Caller, request: pb.RemoveOrgMemberRequest
) -> pb.RemoveOrgMemberResponse:
    await service.remove_member(caller, request.org_id, request.user_id)
    return pb.RemoveOrgMemberResponse()


async def set_org_member_role(
    service: Service, caller: Caller, request: pb.SetOrgMemberRoleRequest
) -> pb.SetOrgMemberRoleResponse:
    await service.set_member_role(caller, request.org_id, request.user_id, request.role)
    return pb.SetOrgMemberRoleResponse()


async def share_vm(service: Service, caller: Caller, request: pb.ShareVmRequest) -> pb.ShareVmResponse:
    await service.share(caller, request.vm_id, request.org)
    return pb.ShareVmResponse()


async def unshare_vm(service: Service, caller: Caller, request: pb.UnshareVmRequest) -> pb.UnshareVmResponse:
    await service.unshare(caller, request.vm_id)
    return pb.UnshareVmResponse()


METHODS: dict[str, Method] = {
    "ListOrgs": list_orgs,
    "CreateOrg": create_org,
    "RenameOrg": rename_org,
    "GetOrgMembers": get_org_members,
    "InviteOrgMember": invite_org_member,
    "RevokeOrgInvite": revoke_org_invite,
    "RemoveOrgMember": remove_org_member,
    "SetOrgMemberRole": set_org_member_role,
    "ShareVm": share_vm,
    "UnshareVm": unshare_vm,
}

HOST_METHODS: dict[str, Method] = {
    "AcceptOrgInvite": accept_org_invite,
    "RemoveOrg": remove_org,
}
