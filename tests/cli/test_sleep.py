"""`boxd machine suspend`, `resume`, `hibernate`, `wake`, and the timers of `new`."""

from __future__ import annotations


async def test_suspend_and_resume_tell_how_long_they_took(boxd, web):
    done = await boxd("machine", "suspend", "web", "--json")
    assert done.json == {"name": "web", "id": web.id, "status": "standby", "suspend_us": 1234}
    again = await boxd("machine", "pause", "web")
    assert (again.status, again.text) == (0, "machine web is standby\n")
    assert (await boxd("machine", "resume", "web")).text == "machine web is running after 2.3 ms\n"
    assert (await boxd("machine", "resume", "web", "--json")).json["resume_us"] == 0


async def test_hibernate_and_wake(boxd, web):
    assert (await boxd("machine", "hibernate", "web", "--json")).json["status"] == "hibernated"
    shown = (await boxd("machine", "get", "web", "--json")).json
    assert (shown["status"], shown["resident_bytes"]) == ("hibernated", 0)
    refused = await boxd("machine", "suspend", "web")
    assert (refused.status, refused.err) == (
        1,
        "error: machine 'web' cannot be suspended while it is hibernated; wake it first\n",
    )
    assert (await boxd("machine", "wake", "web")).text == "machine web is running\n"
    assert (await boxd("machine", "get", "web", "--json")).json["resident_bytes"] > 0


async def test_timers_of_a_new_machine(boxd, service):
    done = await boxd("machine", "new", "lazy", "--auto-suspend-timeout", "60", "--auto-hibernate-timeout", "3600")
    assert done.status == 0
    shown = (await boxd("machine", "get", "lazy", "--json")).json
    assert (shown["auto_suspend"], shown["auto_hibernate"]) == ("60s", "3600s")
    assert (await boxd("machine", "new", "x", "--auto-suspend-timeout", "-1")).status == 2
