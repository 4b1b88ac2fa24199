"""Who may do what to a machine: the one place where that is decided.

Every use-case names what it is about to do and gets the machine, or a refusal. Access to whatever a machine has
(checkpoints, events, routes, console, files) is exactly access to the machine (S36). What a caller may not see is
never read, so it cannot be told from what does not exist: neither by the sentence nor by the time it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from openboxd.control import names
from openboxd.control.ports import ControlStore
from openboxd.errors import InvalidArgument, NotFound, PermissionDenied, machine_not_found
from openboxd.model import Caller, Machine, MachineStatus, Membership, Org, OrgRole, Scope, SshKey, User


class Act(StrEnum):
    """What is done to a machine, as a verb for sentences."""

    USE = "use"  # everything that is not below: look, run, copy, save, restore, start, stop, lead traffic to it
    MANAGE = "change"  # its name, size, public ports, removal timer
    LIMIT = "change what limits"  # its networks and egress list
    REMOVE = "remove"
    SHARE = "share"  # or end that; its owner alone


class Role(StrEnum):
    """What a caller is to a machine that they see."""

    OWNER = "owner"
    ADMIN = "admin"  # owner or admin of the organization that it is shared with
    ORG = "organization"  # that it is shared with, by a key of its own
    MEMBER = "member"  # of that organization; also every other machine that is shared with it
    ITSELF = "itself"  # the machine speaks of itself
    NEIGHBOUR = "neighbour"  # another machine of the same owner speaks


MAY: dict[Role, frozenset[Act]] = {
    Role.OWNER: frozenset(Act),
    # Not SHARE: a machine that is private again speaks as its owner, whoever had got into it before.
    Role.ADMIN: frozenset({Act.USE, Act.MANAGE, Act.LIMIT, Act.REMOVE}),
    Role.ORG: frozenset({Act.USE, Act.MANAGE, Act.LIMIT, Act.REMOVE}),
    Role.MEMBER: frozenset({Act.USE}),
    Role.ITSELF: frozenset({Act.USE, Act.MANAGE, Act.LIMIT}),  # see ONLY_OUTSIDE
    Role.NEIGHBOUR: frozenset({Act.USE, Act.MANAGE, Act.LIMIT, Act.REMOVE}),
}

ONLY_OUTSIDE = frozenset({Act.LIMIT})
"""What a machine may not do to itself where machines reach nothing but themselves: it would reach further by that."""

MANAGERS = (OrgRole.OWNER, OrgRole.ADMIN)

OWNERS_MACHINES, ITSELF_ONLY = "owner", "self"
"""What a machine that speaks for itself reaches: what its owner does, or nothing but itself."""


class Access:
    """Decides over what the store knows."""

    def __init__(self, store: ControlStore, reach: str = OWNERS_MACHINES) -> None:
        self._store, self._reach = store, reach

    # -- machines

    def machine(self, caller: Caller, ref: str, act: Act = Act.USE) -> Machine:
        """The machine with this id or name, for a caller who is about to do this to it.

        Raises:
            NotFound: there is none, or the caller does not see it: one and the same.
            PermissionDenied: they see it, and may not do that.
        """
        kind = "machine_id" if names.is_uuid(ref) else "name"
        machine = self._store.machine_in(self._scope(caller), **{kind: ref})
        if machine is None:
            raise machine_not_found(ref)
        role = self._role(caller, machine)
        shut_in = role is Role.ITSELF and self._reach == ITSELF_ONLY and act in ONLY_OUTSIDE
        if shut_in or act not in MAY[role]:
            raise _denied(role, act, machine)
        return machine

    def machines(self, caller: Caller) -> Sequence[Machine]:
        """All machines that the caller sees, oldest first."""
        return self._store.machines_in(self._scope(caller))

    def sees(self, caller: Caller, machine: Machine) -> bool:
        """Whether the caller sees a machine; its owner also one that is gone."""
        if machine.status is MachineStatus.DESTROYED:
            return machine.owner_id == caller.user_id and not caller.machine_id and not caller.org_id
        return self._store.machine_in(self._scope(caller), machine_id=machine.id) is not None

    def _scope(self, caller: Caller) -> Scope:
        """What the caller sees.

        Whoever may use a shared machine can speak as it. So it sees what they all see, not what its owner does.
        """
        speaker = self._store.machine(caller.machine_id) if caller.machine_id else None
        if caller.machine_id and (speaker is None or speaker.status is MachineStatus.DESTROYED):
            return Scope()
        only = speaker.id if speaker is not None and self._reach == ITSELF_ONLY else ""
        if speaker is not None and speaker.shared:
            return Scope(orgs=frozenset({speaker.org_id}), only=only)
        orgs = frozenset(member.org_id for member in self._store.memberships(caller.user_id))
        if caller.org_id:
            there = orgs & {caller.org_id}
            return Scope("" if caller.is_org or not there else caller.user_id, there, within=caller.org_id)
        return Scope(caller.user_id, orgs, only)

    def _role(self, caller: Caller, machine: Machine) -> Role:
        """What the caller is to a machine that they see."""
        if caller.machine_id:
            speaker = machine if machine.id == caller.machine_id else self._store.machine(caller.machine_id)
            if speaker is None or speaker.shared or machine.owner_id != speaker.owner_id:
                return Role.MEMBER
            return Role.ITSELF if speaker is machine else Role.NEIGHBOUR
        if machine.owner_id == caller.user_id and not caller.is_org:
            return Role.OWNER
        found = [m for m in self._store.memberships(caller.user_id) if m.org_id == machine.org_id]
        if not found or found[0].role not in MANAGERS:
            return Role.MEMBER
        return Role.ORG if caller.is_org else Role.ADMIN

    def ssh_keys(self, machine: Machine) -> Sequence[SshKey]:
        """The keys that may log in to a machine: those of all who may use it."""
        members = self._store.members(machine.org_id) if machine.shared else ()
        users = {machine.owner_id, *(member.user_id for member in members)}
        return [key for user_id in sorted(users) for key in self._store.ssh_keys(user_id)]

    def place(self, caller: Caller, org: str, *, shared: bool) -> tuple[str, bool]:
        """Where a new machine of the caller belongs: an organization's id or nothing, and whether it is shared there.

        Whatever a shared machine makes is shared, too, or nobody who uses it could see it.

        Raises: NotFound, InvalidArgument, PermissionDenied."""
        self.account(caller, "make machines", shared_too=True)
        if caller.org_id:
            return self._named(caller, org or caller.org_id).id, shared or caller.is_org
        speaker = self._store.machine(caller.machine_id) if caller.machine_id else None
        if speaker is not None and speaker.shared:
            return speaker.org_id, True
        if not org and not shared:
            return "", False
        return self.org(caller, org)[0].id, shared

    # -- accounts

    def person(self, caller: Caller, what: str) -> None:
        """Raises PermissionDenied if a machine, or a key of an organization, asks for what is the account's."""
        if caller.org_id:
            raise PermissionDenied(f"a key of an organization cannot {what}; use one of your account")
        if caller.machine_id:
            raise PermissionDenied(f"a machine cannot {what}; do that outside, with an API key")

    def account(self, caller: Caller, what: str, *, shared_too: bool = False) -> None:
        """Raises PermissionDenied if a key of an organization asks for `what`, or a machine that may not: its owner's
        things are not for all who use a shared machine, and where machines act on themselves only, not for any."""
        if caller.org_id and not shared_too:
            self.person(caller, what)
        if not caller.machine_id:
            return
        speaker = self._store.machine(caller.machine_id)
        shut_out = speaker is None or (speaker.shared and not shared_too)
        if self._reach == ITSELF_ONLY or shut_out:
            raise PermissionDenied(f"this machine cannot {what}; do that outside, with an API key")

    def host_owner(self, caller: Caller, what: str) -> User:
        """The caller, who is the owner of this host. Raises PermissionDenied."""
        self.person(caller, what)
        user = self._store.user(caller.user_id)
        if user is None or not user.is_owner:
            raise PermissionDenied(f"only the owner of this host can {what}; nothing was changed")
        return user

    # -- organizations

    def org(self, caller: Caller, ref: str, *, manage: bool = False) -> tuple[Org, Membership]:
        """The caller's organization of this id or name; an empty one means the only one they are in.

        Raises:
            NotFound: none, or the caller is no member: one and the same.
            InvalidArgument: none was named, and there are several.
            PermissionDenied: `manage`, and the caller is neither its owner nor an admin.
        """
        self.person(caller, "look after organizations")
        mine = self.orgs(caller)
        org, member = _only(mine) if not ref else _named(mine, ref)
        if manage and member.role not in MANAGERS:
            raise PermissionDenied(f"only the owner and the admins of organization '{org.name}' can do that")
        return org, member

    def orgs(self, caller: Caller) -> Sequence[tuple[Org, Membership]]:
        """The organizations that the caller is in, by name; a machine is in the one that it is shared with."""
        members = {member.org_id: member for member in self._store.memberships(caller.user_id)}
        if caller.machine_id:
            speaker = self._store.machine(caller.machine_id)
            own = speaker.org_id if speaker is not None and speaker.shared else ""
            members = {org_id: member for org_id, member in members.items() if org_id == own}
        if caller.org_id:
            members = {org_id: member for org_id, member in members.items() if org_id == caller.org_id}
        return [(org, members[org.id]) for org in self._store.orgs() if org.id in members]

    def listed_org(self, caller: Caller, ref: str) -> Org:
        """The organization whose machines are to be listed. Raises as `org` does."""
        return self._named(caller, ref) if caller.org_id else self.org(caller, ref)[0]

    def _named(self, caller: Caller, ref: str) -> Org:
        return _named(self.orgs(caller), ref)[0]


def _denied(role: Role, act: Act, machine: Machine) -> PermissionDenied:
    if role is Role.ITSELF:
        hint = (
            f"; use 'boxd machine remove --self {machine.name}' in it" if act is Act.REMOVE else "; do that outside"
        )
        return PermissionDenied(f"machine '{machine.name}' cannot {act} itself{hint}")
    who, what = f"the owner of machine '{machine.name}' and the admins of its organization", f"{act} it"
    if act is Act.SHARE:
        who, what = f"the owner of machine '{machine.name}'", "share it or end that"
    return PermissionDenied(f"only {who} can {what}; it is {machine.status} and was not changed")


def _only(mine: Sequence[tuple[Org, Membership]]) -> tuple[Org, Membership]:
    if not mine:
        raise NotFound("you are in no organization; 'boxd org new NAME' makes one")
    if len(mine) > 1:
        raise InvalidArgument(f"name one of your organizations: {', '.join(org.name for org, _ in mine)}")
    return mine[0]


def _named(mine: Sequence[tuple[Org, Membership]], ref: str) -> tuple[Org, Membership]:
    found = next((pair for pair in mine if ref in (pair[0].id, pair[0].name)), None)
    if found is None:
        raise org_not_found(ref)
    return found


def org_not_found(ref: str) -> NotFound:
    """The wording for an organization that is not there, or that the caller is not in."""
    return NotFound(f"organization '{ref}' not found")
