"""Organizations, scopes and quotas in the store: what one transaction keeps together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.errors import AlreadyExists, NotFound
from openboxd.model import ApiKey, Machine, MachineStatus, Membership, Org, OrgRole, Quota, Scope, User
from openboxd.store import SqlStore, open_store
from tests.contracts.rows import OWNER, a_machine, furnish

BOB = User("u_bob", "bob")
TEAM = Org("o_team", "team", 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    opened = open_store(tmp_path / "boxd.db")
    yield opened
    opened.close()


async def team(store: SqlStore) -> Machine:
    """Organization `team` of OWNER, in which bob is, and a machine of bob's that is shared with it."""
    await furnish(store)
    await store.add_user(BOB)
    await store.add_org(TEAM, OWNER.id)
    await store.put_member(Membership(TEAM.id, BOB.id, OrgRole.MEMBER, 2))
    machine = a_machine(owner_id=BOB.id, org_id=TEAM.id, shared=True)
    await store.add_machine(machine)
    return machine


async def test_a_scope_is_what_one_owns_and_what_is_shared(store: SqlStore) -> None:
    machine = await team(store)
    scopes = {
        Scope(BOB.id): True,
        Scope("u_eve"): False,
        Scope("u_eve", frozenset({TEAM.id})): True,
        Scope("u_eve", frozenset({"o_other"})): False,
        Scope(): False,
        Scope(BOB.id, only=machine.id): True,
        Scope(BOB.id, only="another"): False,
    }
    for scope, sees in scopes.items():
        expected = machine if sees else None
        assert store.machine_in(scope, machine_id=machine.id) == expected, scope
        assert store.machine_in(scope, name=machine.name) == expected, scope
        assert (machine in store.machines_in(scope)) is sees, scope
    private = await store.update_machine(machine.id, shared=False)
    assert store.machine_in(Scope("u_eve", frozenset({TEAM.id})), machine_id=machine.id) is None
    assert store.machine_in(Scope(BOB.id), machine_id=machine.id) == private
    await store.update_machine(machine.id, status=MachineStatus.DESTROYED)
    assert store.machine_in(Scope(BOB.id), machine_id=machine.id) is None
    assert [found.id for found in store.machines_of(BOB.id)] == [machine.id]
    assert [found.id for found in store.machines_of(org_id=TEAM.id)] == [machine.id]


async def test_who_leaves_takes_their_machines_along(store: SqlStore) -> None:
    machine = await team(store)
    await store.remove_member(TEAM.id, BOB.id)
    after = store.machine(machine.id)
    assert after is not None and (after.org_id, after.shared) == ("", False)
    assert [member.user_id for member in store.members(TEAM.id)] == [OWNER.id]
    await store.remove_member(TEAM.id, BOB.id)


async def test_ownership_is_passed_on_whole_or_not_at_all(store: SqlStore) -> None:
    await team(store)
    with pytest.raises(NotFound):
        await store.pass_org_on(TEAM.id, OWNER.id, "u_eve")
    assert {m.user_id: m.role for m in store.members(TEAM.id)} == {OWNER.id: "owner", BOB.id: "member"}
    await store.pass_org_on(TEAM.id, OWNER.id, BOB.id)
    assert {m.user_id: m.role for m in store.members(TEAM.id)} == {OWNER.id: "admin", BOB.id: "owner"}


async def test_a_user_and_their_key_come_together(store: SqlStore) -> None:
    await furnish(store)
    key = ApiKey("key_1", BOB.id, "first", "bxd_12345678", 1)
    await store.add_user_with_key(BOB, key, "digest")
    with pytest.raises(AlreadyExists):  # the digest is taken: the user is not added either
        await store.add_user_with_key(User("u_eve", "eve"), ApiKey("key_2", "u_eve", "x", "y", 1), "digest")
    assert {user.name for user in store.users()} == {OWNER.name, "bob"}


async def test_a_user_goes_with_all_that_is_theirs_alone(store: SqlStore) -> None:
    await team(store)
    await store.add_org(Org("o_bobs", "bobs", 3), BOB.id)
    await store.set_quota(BOB.id, Quota(machines=1))
    await store.add_api_key(ApiKey("key_1", BOB.id, "first", "bxd_12345678", 1), "digest")
    await store.remove_user(BOB.id)
    assert store.user(BOB.id) is None and store.api_key_by_digest("digest") is None
    assert [org.name for org in store.orgs()] == ["team"]
    assert store.quota(BOB.id) == Quota()
    await store.remove_user(BOB.id)
    with pytest.raises(NotFound):
        await store.set_quota(BOB.id, Quota())
