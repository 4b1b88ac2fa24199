"""HTTPS routes and exposed ports."""

from __future__ import annotations

import asyncio
import os

import pytest
from boxd import errors


def test_routes_are_made_listed_changed_and_deleted(client, golden):
    proxies, zone = client.machines.proxies, client.account.config().zone
    [default] = proxies.list(golden)
    assert (default.name, default.is_default, default.port_mode) == (None, True, "auto")
    assert (default.domain, default.machine_id) == (f"golden.{zone}", golden)
    made = proxies.create("golden", "api", 9000)
    assert (made.name, made.port) == ("api", 9000)
    with pytest.raises(errors.ConflictError) as refused:
        proxies.create(golden, "api", 9001)
    assert refused.value.code == "already_exists"
    proxies.set_port(golden, 3000)
    proxies.set_port(golden, 9001, name="api")
    found = {proxy.name: proxy for proxy in proxies.list(golden)}
    assert (found[None].port, found[None].port_mode) == (3000, "locked")
    assert (found["api"].port, found["api"].domain) == (9001, f"api.golden.{zone}")
    proxies.set_port(golden, "auto")
    proxies.delete(golden, "api")
    assert [proxy.port_mode for proxy in proxies.list(golden)] == ["auto"]


def test_bad_routes_are_refused(client, golden):
    proxies = client.machines.proxies
    for label in ("", "Api", "a_b", "-a", "a-", "a" * 64, "a.b"):
        with pytest.raises(errors.APIStatusError) as refused:
            proxies.create(golden, label, 80)
        assert refused.value.code == "invalid_argument", label
    for port in (0, 65536):
        with pytest.raises(errors.APIStatusError):
            proxies.create(golden, "api", port)
    with pytest.raises(errors.APIStatusError):
        proxies.set_port(golden, "auto", name="api")
    for call in (
        lambda: proxies.set_port(golden, 80, name="default"),
        lambda: proxies.delete(golden, "api"),
        lambda: proxies.list("ghost"),
    ):
        with pytest.raises(errors.NotFoundError):
            call()


def test_ports_are_exposed_up_to_three(client, golden):
    ports = client.machines.ports
    first = ports.expose(golden, 5432)
    assert (first.machine_id, first.machine_port, first.protocol) == (golden, 5432, "tcp")
    lowest, _, highest = os.environ["SDK_EXPOSED_PORTS"].partition("-")
    assert int(lowest) <= first.public_port <= int(highest)
    assert ports.expose("golden", 5432) == first
    both = ports.expose(golden, 5432, protocol="both")
    assert (both.public_port, both.protocol) == (first.public_port, "both")
    assert ports.expose(golden, 5432, protocol="tcp") == first
    others = [ports.expose(golden, port) for port in (25, 110)]
    assert len({each.public_port for each in (first, *others)}) == 3
    with pytest.raises(errors.ConflictError) as refused:
        ports.expose(golden, 143)
    assert "3 of 3" in str(refused.value)
    assert ports.list(golden) == sorted([first, *others], key=lambda each: each.machine_port) == ports.list()
    for each in (first, *others):
        assert ports.unexpose(golden, each.machine_port) == each
    with pytest.raises(errors.NotFoundError):
        ports.unexpose(golden, 5432)
    assert ports.list() == []


def test_domains_of_ones_own_lead_to_a_machine(client, golden):
    domains = client.domains
    made = domains.create("www.example.org", golden)
    assert (made.domain, made.machine_id, made.machine_name) == ("www.example.org", golden, "golden")
    assert (made.status, made.last_error) == ("active", "")
    assert domains.list() == [made] == client.machines.get(golden).access.custom_domains
    assert domains.create("www.example.org", golden) == made
    for name in ("", "example", "golden.boxd.localhost", "10.0.0.1"):
        with pytest.raises(errors.APIStatusError) as refused:
            domains.create(name, golden)
        assert refused.value.code == "invalid_argument", name
    domains.delete("www.example.org")
    with pytest.raises(errors.NotFoundError):
        domains.delete("www.example.org")
    with pytest.raises(errors.NotFoundError):
        domains.create("www.example.org", "ghost")
    assert domains.list() == []


def test_the_asynchronous_client_is_the_same(async_client, golden):
    async def all_of_it():
        async with async_client() as client:
            await client.machines.proxies.create(golden, "later", 80)
            names = [proxy.name for proxy in await client.machines.proxies.list(golden)]
            await client.machines.proxies.delete(golden, "later")
            exposed = await client.machines.ports.expose(golden, 80)
            assert await client.machines.ports.unexpose(golden, 80) == exposed
            return names

    assert asyncio.run(all_of_it()) == [None, "later"]


def test_what_a_machine_reaches_is_set_as_a_whole(client, golden):
    """Here machines have QEMU's user network, which has no networks and no names; the bridge has both."""
    machines = client.machines
    for call in (
        lambda: machines.set_networks(golden, ["db"]),
        lambda: machines.set_egress_allow(golden, ["*.example.com"]),
    ):
        with pytest.raises(errors.ConflictError) as refused:
            call()
        assert "was not changed" in str(refused.value)
    for entry in ("https://example.com", "127.0.0.1", "a b"):
        with pytest.raises(errors.APIStatusError):
            machines.set_egress_allow(golden, [entry])
    with pytest.raises(errors.NotFoundError):
        machines.set_egress_allow("ghost", [])
    assert machines.set_egress_allow("golden", ["192.0.2.1/32", "192.0.2.1"]) == ["192.0.2.1"]
    assert machines.get(golden).egress_allow == ["192.0.2.1"]
    assert machines.set_egress_allow(golden, []) == machines.set_networks(golden, []) == []
    assert (machines.get(golden).egress_allow, machines.get(golden).networking.networks) == ([], [])
