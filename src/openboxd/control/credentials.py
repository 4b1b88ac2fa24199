"""Who calls, and with what they may prove it: keys, tokens, and a user's SSH keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from openboxd.control import accounts, tokens
from openboxd.control.ports import ControlStore
from openboxd.errors import Exhausted, InvalidArgument, NotFound, WrongState
from openboxd.model import MEMBER_KEY, ApiKey, Caller, MachineStatus, SshKey, Token

MAX_KEYS = 25
"""API keys of one account, as at the hosted service."""

NAME_LIMIT = 64
LONGEST = 100 * 365 * 86_400
"""Seconds. A key that lives longer than this was meant to have no end; the sum must fit the store."""

Revoked = Callable[[str, str], None]
"""Told the id of a key, or of a machine that speaks, whose calls under way must end, and why, as a clause; no reason:
it was deleted."""


class Credentials:
    """The account's use-cases over the store."""

    def __init__(self, store: ControlStore, now: Callable[[], float] = time.time) -> None:
        self._store, self._now = store, now
        self._listeners: list[Revoked] = []

    def authenticate(self, credential: str) -> tuple[Caller, ApiKey]:
        """Who holds this API key or token, and the key that proves it. Raises Unauthenticated."""
        check = tokens.authenticate if credential.startswith(tokens.PREFIX) else accounts.authenticate
        return check(self._store, credential, self._now())

    def is_due(self, key: ApiKey) -> bool:
        """Whether the use of a key now is worth a note."""
        return self._now() - key.last_used_at > accounts.TOUCH_EVERY

    async def note_use(self, key: ApiKey) -> None:
        """Record that a key was used."""
        await self._store.touch_api_key(key.id, int(self._now()))

    async def exchange(self, key: str) -> Token:
        """A token of an hour for an API key. Raises Unauthenticated."""
        return await tokens.exchange(self._store, key, self._now())

    # -- API keys

    def keys(self, caller: Caller) -> Sequence[ApiKey]:
        """The caller's keys, oldest first, expired ones too."""
        return self._store.api_keys(caller.user_id)

    async def create_key(
        self, caller: Caller, name: str, lifetime: int, org_id: str = "", kind: str = MEMBER_KEY
    ) -> tuple[ApiKey, str]:
        """Make a key that lives `lifetime` seconds (0 = without end); its row, and the key, which is shown this once.

        Raises: InvalidArgument, Exhausted."""
        name = _checked_name(name)
        if not 0 <= lifetime <= LONGEST:
            raise InvalidArgument("an API key lives at most 100 years; 0 seconds means without end")
        if len(self.keys(caller)) >= MAX_KEYS:
            raise Exhausted(f"the account has {MAX_KEYS} of {MAX_KEYS} API keys; remove one first")
        key = accounts.new_key()
        row = accounts.key_row(caller.user_id, name, key, lifetime, org_id, kind)
        await self._store.add_api_key(row, accounts.digest_of(key))
        return row, key

    async def delete_key(self, caller: Caller, key_id: str) -> None:
        """Delete a key and its tokens; it may be the one that this call came with.

        Raises: NotFound; WrongState (nobody could come in any more)."""
        keys = self.keys(caller)
        if key_id not in [key.id for key in keys]:
            raise NotFound(f"API key '{key_id}' not found")
        now = self._now()
        bounded = any(key.id == key_id and key.org_id for key in keys)
        if not bounded and all(key.id == key_id or key.org_id or accounts.is_expired(key, now) for key in keys):
            raise WrongState("this is the account's last API key and was not deleted; make another one first")
        await self.revoke(key_id)

    async def revoke(self, key_id: str) -> None:
        """Delete a key, whosesoever it is, and end what came with it."""
        await self._store.delete_api_key(key_id)
        self._tell([key_id])

    def cut_off(self, user_ids: Collection[str], why: str, more: Collection[str] = ()) -> None:
        """Users may do less than before, their machines with them, and `more` machines or keys: calls of theirs that
        stream end, and those that may go on come again."""
        keys = [key.id for user_id in user_ids for key in self._store.api_keys(user_id)]
        machines = [
            machine.id
            for user_id in user_ids
            for machine in self._store.machines_of(user_id)
            if machine.status is not MachineStatus.DESTROYED
        ]
        self._tell([*keys, *machines, *more], why)

    def _tell(self, key_ids: Sequence[str], why: str = "") -> None:
        for listener in list(self._listeners):
            for key_id in key_ids:
                listener(key_id, why)

    def on_revoked(self, listener: Revoked) -> None:
        """Be told of every key whose calls must end from now on."""
        self._listeners.append(listener)

    # -- SSH keys

    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]:
        """The caller's linked SSH keys."""
        return self._store.ssh_keys(caller.user_id)

    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None:
        """Link a public SSH key; idempotent, one per device where a device id is given."""
        await self._store.link_ssh_key(accounts.parse_ssh_key(caller.user_id, public_key, device_id, label))

    async def unlink_ssh_key(self, caller: Caller, fingerprint: str) -> None:
        """Remove a linked SSH key. Raises NotFound."""
        if fingerprint not in [key.fingerprint for key in self.ssh_keys(caller)]:
            raise NotFound(f"SSH key '{fingerprint}' is not linked")
        await self._store.unlink_ssh_key(caller.user_id, fingerprint)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not 0 < len(name) <= NAME_LIMIT or not name.isprintable():
        raise InvalidArgument(f"an API key needs a name of 1 to {NAME_LIMIT} printable characters")
    return name
