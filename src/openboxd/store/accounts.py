"""Rows of users and their keys. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from openboxd.errors import AlreadyExists, NotFound
from openboxd.model import ApiKey, Quota, SshKey, User
from openboxd.store.rows import to_row
from openboxd.store.schema import api_keys, org_members, orgs, quotas, ssh_keys, tokens, users

_API_KEY = [column for column in api_keys.c if column.name != "digest"]


def all_users(connection: Connection) -> Sequence[User]:
    """All users, by id."""
    return tuple(User(**row._mapping) for row in connection.execute(select(users).order_by(users.c.id)))


def user(connection: Connection, user_id: str) -> User | None:
    """The user with this id."""
    row = connection.execute(select(users).where(users.c.id == user_id)).one_or_none()
    return None if row is None else User(**row._mapping)


def add_user(connection: Connection, new: User) -> None:
    """Raises AlreadyExists."""
    if user(connection, new.id) is not None:
        raise AlreadyExists(f"user '{new.id}' already exists; nothing was changed")
    if connection.scalar(select(users.c.id).where(users.c.name == new.name)) is not None:
        raise AlreadyExists(f"a user named '{new.name}' exists already; choose another name")
    connection.execute(insert(users).values(to_row(new)))


def add_user_with_key(connection: Connection, new: User, key: ApiKey, digest: str) -> None:
    """Raises AlreadyExists."""
    add_user(connection, new)
    add_api_key(connection, key, digest)


def remove_user(connection: Connection, user_id: str) -> None:
    """With keys, memberships, quota, and the organizations that nobody else is in. Harmless twice."""
    for table in (api_keys, ssh_keys, org_members, quotas):
        connection.execute(delete(table).where(table.c.user_id == user_id))
    connection.execute(delete(orgs).where(orgs.c.id.not_in(select(org_members.c.org_id))))
    connection.execute(delete(users).where(users.c.id == user_id))


def quota(connection: Connection, user_id: str) -> Quota:
    """A user's quota; without limits if none was set."""
    columns = [column for column in quotas.c if column.name != "user_id"]
    row = connection.execute(select(*columns).where(quotas.c.user_id == user_id)).one_or_none()
    return Quota() if row is None else Quota(**row._mapping)


def set_quota(connection: Connection, user_id: str, limits: Quota) -> None:
    """Raises NotFound (no such user)."""
    _require_user(connection, user_id)
    connection.execute(delete(quotas).where(quotas.c.user_id == user_id))
    connection.execute(insert(quotas).values({**to_row(limits), "user_id": user_id}))


def api_key_by_digest(connection: Connection, digest: str) -> ApiKey | None:
    """The key with this digest. Looked up by a digest, so that timing tells nothing about keys."""
    row = connection.execute(select(*_API_KEY).where(api_keys.c.digest == digest)).one_or_none()
    return None if row is None else ApiKey(**row._mapping)


def api_keys_of(connection: Connection, user_id: str) -> Sequence[ApiKey]:
    """A user's keys, oldest first."""
    query = select(*_API_KEY).where(api_keys.c.user_id == user_id).order_by(api_keys.c.created_at, api_keys.c.id)
    return tuple(ApiKey(**row._mapping) for row in connection.execute(query))


def add_api_key(connection: Connection, key: ApiKey, digest: str) -> None:
    """Raises NotFound (no such user), AlreadyExists."""
    _require_user(connection, key.user_id)
    taken = select(api_keys.c.id).where(or_(api_keys.c.id == key.id, api_keys.c.digest == digest))
    if connection.execute(taken).first() is not None:
        raise AlreadyExists(f"API key '{key.name}' is recorded already; nothing was changed")
    connection.execute(insert(api_keys).values({**to_row(key), "digest": digest}))


def delete_api_key(connection: Connection, key_id: str) -> None:
    """With its tokens. Harmless twice."""
    connection.execute(delete(api_keys).where(api_keys.c.id == key_id))


def touch_api_key(connection: Connection, key_id: str, at: int) -> None:
    """Record a use; never goes back in time; nothing happens for a key that is gone."""
    connection.execute(
        update(api_keys).where(api_keys.c.id == key_id, api_keys.c.last_used_at < at).values(last_used_at=at)
    )


def token_by_digest(connection: Connection, digest: str) -> tuple[ApiKey, int] | None:
    """The key behind the token with this digest, and when the token expires."""
    query = select(*_API_KEY, tokens.c.expires_at.label("token_expires_at")).where(
        tokens.c.digest == digest, tokens.c.key_id == api_keys.c.id
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    values = dict(row._mapping)
    expires_at = int(values.pop("token_expires_at"))
    return ApiKey(**values), expires_at


def add_token(connection: Connection, key_id: str, digest: str, expires_at: int, now: int) -> None:
    """Record a token and forget those that expired by `now`. Raises NotFound if its key is gone."""
    connection.execute(delete(tokens).where(tokens.c.expires_at <= now))
    if connection.execute(select(api_keys.c.id).where(api_keys.c.id == key_id)).first() is None:
        raise NotFound("the API key does not exist any more; nothing was changed")
    connection.execute(insert(tokens).values(digest=digest, key_id=key_id, expires_at=expires_at))


def ssh_keys_of(connection: Connection, user_id: str) -> Sequence[SshKey]:
    """A user's SSH keys, by fingerprint."""
    query = select(ssh_keys).where(ssh_keys.c.user_id == user_id).order_by(ssh_keys.c.fingerprint)
    return tuple(SshKey(**row._mapping) for row in connection.execute(query))


def link_ssh_key(connection: Connection, key: SshKey) -> None:
    """Add a key or renew what is known of it; a device's former key goes. Raises NotFound (no such user)."""
    _require_user(connection, key.user_id)
    same = ssh_keys.c.fingerprint == key.fingerprint
    if key.device_id:
        same = or_(same, ssh_keys.c.device_id == key.device_id)
    connection.execute(delete(ssh_keys).where(and_(ssh_keys.c.user_id == key.user_id, same)))
    connection.execute(insert(ssh_keys).values(to_row(key)))


def unlink_ssh_key(connection: Connection, user_id: str, fingerprint: str) -> None:
    """Harmless twice."""
    connection.execute(delete(ssh_keys).where(ssh_keys.c.user_id == user_id, ssh_keys.c.fingerprint == fingerprint))


def _require_user(connection: Connection, user_id: str) -> None:
    if user(connection, user_id) is None:
        raise NotFound(f"user '{user_id}' not found; nothing was changed")
