"""Tokens: what clients that do not send their key with every call exchange it for.

A token is an opaque random string, good for an hour. The key behind it is looked up on every call, so a key that is
deleted or expires takes its tokens with it at once.
"""

from __future__ import annotations

from openboxd.control import accounts
from openboxd.control.ports import ControlStore
from openboxd.errors import NotFound, Unauthenticated
from openboxd.model import ApiKey, Caller, Token

PREFIX = "bxt_"
LIFETIME = 3600
"""Seconds. The whole hour also for a key that expires earlier: clients renew 300 s before the end, and with less than
that left they would exchange on every call."""


async def exchange(store: ControlStore, key: str, now: float) -> Token:
    """A token for an API key. Raises Unauthenticated."""
    caller, _ = accounts.authenticate(store, key, now)
    token = accounts.new_secret(PREFIX)
    expires_at = int(now) + LIFETIME
    try:
        await store.add_token(caller.key_id, accounts.digest_of(token), expires_at, int(now))
    except NotFound:
        raise Unauthenticated("the API key was deleted just now") from None
    return Token(token, expires_at, caller.user_id)


def authenticate(store: ControlStore, token: str, now: float) -> tuple[Caller, ApiKey]:
    """Who holds this token, and the key behind it. Raises Unauthenticated."""
    found = store.token_by_digest(accounts.digest_of(token))
    if found is None or found[1] <= now:
        raise Unauthenticated("the token is unknown or expired, or its API key was deleted; exchange a key again")
    key, _ = found
    if accounts.is_expired(key, now):
        raise Unauthenticated("the API key behind this token has expired; use another one")
    return accounts.caller_with(key), key
