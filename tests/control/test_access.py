"""Who sees and may do what to which machine; what is not seen is not looked at either."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openboxd.api.ports import NewMachine
from openboxd.control.access import ITSELF_ONLY, MAY, Access, Act, Role
from openboxd.errors import BoxdError, NotFound, PermissionDenied
from openboxd.model import MIB, Caller, Machine, OrgRole
from tests.control.conftest import People


async def make(people: People, name: str, owner: Caller | None = None, **values: Any) -> Machine:
    await people.world.image()
    new = NewMachine(name=name, vcpu=1, memory_bytes=512 * MIB, **values)
    machine = await people.world.control.create_machine(owner or people.owner, new)
    await people.world.control.team.worker(machine.id).idle()
    return people.world.control.machine(owner or people.owner, name)


async def shared(people: People, name: str = "web") -> Machine:
    """A machine that is shared with organization `team`, in which bob is."""
    await people.world.control.create_org(people.owner, "team")
    await people.join(people.bob)
    return await make(people, name, org="team", shared=True)


def seen(people: People, caller: Caller) -> set[str]:
    return {machine.name for machine in people.world.control.machines(caller, everywhere=True)}


def may(people: People, caller: Caller, ref: str) -> set[Act] | str:
    """What a caller may do to a machine; or the sentence if they do not see it."""
    allowed = set()
    for act in Act:
        try:
            people.world.control.machine(caller, ref, act)
        except PermissionDenied:
            continue
        except NotFound as error:
            return error.message
        allowed.add(act)
    return allowed


def test_the_table_is_about_every_role() -> None:
    assert MAY.keys() == set(Role)
    assert all(Act.USE in acts for acts in MAY.values())


async def test_a_private_machine_is_its_owners(people: People) -> None:
    machine = await make(people, "web")
    for ref in ("web", machine.id):
        assert may(people, people.owner, ref) == set(Act)
        assert may(people, people.eve, ref) == f"VM '{ref}' not found"
    assert (seen(people, people.owner), seen(people, people.eve)) == ({"web"}, set())


async def test_a_shared_machine_is_used_by_members_and_managed_by_admins(people: People) -> None:
    control = people.world.control
    machine = await shared(people)
    assert may(people, people.bob, "web") == {Act.USE}
    assert may(people, people.eve, "web") == "VM 'web' not found"
    assert seen(people, people.bob) == {"web"} and control.machines(people.bob) == []
    assert [m.name for m in control.machines(people.bob, org="team")] == ["web"]
    with pytest.raises(PermissionDenied) as caught:
        await control.destroy_machine(people.bob, "web")
    assert caught.value.message == (
        "only the owner of machine 'web' and the admins of its organization can remove it; "
        "it is running and was not changed"
    )
    await control.set_member_role(people.owner, "team", "bob", OrgRole.ADMIN)
    assert may(people, people.bob, machine.id) == {Act.USE, Act.MANAGE, Act.LIMIT, Act.REMOVE}
    await control.unshare(people.owner, "web")
    assert may(people, people.bob, "web") == "VM 'web' not found"
    assert control.machine(people.owner, "web").org_id  # it still belongs there
    await control.share(people.owner, "web")
    assert may(people, people.bob, "web") == {Act.USE, Act.MANAGE, Act.LIMIT, Act.REMOVE}


async def test_an_admin_does_not_make_a_machine_private_that_then_speaks_as_its_owner(people: People) -> None:
    """Whatever they have left to run in it would come to all that its owner has."""
    control = people.world.control
    web = await shared(people)
    await make(people, "private")
    await control.create_org(people.bob, "bobs")
    await control.set_member_role(people.owner, "team", "bob", OrgRole.ADMIN)
    for work in (control.unshare(people.bob, "web"), control.share(people.bob, "web", "bobs")):
        with pytest.raises(PermissionDenied) as caught:
            await work
        assert caught.value.message == (
            "only the owner of machine 'web' can share it or end that; it is running and was not changed"
        )
    assert seen(people, people.speaking(web)) == {"web"}


async def test_members_have_checkpoints_and_events_with_the_machine(people: People) -> None:
    """S36: there is no permission of its own."""
    control = people.world.control
    await shared(people)
    await control.save_checkpoint(people.bob, "web", "bobs")
    assert (await control.checkpoint_done(people.bob, "web", "bobs")).checkpoint.created_by == people.bob.user_id
    await control.restore_checkpoint(people.bob, "web", "bobs")
    await control.remove_checkpoint(people.bob, "web", "bobs")
    assert [name for event, name in control.events(people.bob, "web", 0) if event.operation == "restore"] == ["bob"]
    for call in (control.events(people.owner, "web", 0), control.routes(people.bob, "web")):
        assert call is not None
        if asyncio.iscoroutine(call):
            await call


async def test_a_machine_that_speaks_does_what_its_owner_does(people: People) -> None:
    web, other = await make(people, "web"), await make(people, "other")
    await make(people, "eves", people.eve)
    speaker = people.speaking(web)
    assert seen(people, speaker) == {"web", "other"}
    assert may(people, speaker, "web") == {Act.USE, Act.MANAGE, Act.LIMIT}
    assert may(people, speaker, other.id) == {Act.USE, Act.MANAGE, Act.LIMIT, Act.REMOVE}
    assert may(people, speaker, "eves") == "VM 'eves' not found"
    with pytest.raises(PermissionDenied) as caught:
        await people.world.control.destroy_machine(speaker, "web")
    assert caught.value.message == "machine 'web' cannot remove itself; use 'boxd machine remove --self web' in it"


async def test_a_shared_machine_that_speaks_reaches_nothing_private(people: People) -> None:
    """Every member can be in it: through it nobody may come to what its owner keeps to themselves."""
    control = people.world.control
    web = await shared(people)
    await make(people, "private")
    await make(people, "bobs", people.bob, org="team", shared=True)
    speaker = people.speaking(web)
    assert seen(people, speaker) == {"web", "bobs"}
    assert may(people, speaker, "private") == "VM 'private' not found"
    assert may(people, speaker, "web") == may(people, speaker, "bobs") == {Act.USE}
    made = await make_as(people, speaker, "made")
    assert (made.shared, made.org_id, made.owner_id) == (True, web.org_id, people.owner.user_id)
    for call in (control.snapshots(speaker), control.save_snapshot(speaker, "web", "kept")):
        with pytest.raises(PermissionDenied):
            await call
    assert [org.name for org, _ in control.orgs(speaker)] == ["team"]


async def make_as(people: People, speaker: Caller, name: str) -> Machine:
    new = NewMachine(name=name, vcpu=1, memory_bytes=512 * MIB)
    machine = await people.world.control.create_machine(speaker, new)
    await people.world.control.team.worker(machine.id).idle()
    return machine


async def test_who_forks_a_shared_machine_has_the_copy_to_themselves(people: People) -> None:
    control = people.world.control
    web = await shared(people)
    for new, shares in ((NewMachine("mine"), False), (NewMachine("ours", org="team", shared=True), True)):
        copy = await control.fork_machine(people.bob, "web", new)
        assert (copy.owner_id, copy.shared, copy.source_id) == (people.bob.user_id, shares, web.id)
        assert (copy.name in seen(people, people.owner)) is shares


async def test_a_machine_whose_reach_is_narrowed_acts_on_itself_only(people: People) -> None:
    web = await make(people, "web")
    await make(people, "other")
    access, speaker = Access(people.world.store, ITSELF_ONLY), people.speaking(web)
    assert [machine.name for machine in access.machines(speaker)] == ["web"]
    with pytest.raises(NotFound, match="VM 'other' not found"):
        access.machine(speaker, "other")
    with pytest.raises(PermissionDenied):
        access.place(speaker, "", shared=False)
    assert access.machine(speaker, "web", Act.MANAGE) == access.machine(people.owner, "web", Act.LIMIT) == web
    with pytest.raises(PermissionDenied) as caught:
        access.machine(speaker, "web", Act.LIMIT)
    assert caught.value.message == "machine 'web' cannot change what limits itself; do that outside"
    assert {machine.name for machine in access.machines(people.owner)} == {"web", "other"}


async def test_a_machine_that_is_gone_sees_nothing(people: People) -> None:
    web, _ = await make(people, "web"), await make(people, "other")
    await people.world.control.destroy_machine(people.owner, "web")
    assert seen(people, people.speaking(web)) == set()


async def test_what_is_not_seen_is_asked_for_in_the_same_way_as_what_is_not_there(people: People) -> None:
    machine = await make(people, "web")
    asked: list[tuple[str, str]] = []

    class Listening:
        """The store, and which calls were made with how many rows for an answer."""

        def __getattr__(self, name: str) -> Any:
            call = getattr(people.world.store, name)

            def listened(*args: Any, **kwargs: Any) -> Any:
                answer = call(*args, **kwargs)
                asked.append((name, "nothing" if answer is None else str(answer)))
                return answer

            return listened

    access = Access(Listening())  # type: ignore[arg-type]
    told = []
    for ref in (machine.id, "00000000-0000-4000-8000-000000000000", "web", "ghost"):
        asked.clear()
        with pytest.raises(BoxdError) as caught:
            access.machine(people.eve, ref)
        told.append((type(caught.value), caught.value.message.replace(ref, "REF"), list(asked)))
    assert told[0] == told[1] == told[2] == told[3]


async def test_a_name_that_is_taken_tells_no_more(people: People) -> None:
    await make(people, "web")
    with pytest.raises(BoxdError) as caught:
        await make(people, "web", people.eve)
    assert caught.value.message == "a machine named 'web' exists already; choose another name"
    await make(people, "eves", people.eve)
    with pytest.raises(BoxdError) as caught:
        await people.world.control.rename_machine(people.eve, "eves", "web")
    assert caught.value.message == "a machine named 'web' exists already; choose another name"


async def test_keys_of_all_who_may_use_a_machine_log_in(people: People) -> None:
    control, line = people.world.control, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{}"
    web = await shared(people)
    keys = {}
    for who, filler in ((people.owner, "A"), (people.bob, "B"), (people.eve, "C")):
        text = line.format(filler * 43)
        await control.link_ssh_key(who, text, "", "")
        keys[who.user_id] = text
    access = Access(people.world.store)
    assert {key.public_key for key in access.ssh_keys(web)} == {keys[people.owner.user_id], keys[people.bob.user_id]}
    await control.unshare(people.owner, "web")
    private = control.machine(people.owner, "web")
    assert {key.public_key for key in access.ssh_keys(private)} == {keys[people.owner.user_id]}
