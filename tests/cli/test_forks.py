"""`boxd machine fork` and `boxd image warm`: output forms, names, checkpoints, sizes."""

from __future__ import annotations


async def test_a_fork_says_what_it_became(boxd, web):
    done = await boxd("machine", "fork", "web")
    assert done.status == 0, done.err
    assert "name:   web-fork\n" in done.text and "source: fork/web\n" in done.text
    again = await boxd("--json", "machine", "fork", "web", "--label", "tier=2")
    found = again.json
    assert (found["name"], found["status"], found["source"]) == ("web-fork-2", "running", "fork/web")
    assert sorted(found) == ["boot", "https_url", "id", "name", "source", "status", "url"]
    named = await boxd("machine", "fork", "web", "shop", "--json")
    assert named.json["name"] == "shop"


async def test_a_fork_from_a_checkpoint(boxd, web):
    assert (await boxd("machine", "checkpoint", "save", "web", "good")).status == 0
    done = await boxd("machine", "fork", "web", "old", "--from-checkpoint", "good", "--json")
    assert (done.status, done.json["name"]) == (0, "old")
    none = await boxd("machine", "fork", "web", "older", "--from-checkpoint", "ghost")
    assert (none.status, none.out) == (1, b"")
    assert none.err.startswith("error: checkpoint 'ghost' not found on machine 'web'")


async def test_a_fork_has_the_timers_of_its_source_unless_others_are_asked_for(boxd, web):
    for what, seconds in (("auto-suspend.timeout", "900"), ("auto-hibernate.timeout", "1800")):
        assert (await boxd("machine", "config", "set", "web", what, seconds)).status == 0
    asked = {
        "same": (),
        "never": ("--auto-suspend-timeout", "0", "--auto-hibernate-timeout", "0"),
        "other": ("--auto-suspend-timeout", "60"),
    }
    timers = {}
    for name, options in asked.items():
        done = await boxd("machine", "fork", "web", name, *options)
        assert done.status == 0, done.err
        found = (await boxd("machine", "get", name, "--json")).json
        timers[name] = (found["auto_suspend"], found["auto_hibernate"])
    assert timers == {"same": ("900s", "1800s"), "never": ("off", "off"), "other": ("60s", "1800s")}


async def test_a_fork_may_be_isolated(boxd, web):
    assert (await boxd("machine", "fork", "web", "alone", "--isolated")).status == 0
    assert (await boxd("machine", "get", "alone", "--json")).json["isolated"] == "yes"
    assert (await boxd("machine", "get", "web", "--json")).json["isolated"] == "no"


async def test_a_fork_of_nothing_and_to_a_taken_name(boxd, web):
    assert (await boxd("machine", "fork", "ghost")).err == "error: VM 'ghost' not found\n"
    taken = await boxd("machine", "fork", "web", "web")
    assert taken.status == 1 and "exists already" in taken.err


async def test_an_image_is_kept_warm(boxd, service):
    done = await boxd("image", "warm", "--vcpu", "1", "--memory", "1G")
    assert (done.status, done.text) == (0, "image debian is warm for this size\n"), done.err
    found = await boxd("image", "warm", "debian", "--json")
    assert found.json["name"] == "debian"
    assert (await boxd("image", "warm", "ghost")).err == "error: image 'ghost' not found; see: boxd image list\n"
    small = await boxd("image", "warm", "--memory", "1M")
    assert small.status == 1 and "at least 512 MiB" in small.err
