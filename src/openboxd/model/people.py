"""Who uses boxd, and what proves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True)
class User:
    """An account: id `u_...`, a name that nobody else has. `is_owner`: of this host; they manage accounts."""

    id: str
    name: str
    is_owner: bool = False


class OrgRole(StrEnum):
    """What a member may do in an organization."""

    OWNER = "owner"  # one; everything, and passes the ownership on
    ADMIN = "admin"  # manages members and shared machines
    MEMBER = "member"  # uses shared machines


@dataclass(frozen=True)
class Org:
    """An organization: users who share machines. Its name is unique on this host."""

    id: str  # o_ + 16 hex characters
    name: str
    created_at: int  # epoch seconds


@dataclass(frozen=True)
class Membership:
    """A user's place in an organization."""

    org_id: str
    user_id: str
    role: OrgRole
    added_at: int  # epoch seconds


@dataclass(frozen=True)
class Invite:
    """An invitation that nobody has accepted yet. Its token is stored as a digest only; the id revokes it."""

    id: str
    org_id: str
    email: str  # for people to know whom it was meant for; nobody sends mail here
    role: OrgRole
    created_at: int  # epoch seconds
    expires_at: int


MEMBER_KEY, ORG_KEY = "member", "org"
"""Kinds of API keys."""


@dataclass(frozen=True)
class ApiKey:
    """An API key as listed; the key itself is stored hashed only. Times are epoch seconds, 0 = never.

    Attributes:
        org_id: the organization beyond which it does not reach; empty: it opens the whole account.
        kind: of one with an organization: "member" acts as its maker there, "org" sees what is shared with it.
    """

    id: str
    user_id: str
    name: str
    prefix: str
    created_at: int
    last_used_at: int = 0
    expires_at: int = 0
    org_id: str = ""
    kind: str = MEMBER_KEY


@dataclass(frozen=True)
class Token:
    """What an API key was exchanged for: the token itself, shown this once, and when it expires (epoch seconds)."""

    token: str = field(repr=False)
    expires_at: int
    user_id: str


@dataclass(frozen=True)
class SshKey:
    """A user's public SSH key (one authorized_keys line); with a device id there is one key per device."""

    user_id: str
    public_key: str
    fingerprint: str
    device_id: str = ""
    label: str = ""


@dataclass(frozen=True)
class Caller:
    """Who makes a request: the user and the key that proved it.

    With `machine_id` it is the machine itself that speaks, in its owner's name and with fewer rights. With `org_id`
    the key does not reach beyond that organization; one that is the organization's own (`is_org`) is no user's.
    """

    user_id: str
    key_id: str
    machine_id: str = ""
    org_id: str = ""
    is_org: bool = False

    @property
    def author(self) -> str:
        """Who did something, for the record: the id of a user, of a machine that spoke, of a key that is no user's.

        It gives nobody a right.
        """
        return self.machine_id or (self.key_id if self.is_org else self.user_id)
