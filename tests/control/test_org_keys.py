"""Keys of an organization, and keys of a member that do not reach beyond one."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import InvalidArgument, NotFound, PermissionDenied, Unauthenticated, WrongState
from openboxd.model import MIB, Caller, Machine, OrgRole
from tests.control.conftest import People
from tests.control.test_access import make, shared


@dataclass
class Key:
    id: str
    secret: str


async def key(people: People, who: Caller, kind: str = "org", org: str = "team") -> Key:
    row, secret = await people.world.control.create_api_key(who, f"a {kind}", 0, org, kind)
    return Key(row.id, secret)


def names(people: People, caller: Caller) -> list[str]:
    return sorted(machine.name for machine in people.world.control.machines(caller))


async def test_the_organizations_own_key_is_an_admin_of_what_is_shared_and_nobodys(people: People) -> None:
    control = people.world.control
    await shared(people)
    await make(people, "private")
    await make(people, "closed", org="team")
    caller = control.authenticate((await key(people, people.owner)).secret)
    assert names(people, caller) == ["web"]
    with pytest.raises(NotFound):
        control.machine(caller, "private")
    made = await control.create_machine(caller, NewMachine(name="ci", vcpu=1, memory_bytes=512 * MIB))
    assert (made.shared, made.org_id) == (True, control.machine(people.bob, "web").org_id)
    assert control.machine(people.bob, "ci").id == made.id  # every member may use it
    await people.world.settled("ci")
    await control.save_checkpoint(caller, "ci", "one")
    view = await control.checkpoint_done(caller, "ci", "one")
    assert view.checkpoint.created_by == caller.key_id
    await control.destroy_machine(caller, "ci")
    for work in (control.create_api_key(caller, "x", 0), control.save_snapshot(caller, "web", "x")):
        with pytest.raises(PermissionDenied, match="a key of an organization cannot"):
            await work
    with pytest.raises(PermissionDenied):  # private again, it would speak as its owner to all that is theirs
        await control.unshare(caller, "web")
    assert [org.name for org, _ in control.orgs(caller)] == ["team"]


async def test_a_members_key_reaches_what_is_theirs_there_and_nothing_else(people: People) -> None:
    control = people.world.control
    await shared(people)
    await make(people, "bobs", people.bob)
    await make(people, "inside", people.bob, org="team")
    await control.create_org(people.bob, "another")
    caller = control.authenticate((await key(people, people.bob, "member")).secret)
    assert names(people, control.authenticate((await key(people, people.bob, "member", "another")).secret)) == []
    assert sorted(m.name for m in control.machines(caller, everywhere=True)) == ["inside", "web"]
    assert [m.name for m in control.machines(caller, org="team")] != []
    with pytest.raises(NotFound):
        control.machines(caller, org="another")
    with pytest.raises(NotFound):
        control.machine(caller, "bobs")
    with pytest.raises(PermissionDenied):
        await control.destroy_machine(caller, "web")
    made = await control.create_machine(caller, NewMachine(name="new", vcpu=1, memory_bytes=512 * MIB))
    assert (made.shared, made.org_id != "") == (False, True)
    with pytest.raises(NotFound):
        await control.create_machine(caller, NewMachine(name="off", vcpu=1, memory_bytes=512 * MIB, org="another"))


async def test_who_may_make_which(people: People) -> None:
    control = people.world.control
    await shared(people)
    with pytest.raises(PermissionDenied):
        await key(people, people.bob)
    with pytest.raises(NotFound):
        await key(people, people.eve, "member")
    with pytest.raises(InvalidArgument):
        await key(people, people.owner, "team")
    await control.set_member_role(people.owner, "team", "bob", "admin")
    caller = control.authenticate((await key(people, people.bob)).secret)
    await control.rename_machine(caller, "web", "renamed")
    await control.set_member_role(people.owner, "team", "bob", OrgRole.MEMBER.value)
    with pytest.raises(PermissionDenied):  # its maker may not any more, and neither may it
        await control.rename_machine(caller, "renamed", "web")


async def test_it_goes_when_its_maker_leaves_or_the_organization_does(people: People) -> None:
    control = people.world.control
    await shared(people)
    ended: list[str] = []
    control.on_revoked(lambda ident, why: ended.append(ident))
    theirs, ours = await key(people, people.bob, "member"), await key(people, people.owner)
    token = (await control.exchange(theirs.secret)).token
    assert control.authenticate(token).org_id == control.machine(people.owner, "web").org_id
    await control.remove_member(people.owner, "team", "bob")
    assert theirs.id in ended and ours.id not in ended
    for credential in (theirs.secret, token):
        with pytest.raises(Unauthenticated):
            control.authenticate(credential)
    await control.remove_org(people.owner, "team")
    assert ours.id in ended
    with pytest.raises(Unauthenticated):
        control.authenticate(ours.secret)


async def test_its_streams_end_when_its_makers_machine_is_not_there_any_more(people: People) -> None:
    control, owner = people.world.control, people.owner
    await shared(people)
    await control.create_org(owner, "other")
    keys = {"org": await key(people, owner), "member": await key(people, owner, "member")}
    ended: list[str] = []
    control.on_revoked(lambda ident, why: ended.append(ident))

    async def lose(kind: str, work: Awaitable[Machine]) -> None:
        caller = control.authenticate(keys[kind].secret)
        assert control.machine(caller, "web").name == "web"
        ended.clear()
        await work
        with pytest.raises(NotFound):
            control.machine(caller, "web")
        assert keys[kind].id in ended

    await lose("org", control.unshare(owner, "web"))
    await control.share(owner, "web")
    await lose("member", control.share(owner, "web", "other"))
    await control.share(owner, "web", "team")
    await control.unshare(owner, "web")
    await lose("member", control.share(owner, "web", "other"))  # a private one of theirs goes, too


async def test_its_work_is_logged_as_the_keys(people: People) -> None:
    control = people.world.control
    await shared(people)
    ours, theirs = await key(people, people.owner), await key(people, people.bob, "member")
    for each, name in ((ours, "ours"), (theirs, "theirs")):
        caller = control.authenticate(each.secret)
        await control.save_checkpoint(caller, "web", name)
        await control.checkpoint_done(caller, "web", name)
        await control.create_route(caller, "web", name, 9000)
    log = [(event.detail, event.actor, shown) for event, shown in control.events(people.bob, "web", 0)][-4:]
    assert log == [
        ("ours", ours.id, ""),
        ("ours to 9000", ours.id, ""),
        ("theirs", people.bob.user_id, "bob"),
        ("theirs to 9000", people.bob.user_id, "bob"),
    ]


async def test_it_is_no_way_into_the_account(people: People) -> None:
    control = people.world.control
    await control.create_org(people.owner, "team")
    bounded = await key(people, people.owner)
    own = [each for each in control.api_keys(people.owner) if not each.org_id]
    assert [(each.id, each.kind) for each in control.api_keys(people.owner) if each.org_id] == [(bounded.id, "org")]
    for each in own[1:]:
        await control.delete_api_key(people.owner, each.id)
    if own:
        with pytest.raises(WrongState, match="last API key"):
            await control.delete_api_key(people.owner, own[0].id)
    await control.delete_api_key(people.owner, bounded.id)
