"""Tables of accounts: users, organizations, quotas, and what people prove themselves with. See `schema`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, Text, false

from openboxd.store.columns import metadata, number, required, string, unique

users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    string("name"),
    Column("is_owner", Boolean, nullable=False, server_default=false()),
)

orgs = Table(
    "orgs",
    metadata,
    Column("id", Text, primary_key=True),
    required("name"),
    required("created_at", BigInteger),
    Index("ix_orgs_name", "name", unique=True),
)

org_members = Table(
    "org_members",
    metadata,
    Column("org_id", Text, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    required("role"),
    required("added_at", BigInteger),
    Index("ix_org_members_user", "user_id"),
)

org_invites = Table(
    "org_invites",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, ForeignKey("orgs.id", ondelete="CASCADE"), nullable=False),
    string("email"),
    required("role"),
    # A digest of the token that accepts it. The token itself is nowhere.
    required("digest"),
    required("created_at", BigInteger),
    required("expires_at", BigInteger),
    Index("ix_org_invites_org", "org_id"),
    Index("ix_org_invites_digest", "digest", unique=True),
)

quotas = Table(
    "quotas",
    metadata,
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    number("machines"),
    number("vcpu"),
    number("memory_bytes"),
    number("pool_bytes"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    string("name"),
    string("prefix"),
    # A digest of the key. The key itself is nowhere.
    required("digest"),
    required("created_at", BigInteger),
    number("last_used_at"),
    number("expires_at"),
    # The organization beyond which it does not reach; empty: it opens the whole account.
    string("org_id"),
    Column("kind", Text, nullable=False, server_default="member"),
    Index("ix_api_keys_digest", "digest", unique=True),
    Index("ix_api_keys_user", "user_id"),
)

# What an API key was exchanged for: a digest of the token, good while its key is. A token goes with its key.
tokens = Table(
    "tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("key_id", Text, ForeignKey("api_keys.id", ondelete="CASCADE"), nullable=False),
    required("expires_at", BigInteger),
    Index("ix_tokens_key", "key_id"),
    Index("ix_tokens_expiry", "expires_at"),
)

ssh_keys = Table(
    "ssh_keys",
    metadata,
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    required("public_key"),
    string("device_id"),
    string("label"),
    unique("ix_ssh_keys_device", "user_id", "device_id", where="device_id <> ''"),
)
