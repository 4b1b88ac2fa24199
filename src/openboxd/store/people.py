"""The store's calls about organizations, quotas and usage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from openboxd.model import ApiKey, Invite, Machine, Membership, Org, Quota, Scope, UsageSpan, User
from openboxd.store import accounts, machines, orgs, usage
from openboxd.store.part import Part


class People(Part):
    """Who shares what, how much they may have, and how much they had."""

    # -- what callers see

    def machine_in(self, scope: Scope, *, machine_id: str = "", name: str = "") -> Machine | None:
        """The machine with this id or name, if it is within the scope; destroyed ones are not."""
        return self._read(machines.one_within, scope, machine_id, name)

    def machines_in(self, scope: Scope) -> Sequence[Machine]:
        """All machines within the scope but the destroyed ones, oldest first."""
        return self._read(machines.within, scope)

    def machines_of(self, owner_id: str = "", org_id: str = "") -> Sequence[Machine]:
        """All machines that a user owns, or that belong to an organization, destroyed ones too, oldest first."""
        return self._read(machines.ever_of, owner_id, org_id)

    # -- users

    async def add_user_with_key(self, user: User, key: ApiKey, digest: str) -> None:
        """Both or neither. Raises AlreadyExists."""
        await self._writer.write(accounts.add_user_with_key, user, key, digest)

    async def remove_user(self, user_id: str) -> None:
        """With keys, memberships and quota. Harmless twice."""
        await self._writer.write(accounts.remove_user, user_id)

    def quota(self, user_id: str) -> Quota:
        """A user's quota; without limits if none was set."""
        return self._read(accounts.quota, user_id)

    async def set_quota(self, user_id: str, quota: Quota) -> None:
        """Raises NotFound (no such user)."""
        await self._writer.write(accounts.set_quota, user_id, quota)

    # -- organizations

    def orgs(self) -> Sequence[Org]:
        """All organizations, by name."""
        return self._read(orgs.every)

    async def add_org(self, org: Org, owner_id: str) -> None:
        """Raises AlreadyExists for a name in use."""
        await self._writer.write(orgs.add, org, owner_id)

    async def rename_org(self, org_id: str, name: str) -> None:
        """Raises AlreadyExists for a name in use."""
        await self._writer.write(orgs.rename, org_id, name)

    async def remove_org(self, org_id: str) -> None:
        """Its machines are their owners' own again. Harmless twice."""
        await self._writer.write(orgs.remove, org_id)

    def memberships(self, user_id: str) -> Sequence[Membership]:
        """Where a user is a member."""
        return self._read(orgs.memberships, user_id)

    def members(self, org_id: str) -> Sequence[Membership]:
        """Members of an organization, oldest first."""
        return self._read(orgs.members, org_id)

    async def put_member(self, member: Membership) -> None:
        """Add a member, or give one another role. Raises NotFound."""
        await self._writer.write(orgs.put_member, member)

    async def pass_org_on(self, org_id: str, from_id: str, to_id: str) -> None:
        """Make another member the owner. Raises NotFound."""
        await self._writer.write(orgs.pass_on, org_id, from_id, to_id)

    async def remove_member(self, org_id: str, user_id: str) -> None:
        """Their machines of the organization are their own again. Harmless twice."""
        await self._writer.write(orgs.remove_member, org_id, user_id)

    async def add_invite(self, invite: Invite, digest: str) -> None:
        """Record an invitation and the digest of its token."""
        await self._writer.write(orgs.add_invite, invite, digest)

    def invites(self, org_id: str) -> Sequence[Invite]:
        """Of an organization, oldest first."""
        return self._read(orgs.invites, org_id)

    def invite(self, invite_id: str, digest: str) -> Invite | None:
        """The invitation with this id, or the one whose token has this digest."""
        return self._read(orgs.invite, invite_id, digest)

    async def accept_invite(self, invite_id: str, member: Membership) -> None:
        """Take an invitation, once. Raises NotFound."""
        await self._writer.write(orgs.accept, invite_id, member)

    async def remove_invite(self, invite_id: str) -> None:
        """Harmless twice."""
        await self._writer.write(orgs.remove_invite, invite_id)

    # -- usage

    async def weigh_usage(self, machine_id: str, disk_bytes: int, checkpoint_bytes: int) -> None:
        """A machine's files have these sizes from now on. Nothing happens for one that is gone."""
        await self._writer.write(usage.weigh, machine_id, disk_bytes, checkpoint_bytes)

    async def beat_usage(self) -> None:
        """A sign of life: what was going on has gone on until now."""
        await self._writer.write(usage.beat)

    async def pause_usage(self) -> None:
        """A daemon starts: what went on since the last sign of life is not known."""
        await self._writer.write(usage.pause)

    async def resume_usage(self, machine_id: str) -> bool:
        """A machine was found as it was: it has been so meanwhile. Whether there was anything to do."""
        return await self._writer.write(machines.resume_usage, machine_id)

    def usage_spans(self, machine_ids: Collection[str], since_ms: int, until_ms: int) -> Sequence[UsageSpan]:
        """What machines were within a period; the spans are whole and may reach beyond it."""
        return self._read(usage.spans, machine_ids, since_ms, until_ms)

    def weights(self, machine_ids: Collection[str]) -> Mapping[str, int]:
        """Bytes that machines hold in the pool, as last weighed."""
        return self._read(usage.weights, machine_ids)
