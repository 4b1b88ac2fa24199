"""Rows of organizations, their members and invitations. Each function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from openboxd.errors import AlreadyExists, NotFound
from openboxd.model import Invite, Membership, Org, OrgRole
from openboxd.store.rows import to_row
from openboxd.store.schema import api_keys, machines, org_invites, org_members, orgs, users

_INVITE = [column for column in org_invites.c if column.name != "digest"]


def every(connection: Connection) -> Sequence[Org]:
    """All organizations, by name."""
    return tuple(Org(**row._mapping) for row in connection.execute(select(orgs).order_by(orgs.c.name)))


def add(connection: Connection, org: Org, owner_id: str) -> None:
    """With its owner as the first member. Raises AlreadyExists, NotFound (no such user)."""
    _refuse_taken(connection, org.name)
    connection.execute(insert(orgs).values(to_row(org)))
    put_member(connection, Membership(org.id, owner_id, OrgRole.OWNER, org.created_at))


def rename(connection: Connection, org_id: str, name: str) -> None:
    """Raises AlreadyExists."""
    if connection.scalar(select(orgs.c.name).where(orgs.c.id == org_id)) == name:
        return
    _refuse_taken(connection, name)
    connection.execute(update(orgs).where(orgs.c.id == org_id).values(name=name))


def remove(connection: Connection, org_id: str) -> None:
    """With members, keys and invitations; its machines are their owners' own again. Harmless twice."""
    connection.execute(update(machines).where(machines.c.org_id == org_id).values(org_id="", shared=False))
    connection.execute(delete(api_keys).where(api_keys.c.org_id == org_id))
    connection.execute(delete(orgs).where(orgs.c.id == org_id))


def memberships(connection: Connection, user_id: str) -> Sequence[Membership]:
    """Where a user is a member."""
    found = connection.execute(select(org_members).where(org_members.c.user_id == user_id))
    return tuple(_membership(row) for row in found)


def members(connection: Connection, org_id: str) -> Sequence[Membership]:
    """Members of an organization, oldest first."""
    query = select(org_members).where(org_members.c.org_id == org_id)
    return tuple(
        _membership(row) for row in connection.execute(query.order_by(org_members.c.added_at, org_members.c.user_id))
    )


def put_member(connection: Connection, member: Membership) -> None:
    """Add a member, or give one another role. Raises NotFound (no such user or organization)."""
    for table, ident in ((users, member.user_id), (orgs, member.org_id)):
        if connection.scalar(select(table.c.id).where(table.c.id == ident)) is None:
            raise NotFound("the user or the organization was removed meanwhile; nothing was changed")
    own = (org_members.c.org_id == member.org_id) & (org_members.c.user_id == member.user_id)
    if connection.execute(update(org_members).where(own).values(role=member.role.value)).rowcount == 0:
        connection.execute(insert(org_members).values(to_row(member)))


def pass_on(connection: Connection, org_id: str, from_id: str, to_id: str) -> None:
    """Make another member the owner; the former one stays as an admin. Both or neither."""
    for user_id, role in ((from_id, OrgRole.ADMIN), (to_id, OrgRole.OWNER)):
        own = (org_members.c.org_id == org_id) & (org_members.c.user_id == user_id)
        if connection.execute(update(org_members).where(own).values(role=role.value)).rowcount == 0:
            raise NotFound("a member was removed meanwhile; nothing was changed")


def remove_member(connection: Connection, org_id: str, user_id: str) -> None:
    """Their machines of the organization are their own again, and their keys for it go. Harmless twice."""
    theirs = (machines.c.org_id == org_id) & (machines.c.owner_id == user_id)
    connection.execute(update(machines).where(theirs).values(org_id="", shared=False))
    connection.execute(delete(api_keys).where(api_keys.c.org_id == org_id, api_keys.c.user_id == user_id))
    connection.execute(delete(org_members).where(org_members.c.org_id == org_id, org_members.c.user_id == user_id))


def add_invite(connection: Connection, invite: Invite, digest: str) -> None:
    """Record an invitation, and forget those that have expired."""
    connection.execute(delete(org_invites).where(org_invites.c.expires_at <= invite.created_at))
    connection.execute(insert(org_invites).values({**to_row(invite), "digest": digest}))


def invites(connection: Connection, org_id: str) -> Sequence[Invite]:
    """Of an organization, oldest first."""
    query = select(*_INVITE).where(org_invites.c.org_id == org_id)
    rows = connection.execute(query.order_by(org_invites.c.created_at, org_invites.c.id))
    return tuple(_invite(row) for row in rows)


def invite(connection: Connection, invite_id: str, digest: str) -> Invite | None:
    """The invitation with this id, or the one whose token has this digest."""
    wanted = (org_invites.c.id == invite_id) | (org_invites.c.digest == digest)
    row = connection.execute(select(*_INVITE).where(wanted)).one_or_none()
    return None if row is None else _invite(row)


def accept(connection: Connection, invite_id: str, member: Membership) -> None:
    """Take the invitation and add the member, once. Raises NotFound if it is not there any more."""
    if connection.execute(delete(org_invites).where(org_invites.c.id == invite_id)).rowcount == 0:
        raise NotFound("the invitation was taken or revoked meanwhile; ask for another one")
    put_member(connection, member)


def remove_invite(connection: Connection, invite_id: str) -> None:
    """Harmless twice."""
    connection.execute(delete(org_invites).where(org_invites.c.id == invite_id))


def _refuse_taken(connection: Connection, name: str) -> None:
    if connection.scalar(select(orgs.c.id).where(orgs.c.name == name)) is not None:
        raise AlreadyExists(f"an organization named '{name}' exists already; choose another name")


def _membership(row: Row[Any]) -> Membership:
    return Membership(**{**row._mapping, "role": OrgRole(row.role)})


def _invite(row: Row[Any]) -> Invite:
    return Invite(**{**row._mapping, "role": OrgRole(row.role)})
