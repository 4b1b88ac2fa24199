"""`boxd machine proxy`, `boxd machine expose` and `boxd edge`, as people and scripts use them."""

from __future__ import annotations

import pytest

from openboxd.model import Held


@pytest.fixture
async def web(boxd):
    await boxd("machine", "new", "web", "--vcpu=1", "--memory", "2G")


async def test_routes_are_made_listed_changed_and_removed(boxd, web):
    made = await boxd("machine", "proxy", "new", "api", "--vm", "web", "--port", "9000")
    assert made.text.strip() == "https://api.web.boxd.test leads to port 9000 of machine web"
    await boxd("machine", "proxy", "set-port", "--vm=web", "--port=3000")
    await boxd("machine", "proxy", "set-port", "api", "--vm=web", "--port=9001")
    listed = (await boxd("machine", "proxy", "list", "--vm", "web", "--json")).json
    assert listed == [
        {
            "name": name,
            "vm": "web",
            "domain": domain,
            "port": port,
            "mode": "locked",
            "https_url": f"https://{domain}",
        }
        for name, domain, port in (("default", "web.boxd.test", 3000), ("api", "api.web.boxd.test", 9001))
    ]
    await boxd("machine", "proxy", "set-port", "--vm=web", "--port=auto")
    assert "auto (8000)" in (await boxd("machine", "proxy", "ls")).text
    assert (await boxd("machine", "proxy", "delete", "api", "--vm", "web")).status == 0
    assert len((await boxd("machine", "proxy", "ls", "--json")).json) == 1


@pytest.mark.parametrize(
    ("port", "begin"),
    [
        (8443, "https://api.web.boxd.test:8443 leads"),
        (0, "HTTPS is off; once it is on, api.web.boxd.test leads"),
    ],
)
async def test_a_new_route_is_told_with_the_port_of_https(boxd, web, service, port, begin):
    service.https_port = port
    made = await boxd("machine", "proxy", "new", "api", "--vm", "web", "--port", "9000")
    assert made.text.strip() == f"{begin} to port 9000 of machine web"
    assert ("web.boxd.test:8443" if port else "none, HTTPS is off") in (await boxd("machine", "proxy", "ls")).text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("new", "api", "--vm=web", "--port=1"), "machine 'web' already has a route 'api'; it was not changed"),
        (("new", "-x", "--vm=web", "--port=1"), None),
        (("new", "default", "--vm=web", "--port=1"), "'default' is a machine's own route"),
        (("new", "a_b", "--vm=web", "--port=1"), "a route's name has 1 to 63 characters"),
        (("set-port", "api", "--vm=web", "--port=auto"), "only a machine's own route finds its port by itself"),
        (("set-port", "api", "--vm=web", "--port=70000"), "70000 is not a port"),
        (("set-port", "api", "--vm=web", "--port=-1"), "'-1' is not a port"),
        (("set-port", "nope", "--vm=web", "--port=1"), "route 'nope' not found on machine 'web'"),
        (("remove", "nope", "--vm=web"), "route 'nope' not found on machine 'web'"),
        (("remove", "default", "--vm=web"), "machine 'web' always has its own route"),
        (("list", "--vm=ghost"), "VM 'ghost' not found"),
    ],
)
async def test_what_is_wrong_with_a_route_is_said(boxd, web, arguments, sentence):
    await boxd("machine", "proxy", "new", "api", "--vm", "web", "--port", "9000")
    done = await boxd("machine", "proxy", *arguments)
    assert done.status == (2 if sentence is None else 1)
    assert sentence is None or sentence in done.err


async def test_a_port_is_exposed_for_tcp_udp_or_both_under_one_number(boxd, web):
    for flags, protocol in (
        (("--udp",), "udp"),
        ((), "udp"),
        (("--udp", "--tcp"), "both"),
        (("--tcp",), "tcp"),
        ((), "tcp"),
    ):
        done = await boxd("machine", "expose", "web", "53", *flags)
        assert done.text.strip() == f"exposed web.boxd.test:40000 -> 53 ({protocol})"
    assert [each["protocol"] for each in (await boxd("machine", "expose", "--list", "--json")).json] == ["tcp"]
    for wrong in ("0", "65536", "-1", "ssh"):
        refused = await boxd("machine", "expose", "web", wrong)
        assert refused.status == 2


async def test_three_ports_are_exposed_and_a_fourth_is_refused(boxd, web):
    first = await boxd("machine", "expose", "web", "5432")
    assert first.text.strip() == "exposed web.boxd.test:40000 -> 5432 (tcp)"
    assert (await boxd("machine", "expose", "web", "5432")).text == first.text
    for port in ("6379", "25"):
        assert (await boxd("machine", "expose", "web", port)).status == 0
    fourth = await boxd("machine", "expose", "web", "26")
    assert fourth.err.strip() == "error: machine 'web' has 3 of 3 exposed ports; remove one first"
    listed = (await boxd("machine", "expose", "--list", "--json")).json
    assert [(each["port"], each["public_port"]) for each in listed] == [(25, 40002), (5432, 40000), (6379, 40001)]
    await boxd("machine", "expose", "web", "5432", "--remove")
    assert (await boxd("machine", "expose", "web", "26", "--json")).json["public_port"] == 40000
    again = await boxd("machine", "expose", "web", "5432", "--remove")
    assert again.err.strip() == "error: port 5432 of machine 'web' is not exposed"
    assert (await boxd("machine", "expose", "web")).status == 2


async def test_a_restore_says_whom_it_made_wait(boxd, web, service):
    await boxd("machine", "checkpoint", "save", "web", "one")
    service.hold = Held(3, 120)
    done = await boxd("machine", "checkpoint", "restore", "web", "one", "-y")
    assert "held 3 connections, longest wait 120 ms" in done.text


async def test_the_root_certificate_is_printed(boxd, service):
    assert (await boxd("edge", "ca")).text == service.root_certificate
