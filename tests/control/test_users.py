"""Accounts of the host: added and removed by its owner; a quota for each."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import AlreadyExists, InvalidArgument, NotFound, PermissionDenied, Unauthenticated, WrongState
from openboxd.model import GIB, Quota
from tests.control.conftest import People
from tests.control.test_access import make, seen
from tests.control.test_orgs import refused
from tests.worker.test_pairs import outcome


async def test_only_the_owner_of_the_host_adds_and_removes(people: People) -> None:
    control = people.world.control
    await refused(PermissionDenied, control.add_user(people.bob, "dan"))
    await refused(PermissionDenied, control.remove_user(people.bob, "eve", machines=False))
    await refused(PermissionDenied, control.set_quota(people.bob, "bob", machines=100))
    with pytest.raises(PermissionDenied):
        control.users(people.bob)
    assert [view.user.name for view in control.users(people.owner)] == ["ada", "bob", "eve"]
    assert [view.user.is_owner for view in control.users(people.owner)] == [True, False, False]
    assert control.account(people.bob).user.name == "bob"


async def test_names_of_users(people: People) -> None:
    control = people.world.control
    for name in ("", "Bob", "-b", "a b", "../b", "x" * 41):
        await refused(InvalidArgument, control.add_user(people.owner, name))
    await refused(AlreadyExists, control.add_user(people.owner, "bob"))
    await refused(NotFound, control.remove_user(people.owner, "dan", machines=False))


async def test_a_key_is_shown_once_and_stored_as_a_digest(people: People) -> None:
    _, key = await people.world.control.add_user(people.owner, "dan")
    assert people.world.control.authenticate(key).user_id.startswith("u_")
    for file in people.world.home.glob("boxd.db*"):
        assert key.encode() not in file.read_bytes()


async def test_a_user_who_lost_their_key_gets_another(people: People) -> None:
    control = people.world.control
    first, (user, second) = people.bob, await control.add_user_key(people.owner, "bob", only=False)
    assert user.name == "bob" and control.authenticate(second).user_id == people.bob.user_id
    assert len(control.api_keys(first)) == 2
    cut: list[str] = []
    control.on_revoked(lambda key_id, why: cut.append(key_id))
    _, third = await control.add_user_key(people.owner, "bob", only=True)
    assert set(cut) > {first.key_id} and len(cut) == 2
    assert [key.id for key in control.api_keys(first)] == [control.authenticate(third).key_id]
    with pytest.raises(Unauthenticated):
        control.authenticate(second)
    await refused(PermissionDenied, control.add_user_key(people.bob, "ada", only=False))
    await refused(NotFound, control.add_user_key(people.owner, "dan", only=False))


async def test_a_user_with_machines_stays_unless_they_go_too(people: People) -> None:
    control = people.world.control
    _, key = await control.add_user(people.owner, "dan")
    dan = control.authenticate(key)
    await make(people, "dans", dan)
    await refused(WrongState, control.remove_user(people.owner, "dan", machines=False), "they own dans; remove these")
    assert control.authenticate(key) == dan
    assert [machine.name for machine in await control.remove_user(people.owner, "dan", machines=True)] == ["dans"]
    with pytest.raises(Unauthenticated):
        control.authenticate(key)
    assert people.world.store.machine_named("dans") is None
    assert [view.user.name for view in control.users(people.owner)] == ["ada", "bob", "eve"]
    await control.add_user(people.owner, "dan")  # the name is free


async def test_the_owner_of_the_host_and_owners_of_organizations_stay(people: People) -> None:
    control = people.world.control
    await refused(WrongState, control.remove_user(people.owner, "ada", machines=True), "owner of this host")
    await control.create_org(people.bob, "bobs")
    _, token = await control.invite(people.bob, "bobs", "eve", "member")
    await control.accept_invite(people.eve, token)
    await refused(WrongState, control.remove_user(people.owner, "bob", machines=False), "pass it on first")
    await control.set_member_role(people.bob, "bobs", "eve", "owner")
    await control.remove_user(people.owner, "bob", machines=False)
    assert [user.name for _, user in control.members(people.eve, "bobs")[0]] == ["eve"]
    await control.remove_user(people.owner, "eve", machines=False)  # nobody else is in it: it goes with them
    assert people.world.store.orgs() == ()


async def test_quotas_are_set_one_by_one(people: People) -> None:
    control = people.world.control
    await control.set_quota(people.owner, "bob", machines=3, memory_bytes=GIB)
    view = await control.set_quota(people.owner, "bob", machines=None, vcpu=2)
    assert view.quota == Quota(3, 2, GIB, 0)
    assert (await control.set_quota(people.owner, "bob", machines=0)).quota == Quota(0, 2, GIB, 0)
    await make(people, "bobs", people.bob)
    assert control.account(people.bob).used == Quota(1, 1, GIB // 2, 0)
    assert seen(people, people.owner) == set()


async def test_nothing_is_made_for_a_user_while_they_are_removed(people: People) -> None:
    """Neither by their machines, which speak for them without a key, nor by what was ordered before."""
    world, control = people.world, people.world.control
    _, key = await control.add_user(people.owner, "dan")
    dan = control.authenticate(key)
    dans, speaks = await make(people, "dans", dan), await make(people, "speaks", dan)
    with world.host.hold("load state") as load, world.host.hold("kill") as kill:
        forking = asyncio.ensure_future(outcome(control.fork_machine(people.speaking(dans), "dans", NewMachine())))
        await load.reached()
        removing = asyncio.ensure_future(control.remove_user(people.owner, "dan", machines=True))
        await kill.reached()
        with pytest.raises(Unauthenticated, match="owner of machine 'speaks' is being removed"):
            control.inside_caller(speaks.run_id, "")
        late = asyncio.ensure_future(outcome(make(people, "late", people.speaking(speaks))))
        await world.until(lambda: world.store.machine_named("late"))
    assert {machine.name for machine in await removing} >= {"dans", "speaks", "dans-fork", "late"}
    await asyncio.gather(forking, late)
    assert world.store.machines() == ()
    await refused(
        NotFound, world.store.add_machine(replace(dans, id=str(uuid.uuid4()), name="x")), "its owner is not there"
    )
    assert world.leftovers() == []
