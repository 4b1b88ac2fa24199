"""Organizations: members, roles, invitations; and what becomes of shared machines when somebody leaves."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from openboxd.control import orgs
from openboxd.errors import AlreadyExists, BoxdError, InvalidArgument, NotFound, PermissionDenied, WrongState
from openboxd.model import OrgRole
from tests.control.conftest import People
from tests.control.test_access import make, seen


async def refused(kind: type[BoxdError], work: Awaitable[Any], text: str | None = None) -> None:
    with pytest.raises(kind, match=text):
        await work


def roles(people: People) -> dict[str, str]:
    members, _ = people.world.control.members(people.owner, "team")
    return {user.name: member.role.value for member, user in members}


async def test_an_invitation_is_good_once_and_for_a_week(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    invite, token = await control.invite(people.owner, "team", "bob@example.org", "")
    assert (invite.role, token[:4]) == (OrgRole.MEMBER, "bxi_")
    stored = people.world.store.invites(invite.org_id)
    assert token not in str(stored) and [one.email for one in stored] == ["bob@example.org"]
    await refused(NotFound, control.accept_invite(people.bob, invite.id))  # the id revokes, it does not open
    await refused(NotFound, control.accept_invite(people.bob, "bxi_" + "x" * 40))
    await control.accept_invite(people.bob, token)
    await refused(NotFound, control.accept_invite(people.eve, token))
    assert roles(people) == {"ada": "owner", "bob": "member"}
    _, late = await control.invite(people.owner, "team", "eve", "admin")
    now = orgs.time.time()
    monkeypatch.setattr(orgs.time, "time", lambda: now + orgs.INVITE_LIFETIME + 1)
    await refused(NotFound, control.accept_invite(people.eve, late))


async def test_invitations_are_seen_and_revoked_by_those_who_manage(people: People) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    await people.join(people.bob)
    invite, token = await control.invite(people.owner, "team", "eve", "member")
    assert [one.id for one in control.members(people.owner, "team")[1]] == [invite.id]
    assert control.members(people.bob, "team")[1] == ()
    for who in (people.bob, people.eve):
        await refused(NotFound, control.revoke_invite(who, token))
    await control.revoke_invite(people.owner, invite.id)
    await refused(NotFound, control.accept_invite(people.eve, token))
    await refused(PermissionDenied, control.invite(people.bob, "team", "eve", "member"))
    await refused(InvalidArgument, control.invite(people.owner, "team", "eve", "owner"))
    await refused(InvalidArgument, control.invite(people.owner, "team", "eve", "king"))
    await refused(InvalidArgument, control.invite(people.owner, "team", "e\nve", "member"))


async def test_who_is_in_already_keeps_the_invitation_for_others(people: People) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    _, token = await control.invite(people.owner, "team", "eve", "member")
    await refused(WrongState, control.accept_invite(people.owner, token), "can still be used")
    await control.accept_invite(people.eve, token)


async def test_roles(people: People) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    await people.join(people.bob)
    await people.join(people.eve, "admin")
    await refused(PermissionDenied, control.set_member_role(people.bob, "team", "bob", "admin"))
    await control.set_member_role(people.eve, "team", "bob", "admin")
    await refused(PermissionDenied, control.set_member_role(people.bob, "team", "eve", "member"), "only the owner")
    await refused(PermissionDenied, control.remove_member(people.bob, "team", "eve"), "remove an admin")
    await refused(PermissionDenied, control.set_member_role(people.eve, "team", "eve", "owner"), "only the owner")
    await refused(WrongState, control.set_member_role(people.eve, "team", "ada", "member"), "one owner")
    await refused(WrongState, control.remove_member(people.owner, "team", ""), "pass it on")
    await refused(NotFound, control.set_member_role(people.owner, "team", "dan", "member"))
    await control.set_member_role(people.bob, "team", "bob", "member")  # an admin may step back
    await control.set_member_role(people.owner, "team", people.eve.user_id, "owner")
    assert roles(people) == {"ada": "admin", "bob": "member", "eve": "owner"}
    await refused(PermissionDenied, control.remove_org(people.owner, "team"))
    await control.remove_member(people.bob, "team", "")
    assert roles(people) == {"ada": "admin", "eve": "owner"}


async def test_names(people: People) -> None:
    control = people.world.control
    org = await control.create_org(people.owner, "team")
    await refused(AlreadyExists, control.create_org(people.bob, "team"))
    for name in ("", " team", "x" * 65, "a\nb"):
        await refused(InvalidArgument, control.create_org(people.bob, name))
    await control.rename_org(people.owner, org.id, "crew")
    assert [one.name for one, _ in control.orgs(people.owner)] == ["crew"]
    await refused(NotFound, control.rename_org(people.owner, "team", "x"), "organization 'team' not found")
    await refused(NotFound, control.rename_org(people.bob, "crew", "x"), "organization 'crew' not found")
    await control.create_org(people.owner, "second")
    await refused(InvalidArgument, control.rename_org(people.owner, "", "x"), "crew, second")


async def test_sharing_without_naming_an_organization(people: People) -> None:
    control = people.world.control
    await make(people, "web")
    await refused(NotFound, control.share(people.owner, "web"), "you are in no organization")
    await control.create_org(people.owner, "team")
    await people.join(people.bob)
    await control.share(people.owner, "web")
    assert seen(people, people.bob) == {"web"}
    await control.create_org(people.owner, "second")
    await make(people, "new")
    await refused(InvalidArgument, control.share(people.owner, "new"), "second, team")
    await control.share(people.owner, "web", "second")
    assert seen(people, people.bob) == set()


async def test_who_leaves_takes_their_machines_along_and_is_cut_off(people: People) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    await people.join(people.bob)
    await make(people, "web", org="team", shared=True)
    await make(people, "bobs", people.bob, org="team", shared=True)
    bobs, web = (people.world.control.machine(people.owner, name).id for name in ("bobs", "web"))
    cut: list[tuple[str, str]] = []
    control.on_revoked(lambda key_id, why: cut.append((key_id, why)))
    await control.remove_member(people.owner, "team", "bob")
    assert (seen(people, people.owner), seen(people, people.bob)) == ({"web"}, {"bobs"})
    left = "its user left organization 'team'"
    assert cut == [(people.bob.key_id, left), (bobs, left), (web, "machine 'bobs' is not shared any more")]
    machine = control.machine(people.bob, "bobs")
    assert (machine.org_id, machine.shared) == ("", False)


async def test_an_organization_that_is_removed_leaves_machines_to_their_owners(people: People) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    await people.join(people.bob)
    await make(people, "bobs", people.bob, org="team", shared=True)
    assert seen(people, people.owner) == {"bobs"}
    await control.remove_org(people.owner, "team")
    assert (seen(people, people.owner), seen(people, people.bob)) == (set(), {"bobs"})
    assert control.orgs(people.bob) == []


async def test_unsharing_cuts_off_the_others_only(people: People) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    await people.join(people.bob)
    await make(people, "web", org="team", shared=True)
    cut: list[tuple[str, str]] = []
    control.on_revoked(lambda key_id, why: cut.append((key_id, why)))
    await control.share(people.owner, "web")  # it is already
    assert cut == []
    await control.unshare(people.owner, "web")
    assert cut == [(people.bob.key_id, "machine 'web' is not shared any more")]
