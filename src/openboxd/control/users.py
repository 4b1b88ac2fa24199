"""Use-cases of the accounts of this host: its owner adds and removes users and sets their quotas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from openboxd.control import accounts
from openboxd.control.base import Base
from openboxd.control.quotas import changed
from openboxd.errors import InvalidArgument, NotFound, WrongState
from openboxd.model import Caller, Machine, MachineStatus, OrgRole, Quota, User
from openboxd.worker.snapshot import remove_snapshot

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,38}[a-z0-9])?")


@dataclass(frozen=True)
class UserView:
    """A user, their limits, and what counts against them."""

    user: User
    quota: Quota
    used: Quota


class Users(Base):
    """See the module."""

    def account(self, caller: Caller) -> UserView:
        """The caller's own account."""
        self._access.person(caller, "see accounts")
        return self._account_view(self._user(caller.user_id))

    def users(self, caller: Caller) -> Sequence[UserView]:
        """All users, by name; only for the owner of this host."""
        self._access.host_owner(caller, "see the users")
        return [self._account_view(user) for user in sorted(self._store.users(), key=lambda user: user.name)]

    async def add_user(self, caller: Caller, name: str) -> tuple[User, str]:
        """A new user and their first API key, which is shown this once.

        Raises: PermissionDenied, InvalidArgument, AlreadyExists."""
        self._access.host_owner(caller, "add users")
        if not _NAME.fullmatch(name):
            raise InvalidArgument(
                "a user's name has 1 to 40 characters of a-z 0-9 . _ - and starts and ends with a letter or digit"
            )
        user, key = User(accounts.new_user_id(), name), accounts.new_key()
        row = accounts.key_row(user.id, "first", key)
        await self._store.add_user_with_key(user, row, accounts.digest_of(key))
        return user, key

    async def add_user_key(self, caller: Caller, who: str, *, only: bool) -> tuple[User, str]:
        """Another key for a user who has lost theirs, which is shown this once; with `only` all others are deleted.

        Raises: PermissionDenied, NotFound."""
        self._access.host_owner(caller, "make keys for users")
        user, key = self._user(who), accounts.new_key()
        former = self._store.api_keys(user.id) if only else ()
        await accounts.add_api_key(self._store, user.id, "from the owner of the host", key)
        for row in former:
            await self._credentials.revoke(row.id)
        return user, key

    async def remove_user(self, caller: Caller, who: str, *, machines: bool) -> Sequence[Machine]:
        """Remove a user with keys and memberships; the machines that were removed with them.

        Their keys go first, and their machines are not heard any more: nobody makes machines meanwhile. If a machine
        cannot be removed the user stays, without a key.

        Raises: PermissionDenied, NotFound; WrongState for one who owns machines (unless `machines`), who owns an
            organization with others in it, or who is the owner of this host."""
        self._access.host_owner(caller, "remove users")
        user = self._user(who)
        self._check_removable(user, machines=machines)
        self._leaving.add(user.id)
        try:
            self._credentials.cut_off({user.id}, f"user '{user.name}' was removed")
            for key in self._store.api_keys(user.id):
                await self._store.delete_api_key(key.id)
            removed = await self._remove_things(caller, user)
            await self._store.remove_user(user.id)
        finally:
            self._leaving.discard(user.id)
        return removed

    async def _remove_things(self, caller: Caller, user: User) -> Sequence[Machine]:
        """Remove a user's machines and snapshots, also those that were being made; the machines."""
        removed: list[Machine] = []
        while owned := self._owned(user):
            for machine in owned:
                with suppress(NotFound):  # a copy that was given up meanwhile
                    await self.team.destroy(machine.id, caller.user_id)
            removed += owned
        for snapshot in [found for found in self._store.snapshots() if found.owner_id == user.id]:
            await remove_snapshot(self._drivers, snapshot)
        return removed

    def _check_removable(self, user: User, *, machines: bool) -> None:
        if user.is_owner:
            raise WrongState(f"user '{user.name}' is the owner of this host and was not removed")
        names = ", ".join(machine.name for machine in self._owned(user))
        if names and not machines:
            raise WrongState(
                f"user '{user.name}' was not removed: they own {names}; remove these machines first, "
                "or with the user (--remove-machines)"
            )
        for member in self._store.memberships(user.id):
            alone = len(self._store.members(member.org_id)) == 1
            if member.role is OrgRole.OWNER and not alone:
                name = next(org.name for org in self._store.orgs() if org.id == member.org_id)
                raise WrongState(
                    f"user '{user.name}' was not removed: they own organization '{name}' and others are in it; "
                    "they have to pass it on first"
                )

    async def set_quota(self, caller: Caller, who: str, **values: int | None) -> UserView:
        """Set the limits that are not None; 0 takes one away. What is there already stays, whatever the limit."""
        self._access.host_owner(caller, "set quotas")
        user = self._user(who)
        await self._store.set_quota(user.id, changed(self._store.quota(user.id), **values))
        return self._account_view(user)

    def _user(self, who: str) -> User:
        user = next((user for user in self._store.users() if who in (user.id, user.name)), None)
        if user is None:
            raise NotFound(f"user '{who}' not found; see: boxd admin user list")
        return user

    def _owned(self, user: User) -> Sequence[Machine]:
        gone = MachineStatus.DESTROYED
        return [machine for machine in self._store.machines_of(user.id) if machine.status is not gone]

    def _account_view(self, user: User) -> UserView:
        return UserView(user, self._store.quota(user.id), self._quotas.used(user.id))
