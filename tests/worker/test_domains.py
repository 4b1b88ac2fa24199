"""Domains of people's own, with the real store and everything above it: who may have one, and where it leads."""

from __future__ import annotations

import pytest

from openboxd.control.domains import MAX_LENGTH, check_domain
from openboxd.errors import AlreadyExists, InvalidArgument, NotFound
from openboxd.model import Caller, User, Way
from tests.worker.test_ways import Seen, ways
from tests.worker.world import OWNER, World

__all__ = ["ways"]

DOMAIN = "www.example.org"
OTHER = Caller("u_other", "key_other")

HOSTILE = [
    "", ".", "..", "localhost", "example", ".example.org", "example.org.", "exa mple.org", "Example.org", "-a.org",
    "a-.org", "a..org", "a_b.org", "*.example.org", "../x.org", "a/b.org", "http://example.org", "example.org:80",
    "10.0.0.1", "1.2", "é.org", "a" * 64 + ".org", "a." * 60 + "org", "x\n.org", "example.org\n", "=x.org",
]  # fmt: skip


@pytest.mark.parametrize("domain", HOSTILE)
def test_what_is_no_domain_is_refused(domain: str) -> None:
    with pytest.raises(InvalidArgument, match="a domain has at most 100 characters"):
        check_domain(domain, "boxd.test")


def test_the_longest_domain_and_those_of_the_zone() -> None:
    check_domain(f"{'a' * 63}.{'b' * (MAX_LENGTH - 68)}.org", "boxd.test")
    check_domain("1.example.xn--p1ai", "boxd.test")
    for domain in ("boxd.test", "web.boxd.test", "a.b.boxd.test"):
        with pytest.raises(InvalidArgument, match="this host's own zone"):
            check_domain(domain, "boxd.test")


async def test_a_domain_leads_where_the_machines_routes_lead(world: World, ways: Seen) -> None:
    machine = await world.machine()
    made = await world.control.add_custom_domain(OWNER, "web", DOMAIN)
    assert (made.domain, made.machine.id, made.problem) == (DOMAIN, machine.id, "")
    assert Way(0, domain=DOMAIN) in ways.ways[machine.id]
    await world.control.create_route(OWNER, "web", "api", 9000)
    await world.control.set_route_port(OWNER, "web", "", "3000")
    found = {way for way in ways.ways[machine.id] if way.domain}
    assert found == {Way(3000, domain=DOMAIN), Way(9000, domain=f"api.{DOMAIN}")}
    again = await world.control.add_custom_domain(OWNER, "web", DOMAIN)
    assert again.domain == DOMAIN
    await world.stop()
    await world.start()  # a domain outlives the daemon
    await world.control.arrange_ways()
    assert {way for way in ways.ways[machine.id] if way.domain} == found
    await world.control.rename_machine(OWNER, "web", "shop")
    assert [view.machine.name for view in world.control.custom_domains(OWNER)] == ["shop"]
    assert {way for way in ways.ways[machine.id] if way.domain} == found
    await world.control.remove_custom_domain(OWNER, DOMAIN)
    assert not any(way.domain for way in ways.ways[machine.id])
    with pytest.raises(NotFound, match=DOMAIN):
        await world.control.remove_custom_domain(OWNER, DOMAIN)


async def test_a_domain_has_one_machine_and_is_free_when_it_is_destroyed(world: World, ways: Seen) -> None:
    await world.machine("one")
    second = await world.machine("two")
    await world.control.add_custom_domain(OWNER, "one", DOMAIN)
    with pytest.raises(AlreadyExists, match="leads to another machine already"):
        await world.control.add_custom_domain(OWNER, "two", DOMAIN)
    assert [view.machine.name for view in world.control.custom_domains(OWNER)] == ["one"]
    await world.control.destroy_machine(OWNER, "one")
    await world.control.add_custom_domain(OWNER, "two", DOMAIN)
    assert Way(0, domain=DOMAIN) in ways.ways[second.id]


async def test_a_name_below_a_domain_may_lead_to_another_machine_of_its_owner(world: World, ways: Seen) -> None:
    first, second = await world.machine("one"), await world.machine("two")
    await world.control.create_route(OWNER, "one", "api", 9000)
    await world.control.add_custom_domain(OWNER, "one", DOMAIN)
    below = Way(9000, domain=f"api.{DOMAIN}")
    assert below in ways.ways[first.id]
    await world.control.add_custom_domain(OWNER, "two", f"api.{DOMAIN}")
    assert below not in ways.ways[first.id]
    assert Way(0, domain=f"api.{DOMAIN}") in ways.ways[second.id]
    await world.control.remove_custom_domain(OWNER, f"api.{DOMAIN}")
    assert below in ways.ways[first.id]


async def test_nobody_gets_at_what_others_own(world: World, ways: Seen) -> None:
    await world.store.add_user(User(OTHER.user_id, "bob"))
    await world.machine("mine")
    theirs = await world.machine("theirs")
    await world.control.add_custom_domain(OWNER, "mine", "example.org")
    await world.store.update_machine(theirs.id, owner_id=OTHER.user_id)
    for ref in ("mine", "ghost"):
        with pytest.raises(NotFound, match=ref):
            await world.control.add_custom_domain(OTHER, ref, "example.net")
    for call in (
        lambda: world.control.create_route(OTHER, "mine", "api", 80),
        lambda: world.control.set_route_port(OTHER, "mine", "", "80"),
        lambda: world.control.expose_port(OTHER, "mine", 80, "tcp"),
        lambda: world.control.routes(OTHER, "mine"),
    ):
        with pytest.raises(NotFound, match="mine"):
            await call()
    for domain in ("api.example.org", "a.b.example.org"):
        with pytest.raises(AlreadyExists, match="belongs to somebody"):
            await world.control.add_custom_domain(OTHER, theirs.id, domain)
    with pytest.raises(NotFound, match=r"domain 'example.org' not found"):
        await world.control.remove_custom_domain(OTHER, "example.org")
    assert world.control.custom_domains(OTHER) == []
    assert len(world.control.custom_domains(OWNER)) == 1
