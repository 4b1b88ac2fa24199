"""What people change about a machine without an operation on its run is in its event log, too."""

from __future__ import annotations

import pytest

from openboxd.errors import InvalidArgument
from openboxd.model import Caller, Outcome
from tests.control.conftest import People
from tests.control.test_access import make, shared


def log(people: People, caller: Caller, since: int = 0) -> list[tuple[str, str, str]]:
    found = people.world.control.events(caller, "web", 0)[since:]
    assert all(event.outcome is Outcome.OK for event, _ in found)
    return [(event.operation, event.detail, name) for event, name in found]


async def test_ways_in(people: People) -> None:
    control, bob = people.world.control, people.bob
    await shared(people)
    begin = len(log(people, bob))
    await control.create_route(bob, "web", "docs", 9000)
    await control.set_route_port(bob, "web", "docs", "9001")
    await control.set_route_port(bob, "web", "", "auto")
    await control.delete_route(bob, "web", "docs")
    _, exposed = await control.expose_port(people.owner, "web", 5432, "both")
    await control.unexpose_port(people.owner, "web", 5432)
    await control.add_custom_domain(people.owner, "web", "www.example.org")
    await control.remove_custom_domain(people.owner, "www.example.org")
    assert log(people, bob, begin) == [
        ("route", "docs to 9000", "bob"),
        ("route", "docs to 9001", "bob"),
        ("route", "default to auto", "bob"),
        ("remove route", "docs", "bob"),
        ("expose", f"5432 at {exposed.public_port} (both)", "ada"),
        ("unexpose", f"5432 at {exposed.public_port} (both)", "ada"),
        ("domain", "www.example.org", "ada"),
        ("remove domain", "www.example.org", "ada"),
    ]


async def test_who_shares_it_and_who_ends_that(people: People) -> None:
    control, owner = people.world.control, people.owner
    await control.create_org(owner, "team")
    await make(people, "web")
    begin = len(log(people, owner))
    await control.share(owner, "web", "team")
    await control.unshare(owner, "web")
    await control.share(owner, "web")
    await control.remove_org(owner, "team")
    assert log(people, owner, begin) == [(what, "team", "ada") for what in ("share", "unshare", "share", "unshare")]


async def test_what_a_machine_does_is_its_own_act_and_not_its_owners(people: People) -> None:
    control, web = people.world.control, await shared(people)
    begin = len(log(people, people.bob))
    await control.create_route(people.speaking(web), "web", "docs", 9000)
    await control.save_checkpoint(people.speaking(web), "web", "inside")
    await control.checkpoint_done(people.owner, "web", "inside")
    await people.world.settled("web")
    assert log(people, people.bob, begin) == [
        ("route", "docs to 9000", "machine web"),
        ("save", "inside", "machine web"),
    ]
    assert {event.actor for event, _ in control.events(people.owner, "web", 2)} == {web.id}
    (view,) = await control.checkpoints(people.bob, "web")
    assert control.author_name(people.bob, view.checkpoint.created_by) == "machine web"
    await control.rename_machine(people.owner, "web", "shop")
    assert control.author_name(people.bob, web.id) == "machine shop"


async def test_a_private_machine_is_named_to_nobody_who_does_not_see_it(people: People) -> None:
    control, web, side = people.world.control, await shared(people), await make(people, "side")
    begin = len(log(people, people.owner))
    await control.create_route(people.speaking(side), "web", "docs", 9000)
    assert log(people, people.owner, begin) == [("route", "docs to 9000", "machine side")]
    for caller in (people.bob, people.speaking(web)):
        assert log(people, caller, begin) == [("route", "docs to 9000", "a machine of ada")]
    await control.destroy_machine(people.owner, "side")
    assert log(people, people.owner, begin) == [("route", "docs to 9000", "machine side")]
    assert log(people, people.bob, begin) == [("route", "docs to 9000", "a machine of ada")]


async def test_a_refused_change_is_none(people: People) -> None:
    await shared(people)
    begin = len(log(people, people.bob))
    for name in ("default", "UPPER"):
        with pytest.raises(InvalidArgument):
            await people.world.control.create_route(people.bob, "web", name, 9000)
    assert log(people, people.bob, begin) == []
