"""Use-cases of organizations: their members, invitations, and machines that are shared with them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Sequence

from openboxd.control import accounts
from openboxd.control.access import MANAGERS, Act
from openboxd.control.base import Base
from openboxd.errors import InvalidArgument, NotFound, PermissionDenied, WrongState
from openboxd.model import Caller, Invite, Machine, Membership, Org, OrgRole, User

NAME_LIMIT = 64
INVITE_LIFETIME = 7 * 86_400
"""Seconds."""

INVITE_PREFIX = "bxi_"
SHARE, UNSHARE = "share", "unshare"


class Organizations(Base):
    """See the module."""

    def orgs(self, caller: Caller) -> Sequence[tuple[Org, Membership]]:
        """The organizations that the caller is in, by name."""
        return self._access.orgs(caller)

    async def create_org(self, caller: Caller, name: str) -> Org:
        """Make an organization, whose owner is the caller. Raises InvalidArgument, AlreadyExists."""
        self._access.person(caller, "make an organization")
        org = Org("o_" + secrets.token_hex(8), _checked(name), int(time.time()))
        await self._store.add_org(org, caller.user_id)
        return org

    async def rename_org(self, caller: Caller, ref: str, name: str) -> None:
        """Raises InvalidArgument, AlreadyExists."""
        org, _ = self._access.org(caller, ref, manage=True)
        await self._store.rename_org(org.id, _checked(name))

    async def remove_org(self, caller: Caller, ref: str) -> Org:
        """Remove an organization; its machines are their owners' own again. Only its owner can."""
        org, member = self._access.org(caller, ref)
        if member.role is not OrgRole.OWNER:
            raise PermissionDenied(f"only the owner of organization '{org.name}' can remove it")
        concerned = self._machines_of(org.id)
        members = {each.user_id for each in self._store.members(org.id)}
        keys = self._keys_for(org.id, members)
        await self._store.remove_org(org.id)
        self._credentials.cut_off(members, f"organization '{org.name}' was removed", keys)
        await self._record_end(caller, org, concerned)
        await self._let_reach(concerned)
        return org

    # -- members

    def members(self, caller: Caller, ref: str) -> tuple[Sequence[tuple[Membership, User]], Sequence[Invite]]:
        """Members of an organization; invitations only for those who manage it."""
        org, mine = self._access.org(caller, ref)
        users = {user.id: user for user in self._store.users()}
        members = [(member, users[member.user_id]) for member in self._store.members(org.id)]
        return members, self._store.invites(org.id) if mine.role in MANAGERS else ()

    async def set_member_role(self, caller: Caller, ref: str, who: str, role: str) -> None:
        """Give a member (id or name) another role; "owner" passes the ownership on, which only the owner can.

        Raises: InvalidArgument, NotFound, PermissionDenied."""
        org, mine = self._access.org(caller, ref, manage=True)
        member, wanted = self._member(org, who), _role(role)
        if member.role is OrgRole.OWNER:
            raise WrongState(f"organization '{org.name}' has one owner; to change that make another member the owner")
        demotes_another = member.role is OrgRole.ADMIN and member.user_id != caller.user_id
        if mine.role is not OrgRole.OWNER and (wanted is OrgRole.OWNER or demotes_another):
            raise PermissionDenied(f"only the owner of organization '{org.name}' can do that")
        if wanted is OrgRole.OWNER:
            await self._store.pass_org_on(org.id, caller.user_id, member.user_id)
        else:
            await self._store.put_member(Membership(org.id, member.user_id, wanted, member.added_at))

    async def remove_member(self, caller: Caller, ref: str, who: str) -> None:
        """Remove a member (id or name), or leave. Their shared machines are their own again.

        Raises: NotFound, PermissionDenied; WrongState for the owner."""
        org, mine = self._access.org(caller, ref)
        member = self._member(org, who or caller.user_id)
        if member.role is OrgRole.OWNER:
            raise WrongState(f"the owner of organization '{org.name}' stays; pass it on, or remove it")
        if member.user_id != caller.user_id:
            self._access.org(caller, ref, manage=True)
            if member.role is OrgRole.ADMIN and mine.role is not OrgRole.OWNER:
                raise PermissionDenied(f"only the owner of organization '{org.name}' can remove an admin")
        concerned = [machine for machine in self._machines_of(org.id) if machine.owner_id == member.user_id]
        others = {each.user_id for each in self._store.members(org.id)} - {member.user_id}
        keys = self._keys_for(org.id, {member.user_id})
        await self._store.remove_member(org.id, member.user_id)
        self._credentials.cut_off({member.user_id}, f"its user left organization '{org.name}'", keys)
        if concerned:
            names = ", ".join(f"'{machine.name}'" for machine in concerned)
            self._credentials.cut_off(others, f"machine {names} is not shared any more")
        await self._record_end(caller, org, concerned)
        await self._let_reach(concerned)

    def _keys_for(self, org_id: str, user_ids: Collection[str]) -> Sequence[str]:
        """The keys of these users that reach no further than the organization."""
        return [key.id for user_id in user_ids for key in self._store.api_keys(user_id) if key.org_id == org_id]

    def _member(self, org: Org, who: str) -> Membership:
        names = {user.id: user.name for user in self._store.users()}
        members = self._store.members(org.id)
        found = next((m for m in members if who in (m.user_id, names[m.user_id])), None)
        if found is None:
            raise NotFound(f"'{who}' is no member of organization '{org.name}'")
        return found

    # -- invitations

    async def invite(self, caller: Caller, ref: str, email: str, role: str) -> tuple[Invite, str]:
        """An invitation and its token, which is shown this once; whoever has it can join, once."""
        org, _ = self._access.org(caller, ref, manage=True)
        wanted = _role(role or OrgRole.MEMBER)
        if wanted is OrgRole.OWNER:
            raise InvalidArgument("an organization has one owner; invite a member or an admin")
        if not 0 < len(email) <= 254 or not email.isprintable():
            raise InvalidArgument("an invitation names whom it is for, in 1 to 254 printable characters")
        now, token = int(time.time()), accounts.new_secret(INVITE_PREFIX)
        invite = Invite("inv_" + secrets.token_hex(8), org.id, email, wanted, now, now + INVITE_LIFETIME)
        await self._store.add_invite(invite, accounts.digest_of(token))
        return invite, token

    async def revoke_invite(self, caller: Caller, token: str) -> None:
        """Take an invitation back, by its token or its id. Raises NotFound."""
        self._access.person(caller, "look after organizations")
        invite = self._invite(token)
        mine = [member for _, member in self._access.orgs(caller) if member.org_id == invite.org_id]
        if not mine or mine[0].role not in MANAGERS:
            raise _no_invite()
        await self._store.remove_invite(invite.id)

    async def accept_invite(self, caller: Caller, token: str) -> Org:
        """Join. Raises NotFound; WrongState for somebody who is in already."""
        self._access.person(caller, "join an organization")
        invite, now = self._invite(token), int(time.time())
        if invite.expires_at <= now or token == invite.id:
            raise _no_invite()
        org = next(org for org in self._store.orgs() if org.id == invite.org_id)
        if any(member.org_id == org.id for member in self._store.memberships(caller.user_id)):
            raise WrongState(f"you are in organization '{org.name}' already; the invitation can still be used")
        await self._store.accept_invite(invite.id, Membership(org.id, caller.user_id, invite.role, now))
        return org

    def _invite(self, token: str) -> Invite:
        invite = self._store.invite(token, accounts.digest_of(token))
        if invite is None:
            raise _no_invite()
        return invite

    # -- sharing

    async def share(self, caller: Caller, ref: str, org: str = "") -> Machine:
        """Let all members of its organization use a machine. One in none enters `org`, or its owner's only one.

        Raises: NotFound, InvalidArgument, PermissionDenied."""
        machine = self.machine(caller, ref, Act.SHARE)
        org_id = self._access.org(caller, org)[0].id if org or not machine.org_id else machine.org_id
        return await self._set_shared(caller, machine, org_id, shared=True)

    async def unshare(self, caller: Caller, ref: str) -> Machine:
        """Close a machine to everybody but its owner; calls of others that stream are ended."""
        machine = self.machine(caller, ref, Act.SHARE)
        return await self._set_shared(caller, machine, machine.org_id, shared=False)

    async def _set_shared(self, caller: Caller, machine: Machine, org_id: str, *, shared: bool) -> Machine:
        after = await self._store.update_machine(machine.id, org_id=org_id, shared=shared)
        await self._record(caller, machine, SHARE if shared else UNSHARE, self.org_name(org_id))
        if machine.org_id not in ("", org_id) or (machine.shared and not shared):
            self._cut_off_there(machine)
        if shared and not machine.shared:
            self._credentials.cut_off((), f"machine '{machine.name}' is shared now", [machine.id])
        await self._let_reach([after])
        return after

    def _cut_off_there(self, machine: Machine) -> None:
        """End what came to a machine by the organization that it was shared with, or belonged to."""
        mine = self._keys_for(machine.org_id, {machine.owner_id})
        if not machine.shared:
            self._credentials.cut_off((), f"machine '{machine.name}' belongs to another organization now", mine)
            return
        others = {m.user_id for m in self._store.members(machine.org_id)} - {machine.owner_id}
        # What is shared can speak for the owner to what is shared, and no further.
        speakers = [m.id for m in self._machines_of(machine.org_id) if m.shared and m.owner_id == machine.owner_id]
        why = f"machine '{machine.name}' is not shared any more"
        self._credentials.cut_off(others, why, [*speakers, *mine])

    async def _record_end(self, caller: Caller, org: Org, machines: Sequence[Machine]) -> None:
        """These are shared with an organization no more, since it or their owner left."""
        for machine in machines:
            if machine.shared:
                await self._record(caller, machine, UNSHARE, org.name)

    def _machines_of(self, org_id: str) -> Sequence[Machine]:
        return [machine for machine in self._store.machines() if machine.org_id == org_id]

    async def _let_reach(self, machines: Sequence[Machine]) -> None:
        """Shared machines of an organization reach each other; these have come or gone."""
        for machine in machines:
            await self._drivers.network.refresh(self._store.machine(machine.id) or machine)

    def org_name(self, org_id: str) -> str:
        """For people to read; empty for no organization."""
        return next((org.name for org in self._store.orgs() if org.id == org_id), "") if org_id else ""


def _checked(name: str) -> str:
    if not 0 < len(name) <= NAME_LIMIT or not name.isprintable() or name != name.strip():
        raise InvalidArgument(f"an organization's name has 1 to {NAME_LIMIT} printable characters, no blanks around")
    return name


def _role(role: str) -> OrgRole:
    if role not in [known.value for known in OrgRole]:
        raise InvalidArgument(f"a member is 'owner', 'admin' or 'member', not '{role}'")
    return OrgRole(role)


def _no_invite() -> NotFound:
    return NotFound("there is no such invitation: it was used, revoked or has expired; ask for another one")
