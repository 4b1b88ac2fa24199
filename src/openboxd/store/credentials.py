"""The store's calls about users and what they prove themselves with."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.model import ApiKey, SshKey, User
from openboxd.store import accounts, machine_tokens
from openboxd.store.part import Part


class Credentials(Part):
    """Users, API keys and tokens, tokens of machines, SSH keys."""

    def users(self) -> Sequence[User]:
        return self._read(accounts.all_users)

    def user(self, user_id: str) -> User | None:
        return self._read(accounts.user, user_id)

    async def add_user(self, user: User) -> None:
        """Raises AlreadyExists."""
        await self._writer.write(accounts.add_user, user)

    def api_key_by_digest(self, digest: str) -> ApiKey | None:
        """The key with this digest; whether it has expired is for the caller to see."""
        return self._read(accounts.api_key_by_digest, digest)

    def api_keys(self, user_id: str) -> Sequence[ApiKey]:
        """A user's keys, oldest first."""
        return self._read(accounts.api_keys_of, user_id)

    async def add_api_key(self, key: ApiKey, digest: str) -> None:
        """Raises NotFound (no such user), AlreadyExists."""
        await self._writer.write(accounts.add_api_key, key, digest)

    async def delete_api_key(self, key_id: str) -> None:
        """With its tokens. Harmless twice."""
        await self._writer.write(accounts.delete_api_key, key_id)

    async def touch_api_key(self, key_id: str, at: int) -> None:
        """Record that a key was used; harmless if it is gone."""
        await self._writer.write(accounts.touch_api_key, key_id, at)

    def token_by_digest(self, digest: str) -> tuple[ApiKey, int] | None:
        """The key behind a token, and when the token expires; what that means is for the caller to see."""
        return self._read(accounts.token_by_digest, digest)

    async def add_token(self, key_id: str, digest: str, expires_at: int, now: int) -> None:
        """Record a token; those that expired by `now` go. Raises NotFound if the key is gone."""
        await self._writer.write(accounts.add_token, key_id, digest, expires_at, now)

    def machine_token(self, digest: str) -> tuple[str, int] | None:
        """The id of the machine behind a token, and when the token expires."""
        return self._read(machine_tokens.owner_of, digest)

    async def add_machine_token(self, machine_id: str, digest: str, expires_at: int, now: int) -> None:
        """Record a token of a machine; those that expired by `now` go."""
        await self._writer.write(machine_tokens.add, machine_id, digest, expires_at, now)

    def ssh_keys(self, user_id: str) -> Sequence[SshKey]:
        """A user's SSH keys, by fingerprint."""
        return self._read(accounts.ssh_keys_of, user_id)

    async def link_ssh_key(self, key: SshKey) -> None:
        """Add or renew a key; the former key of the same device goes. Raises NotFound (no such user)."""
        await self._writer.write(accounts.link_ssh_key, key)

    async def unlink_ssh_key(self, user_id: str, fingerprint: str) -> None:
        """Harmless twice."""
        await self._writer.write(accounts.unlink_ssh_key, user_id, fingerprint)
