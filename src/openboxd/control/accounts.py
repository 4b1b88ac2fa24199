"""Accounts: the owner made at first start, API keys, SSH keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import string
import time

from openboxd.control.ports import ControlStore
from openboxd.errors import InvalidArgument, Unauthenticated
from openboxd.model import MEMBER_KEY, ORG_KEY, ApiKey, Caller, SshKey, User

BASE62 = string.ascii_letters + string.digits
KEY_PREFIX = "bxd_"
KEY_LENGTH = 40
SHOWN = 8
"""Characters of a key that a listing shows, so that people can tell keys apart."""

TOUCH_EVERY = 60
"""Seconds between updates of a key's last use: not every call is worth a write."""

_SSH_TYPES = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
_SSH_SECURITY_KEYS = ("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com")


def new_secret(prefix: str) -> str:
    """The prefix and 40 base62 characters: 238 random bits, so that a plain digest is a safe way to store it."""
    return prefix + "".join(secrets.choice(BASE62) for _ in range(KEY_LENGTH))


def new_key() -> str:
    """An API key."""
    return new_secret(KEY_PREFIX)


def digest_of(key: str) -> str:
    """What the store keeps instead of a key: its SHA-256 in hex."""
    return hashlib.sha256(key.encode()).hexdigest()


def prefix_of(key: str) -> str:
    """The beginning of a key, which listings show."""
    return key[: len(KEY_PREFIX) + SHOWN]


def is_expired(key: ApiKey, now: float) -> bool:
    """Whether a key's time is over."""
    return bool(key.expires_at) and key.expires_at <= now


async def create_owner(store: ControlStore, name: str, key: str) -> None:
    """Make the owner of this host, unless there is one, and give them `key`."""
    user = owner_of_host(store)
    if user is None:
        user = User(id=new_user_id(), name=name, is_owner=True)
        await store.add_user(user)
    await add_api_key(store, user.id, "owner", key)


def owner_of_host(store: ControlStore) -> User | None:
    """Who manages the accounts of this host; None before its first start."""
    return next((user for user in store.users() if user.is_owner), None)


def new_user_id() -> str:
    """u_ and 16 hex characters."""
    return "u_" + secrets.token_hex(8)


async def add_api_key(store: ControlStore, user_id: str, name: str, key: str) -> None:
    """Let `key` open a user's account; what is stored is its digest."""
    await store.add_api_key(key_row(user_id, name, key), digest_of(key))


def key_row(user_id: str, name: str, key: str, lifetime: int = 0, org_id: str = "", kind: str = MEMBER_KEY) -> ApiKey:
    """The row of a key that is made now and lives `lifetime` seconds; 0 = without end."""
    now = int(time.time())
    return ApiKey(
        id="key_" + secrets.token_hex(8),
        user_id=user_id,
        name=name,
        prefix=prefix_of(key),
        created_at=now,
        expires_at=now + lifetime if lifetime else 0,
        org_id=org_id,
        kind=kind,
    )


def authenticate(store: ControlStore, token: str, now: float) -> tuple[Caller, ApiKey]:
    """Who holds this key. Raises Unauthenticated."""
    key = store.api_key_by_digest(digest_of(token)) if token.startswith(KEY_PREFIX) else None
    if key is None or is_expired(key, now):
        raise Unauthenticated("the API key is missing, unknown or expired; set BOXD_API_KEY or see <home>/admin.key")
    return caller_with(key), key


def caller_with(key: ApiKey) -> Caller:
    """Who comes with this key."""
    return Caller(key.user_id, key.id, org_id=key.org_id, is_org=bool(key.org_id) and key.kind == ORG_KEY)


def parse_ssh_key(user_id: str, line: str, device_id: str, label: str) -> SshKey:
    """Check one authorized_keys line: a known type, a blob that says the same, no options and no line breaks.

    Raises:
        InvalidArgument: it is anything else.
    """
    fields = line.strip().split(None, 2)
    if len(fields) < 2 or fields[0] not in _SSH_TYPES + _SSH_SECURITY_KEYS or len(line.strip().splitlines()) != 1:
        raise InvalidArgument("an SSH key is one line: its type, such as ssh-ed25519, then its base64 text")
    try:
        blob = base64.b64decode(fields[1], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidArgument("the SSH key's base64 text is damaged") from None
    declared = blob[4 : 4 + int.from_bytes(blob[:4], "big")]
    if not hmac.compare_digest(declared, fields[0].encode()):
        raise InvalidArgument("the SSH key's type and its base64 text do not belong together")
    fingerprint = "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return SshKey(
        user_id=user_id,
        public_key=" ".join(fields[:2]),
        fingerprint=fingerprint,
        device_id=device_id,
        label=label or (fields[2] if len(fields) > 2 else ""),
    )
