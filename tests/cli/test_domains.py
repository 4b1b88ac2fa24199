"""`boxd machine domain`, as people and scripts use it."""

from __future__ import annotations

import pytest


@pytest.fixture
async def web(boxd):
    await boxd("machine", "new", "web", "--vcpu=1", "--memory", "2G")


async def test_a_domain_is_made_listed_and_removed(boxd, web):
    made = await boxd("machine", "domain", "add", "www.example.org", "--vm", "web")
    assert made.text.strip() == "https://www.example.org leads to machine web"
    listed = (await boxd("machine", "domain", "ls", "--json")).json
    row = {"domain": "www.example.org", "vm": "web", "status": "active", "error": ""}
    assert listed == [row | {"https_url": "https://www.example.org"}]
    assert "www.example.org" in (await boxd("machine", "domain", "list", "--vm", "web")).text
    assert (await boxd("machine", "domain", "list", "--vm", "other", "--json")).json == []
    assert (await boxd("machine", "get", "web", "--json")).json["domains"] == "www.example.org"
    gone = await boxd("machine", "domain", "rm", "www.example.org")
    assert gone.text.strip() == "domain www.example.org was removed"
    assert (await boxd("machine", "domain", "ls", "--json")).json == []


async def test_a_new_domain_is_told_with_the_port_of_https(boxd, web, service):
    service.https_port = 8443
    made = await boxd("machine", "domain", "add", "www.example.org", "--vm", "web")
    assert made.text.strip() == "https://www.example.org:8443 leads to machine web"
    service.https_port = 0
    again = await boxd("machine", "domain", "add", "example.net", "--vm", "web")
    assert again.text.strip() == "HTTPS is off; once it is on, example.net leads to machine web"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("new", "www.example.org", "--vm=other"), "domain 'www.example.org' leads to another machine already"),
        (("new", "web.boxd.test", "--vm=web"), "belongs to this host's own zone boxd.test"),
        (("new", "Example.org", "--vm=web"), "two or more labels of a-z 0-9 -"),
        (("new", "a.org", "--vm=ghost"), "VM 'ghost' not found"),
        (("remove", "a.org"), "domain 'a.org' not found"),
    ],
)
async def test_what_is_wrong_with_a_domain_is_said(boxd, web, arguments, sentence):
    await boxd("machine", "new", "other", "--vcpu=1", "--memory", "2G")
    await boxd("machine", "domain", "new", "www.example.org", "--vm", "web")
    done = await boxd("machine", "domain", *arguments)
    assert done.status == 1
    assert sentence in done.err
