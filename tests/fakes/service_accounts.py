"""The fake service with the real accounts: keys, tokens and SSH keys in a real store, machines out of thin air."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from openboxd.control import accounts
from openboxd.control.credentials import Credentials
from openboxd.model import ApiKey, Caller, SshKey, Token, User
from openboxd.store import open_store
from tests.fakes.service import KEY, FakeService


class Clock:
    """The time, and as much more as a test adds."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class ServiceWithAccounts(FakeService):
    """Build it with `open_service`, which makes the owner with the key `KEY`."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.clock = Clock()
        self.store = open_store(root / "boxd.db")
        self.credentials = Credentials(self.store, self.clock)

    async def close(self) -> None:
        await super().close()
        self.store.close()

    def authenticate(self, credential: str) -> Caller:
        return self.credentials.authenticate(credential)[0]

    async def exchange(self, key: str) -> Token:
        return await self.credentials.exchange(key)

    def on_revoked(self, listener: Callable[[str, str], None]) -> None:
        self.credentials.on_revoked(listener)

    def api_keys(self, caller: Caller) -> Sequence[ApiKey]:
        return self.credentials.keys(caller)

    async def create_api_key(
        self, caller: Caller, name: str, lifetime: int, org: str = "", kind: str = ""
    ) -> tuple[ApiKey, str]:
        return await self.credentials.create_key(caller, name, lifetime)

    async def delete_api_key(self, caller: Caller, key_id: str) -> None:
        await self.credentials.delete_key(caller, key_id)

    def user(self, caller: Caller) -> User:
        user = self.store.user(caller.user_id)
        assert user is not None
        return user

    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]:
        return self.credentials.ssh_keys(caller)

    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None:
        await self.credentials.link_ssh_key(caller, public_key, device_id, label)

    async def unlink_ssh_key(self, caller: Caller, fingerprint: str) -> None:
        await self.credentials.unlink_ssh_key(caller, fingerprint)


async def open_service(root: Path) -> ServiceWithAccounts:
    """A service whose owner has the key `KEY`."""
    service = ServiceWithAccounts(root)
    await accounts.create_owner(service.store, "ada", KEY)
    return service
