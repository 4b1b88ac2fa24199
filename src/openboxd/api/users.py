"""Accounts of this host and their quotas, for its owner; and the caller's own."""

from __future__ import annotations

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.control.users import UserView
from openboxd.model import Caller, Quota
from openboxd.wire import openboxd_host_pb2 as host_pb


def quota_to_wire(quota: Quota) -> host_pb.Quota:
    """A quota, or what counts against one."""
    return host_pb.Quota(
        machines=quota.machines,
        vcpu=quota.vcpu,
        memory_bytes=quota.memory_bytes,
        pool_bytes=quota.pool_bytes,
    )


def user_to_wire(view: UserView) -> host_pb.UserInfo:
    """A user with their limits."""
    return host_pb.UserInfo(
        id=view.user.id,
        name=view.user.name,
        is_owner=view.user.is_owner,
        quota=quota_to_wire(view.quota),
        used=quota_to_wire(view.used),
    )


async def get_account(service: Service, caller: Caller, request: host_pb.GetAccountRequest) -> host_pb.UserInfo:
    return user_to_wire(service.account(caller))


async def list_users(
    service: Service, caller: Caller, request: host_pb.ListUsersRequest
) -> host_pb.ListUsersResponse:
    return host_pb.ListUsersResponse(users=[user_to_wire(view) for view in service.users(caller)])


async def add_user(service: Service, caller: Caller, request: host_pb.AddUserRequest) -> host_pb.AddUserResponse:
    user, key = await service.add_user(caller, request.name)
    return host_pb.AddUserResponse(user=user_to_wire(UserView(user, Quota(), Quota())), api_key=key)


async def add_user_key(
    service: Service, caller: Caller, request: host_pb.AddUserKeyRequest
) -> host_pb.AddUserResponse:
    user, key = await service.add_user_key(caller, request.user, only=request.only)
    return host_pb.AddUserResponse(user=user_to_wire(UserView(user, Quota(), Quota())), api_key=key)


async def remove_user(
    service: Service, caller: Caller, request: host_pb.RemoveUserRequest
) -> host_pb.RemoveUserResponse:
    machines = await service.remove_user(caller, request.user, machines=request.remove_machines)
    return host_pb.RemoveUserResponse(machines=[machine.name for machine in machines])


async def set_quota(service: Service, caller: Caller, request: host_pb.SetQuotaRequest) -> host_pb.UserInfo:
    names = ("machines", "vcpu", "memory_bytes", "pool_bytes")
    values = {name: getattr(request, name) if request.HasField(name) else None for name in names}
    return user_to_wire(await service.set_quota(caller, request.user, **values))


HOST_METHODS: dict[str, Method] = {
    "GetAccount": get_account,
    "ListUsers": list_users,
    "AddUser": add_user,
    "AddUserKey": add_user_key,
    "RemoveUser": remove_user,
    "SetQuota": set_quota,
}
