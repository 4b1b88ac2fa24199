"""`boxd machine networks` and `boxd machine egress`."""

from __future__ import annotations


async def test_networks_are_shown_set_and_cleared(boxd, web):
    assert (await boxd("machine", "networks", "web", "--json")).json == {"machine": "web", "networks": []}
    assert "where the daemon has the bridge" in (await boxd("machine", "networks", "web")).text
    assert (await boxd("machine", "networks", "web", "db", "web")).text == "db\nweb\n"
    assert (await boxd("machine", "get", "web", "--json")).json["networks"] == "db,web"
    assert (await boxd("machine", "networks", "web", "--clear", "--json")).json["networks"] == []
    wrong = await boxd("machine", "networks", "web", "No Good")
    assert (wrong.status, wrong.err.startswith("error: 'No Good' is no network")) == (1, True)
    assert (await boxd("machine", "networks", "web", "db", "--clear")).status == 2


async def test_an_egress_list_is_shown_set_and_cleared(boxd, web):
    assert "has no list" in (await boxd("machine", "egress", "web")).text
    assert (await boxd("machine", "egress", "web", "Example.com", "*.test.org", "1.1.1.1")).text.split() == [
        "example.com",
        "*.test.org",
        "1.1.1.1",
    ]
    assert (await boxd("machine", "get", "web", "--json")).json["egress"] == ["example.com", "*.test.org", "1.1.1.1"]
    assert (await boxd("machine", "egress", "web", "--clear", "--json")).json == {"machine": "web", "egress": []}
    assert (await boxd("machine", "egress", "web", "https://x")).status == 1
