"""Use-cases of an account: who calls, API keys, tokens, SSH keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openboxd.control.base import Base
from openboxd.errors import InvalidArgument, OperationFailed
from openboxd.model import MEMBER_KEY, ORG_KEY, ApiKey, Caller, SshKey, Token, User


class Account(Base):
    """Accounts and what proves them."""

    def authenticate(self, credential: str) -> Caller:
        """Raises Unauthenticated unless `credential` is a valid API key or token."""
        caller, key = self._credentials.authenticate(credential)
        if self._credentials.is_due(key):
            self._later(self._credentials.note_use(key))
        return caller

    async def exchange(self, key: str) -> Token:
        """A token for an API key. Raises Unauthenticated."""
        return await self._credentials.exchange(key)

    def user(self, caller: Caller) -> User:
        """The caller's account."""
        user = self._store.user(caller.user_id)
        if user is None:
            raise OperationFailed("the account behind this key does not exist any more")
        return user

    def api_keys(self, caller: Caller) -> Sequence[ApiKey]:
        """The caller's API keys."""
        self._access.person(caller, "see API keys")
        return self._credentials.keys(caller)

    async def create_api_key(
        self, caller: Caller, name: str, lifetime: int, org: str = "", kind: str = ""
    ) -> tuple[ApiKey, str]:
        """Make a key that lives `lifetime` seconds, 0 = without end; with `org` it does not reach beyond that.

        Raises: InvalidArgument, Exhausted, NotFound (no such organization), PermissionDenied."""
        self._access.person(caller, "make API keys")
        if kind not in ("", MEMBER_KEY, ORG_KEY):
            raise InvalidArgument(f"an API key is of kind '{MEMBER_KEY}' or '{ORG_KEY}', not '{kind}'")
        if not org and kind != ORG_KEY:
            return await self._credentials.create_key(caller, name, lifetime)
        found, _ = self._access.org(caller, org, manage=kind == ORG_KEY)
        return await self._credentials.create_key(caller, name, lifetime, found.id, kind or MEMBER_KEY)

    async def delete_api_key(self, caller: Caller, key_id: str) -> None:
        """Delete a key, which opens nothing from now on."""
        self._access.person(caller, "delete API keys")
        await self._credentials.delete_key(caller, key_id)

    def user_name(self, user_id: str) -> str:
        """For people to read; empty for somebody who is not there any more."""
        user = self._store.user(user_id)
        return user.name if user else ""

    def on_revoked(self, listener: Callable[[str, str], None]) -> None:
        """Be told the id of every key whose calls must end from now on, and why."""
        self._credentials.on_revoked(listener)

    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]:
        """The caller's linked SSH keys."""
        self._access.person(caller, "see SSH keys")
        return self._credentials.ssh_keys(caller)

    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None:
        """Link a public SSH key."""
        self._access.person(caller, "link SSH keys")
        await self._credentials.link_ssh_key(caller, public_key, device_id, label)

    async def unlink_ssh_key(self, caller: Caller, fingerprint: str) -> None:
        """Remove a linked SSH key."""
        self._access.person(caller, "unlink SSH keys")
        await self._credentials.unlink_ssh_key(caller, fingerprint)
