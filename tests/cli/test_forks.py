"""`boxd machine fork`: output forms, names, checkpoints."""

from __future__ import annotations


async def test_a_fork_says_what_it_became(boxd, web):
    done = await boxd("machine", "fork", "web")
    assert done.status == 0, done.err
    assert "name:   web-fork\n" in done.text and "source: fork/web\n" in done.text
    again = await boxd("--json", "machine", "fork", "web", "--label", "tier=2")
    found = again.json
    assert (found["name"], found["status"], found["source"]) == ("web-fork-2", "running", "fork/web")
    assert sorted(found) == ["boot", "id", "name", "source", "status", "url"]
    named = await boxd("machine", "fork", "web", "shop", "--json")
    assert named.json["name"] == "shop"


async def test_a_fork_from_a_checkpoint(boxd, web):
    assert (await boxd("machine", "checkpoint", "save", "web", "good")).status == 0
    done = await boxd("machine", "fork", "web", "old", "--from-checkpoint", "good", "--json")
    assert (done.status, done.json["name"]) == (0, "old")
    none = await boxd("machine", "fork", "web", "older", "--from-checkpoint", "ghost")
    assert (none.status, none.out) == (1, b"")
    assert none.err.startswith("error: checkpoint 'ghost' not found on machine 'web'")


async def test_a_fork_of_nothing_and_to_a_taken_name(boxd, web):
    assert (await boxd("machine", "fork", "ghost")).err == "error: VM 'ghost' not found\n"
    taken = await boxd("machine", "fork", "web", "web")
    assert taken.status == 1 and "exists already" in taken.err
