"""`boxd snapshots`: output forms, versions, failures, confirmation, completion."""

from __future__ import annotations

import json

import pytest

MIB = 1024 * 1024


async def test_save_waits_and_says_what_it_cost(boxd, web):
    done = await boxd("snapshots", "save", "web", "base")
    assert done.status == 0, done.err
    assert done.text == (
        "version 1 of snapshot base is ready: the machine paused for 24ms, the save took 1.2s, "
        "7.0M of its own and 203.0M shared\n"
    )
    done = await boxd("--json", "snap", "save", "web", "base")
    found = done.json
    assert found["snapshot_id"].startswith("snap_") and found["machine"] == "web"
    assert (found["name"], found["version"], found["status"], found["size_bytes"]) == ("base", 2, "ready", 7 * MIB)
    assert (found["total_bytes"], found["shared_bytes"]) == (210 * MIB, 203 * MIB)


async def test_save_without_waiting(boxd, web, service):
    service.save.clear()
    done = await boxd("snapshots", "save", "web", "base", "--no-wait", "--json")
    assert (done.status, done.json["version"], done.json["status"]) == (0, 1, "pending")
    again = await boxd("snapshots", "save", "web", "base")
    assert again.status == 1
    assert (
        again.err == "error: machine 'web' is busy: save of snapshot 'base' is running; try again when it has ended\n"
    )
    service.save.set()


async def test_a_save_that_fails_tells_why_and_what_is_kept(boxd, web, service):
    service.fail_save = "the pool is full"
    first = await boxd("snapshots", "save", "web", "base", "--json")
    assert (
        first.status == 1 and first.json["status"] == "failed" and first.json["failure_reason"] == "the pool is full"
    )
    assert first.err == "error: version 1 of snapshot 'base' was not saved: the pool is full\n"
    service.fail_save = ""
    assert (await boxd("snapshots", "save", "web", "base")).status == 0
    service.fail_save = "the pool is full"
    second = await boxd("snapshots", "save", "web", "base")
    assert (second.status, second.out) == (1, b"")
    sentence = "version 2 of snapshot 'base' was not saved: the pool is full; version 1 is kept\n"
    assert second.err == f"error: {sentence}"
    for command in (("list",), ("get", "base")):
        listed = await boxd("snapshots", *command)
        assert (listed.status, listed.err) == (0, sentence)


async def test_list_and_get(boxd, web):
    empty = await boxd("snapshots", "list")
    assert empty.text.split() == ["NAME", "VERSION", "STATUS", "AGE", "SIZE", "SHARED", "MEMORY", "USED", "FROM"]
    assert "boxd snapshots save MACHINE SNAPSHOT" in empty.err
    assert (await boxd("snapshots", "list", "--json")).json == []
    await boxd("snapshots", "save", "web", "base")
    listed = await boxd("snap", "ls")
    row = listed.text.splitlines()[1].split()
    assert row[:3] == ["base", "v1", "ready"] and row[4:] == ["7.0M", "203.0M", "1.0G", "0", "web"]
    (found,) = (await boxd("snapshots", "list", "--json")).json
    known = {key: found[key] for key in ("name", "version", "status", "size", "used")}
    assert known == {"name": "base", "version": "v1", "status": "ready", "size": "7.0M", "used": "0"}
    got = await boxd("snapshots", "get", found["snapshot_id"], "--json")
    assert got.json == {**{key: found[key] for key in got.json}, "version": 1}
    shown = (await boxd("snapshots", "get", "base")).text
    assert "from machine: web" in shown and "7.0M of its own, 203.0M shared" in shown


async def test_what_is_not_there_is_said_in_the_known_words(boxd, web):
    for command in (("get", "ghost"), ("remove", "ghost", "-y")):
        done = await boxd("snapshots", *command)
        assert (done.status, done.err) == (1, "error: snapshot not found\n")
    done = await boxd("snapshots", "save", "ghost", "base")
    assert done.err.startswith("error: VM 'ghost' not found")
    done = await boxd("snapshots", "save", "web", "../base")
    assert (done.status, "a snapshot name has 1 to 63 characters" in done.err) == (1, True)


@pytest.mark.parametrize("flag", ["-y", "--yes", "--confirm"])
async def test_remove_asks(boxd, web, flag):
    await boxd("snapshots", "save", "web", "base")
    refused = await boxd("snapshots", "remove", "base")
    assert refused.status == 2 and "-y" in refused.err
    status, shown = await boxd.on_terminal("snapshots", "remove", "base", reply=b"\n", until=b"[y/N]")
    assert status == 1 and b"Remove snapshot 'base'" in shown
    done = await boxd("snapshots", "rm", "base", flag, "--json")
    assert (done.json["snapshot"], done.json["removed"]) == ("base", True)
    assert (await boxd("snapshots", "list", "--json")).json == []


async def test_one_in_use_stays(boxd, web, service):
    await boxd("snapshots", "save", "web", "base")
    service.snapshot_in_use = "copy"
    done = await boxd("snapshots", "remove", "base", "-y")
    assert done.status == 1
    assert done.err == (
        "error: snapshot 'base' was not removed: machine 'copy' is being made from it; "
        "try again when that has ended\n"
    )


async def test_verify_tells_what_is_damaged(boxd, web, service):
    assert "no snapshots that are ready" in (await boxd("snapshots", "verify")).err
    for name in ("base", "other"):
        await boxd("snapshots", "save", "web", name)
    good = await boxd("snapshots", "verify", "base")
    assert (good.status, good.text) == (0, "snapshot base is ok (210.0M read in 300ms)\n")
    service.damaged.add("other")
    both = await boxd("snapshots", "verify", "--json")
    assert both.status == 1 and "damaged: other; remove what is damaged and save again" in both.err
    assert [(each["snapshot"], each["verdict"]) for each in both.json] == [("base", "ok"), ("other", "damaged")]


async def test_a_machine_is_made_from_one(boxd, web, service):
    await boxd("snapshots", "save", "web", "base")
    done = await boxd("machine", "new", "copy", "--from-snapshot", "base", "--label", "a=b", "--json")
    assert (done.status, done.json["name"], done.json["status"]) == (0, "copy", "running"), done.err
    assert done.json["source"] == "snapshot/base:v1" and service.machine(None, "copy").labels == {"a": "b"}
    assert (await boxd("snapshots", "list", "--json")).json[0]["used"] == "1"
    clash = await boxd("machine", "new", "other", "--from-snapshot", "base", "--image", "debian")
    assert clash.status == 2 and "exclude each other" in clash.err


async def test_one_that_does_not_come_up_is_gone_and_its_maker_told_why(boxd, web, service):
    await boxd("snapshots", "save", "web", "base")
    service.fail_boot = "its guest has not become another machine"
    done = await boxd("machine", "new", "copy", "--from-snapshot", "base")
    assert (done.status, done.out) == (1, b"")
    assert done.err == (
        "error: machine 'copy' was not made from snapshot 'base' and is removed: "
        "its guest has not become another machine\n"
    )


async def test_names_are_completed(boxd, web):
    for name in ("base", "other"):
        await boxd("snapshots", "save", "web", name)
    line = "boxd snapshots remove b"
    environ = {"_BOXD_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": "-1"}
    assert "plain,base" in (await boxd(env=environ)).text.split()
    assert json.loads((await boxd("snapshots", "list", "--json")).out)[1]["name"] == "other"
