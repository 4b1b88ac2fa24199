"""All other commands: output forms, confirmations, wrong usage, copying."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys

import pytest

from openboxd.model import GIB, Size
from tests.cli.conftest import BOXD

HEAVY = {"grpc", "google", "numpy", "sqlalchemy", "alembic", "rich", "cryptography"}


def test_help_loads_nothing_heavy():
    program = "import sys; import openboxd.cli.main; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert not HEAVY & set(loaded.split())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([BOXD, "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"boxd --help took {1000 * used:.0f} ms of processor time")


def test_the_short_name_says_whose_it_is():
    shown = subprocess.run([BOXD, "ls", "--help"], check=True, capture_output=True, text=True).stdout
    assert "List the machines ('boxd machine list'): your own" in shown


def commands(group, path=()):
    import click

    for name, command in group.commands.items():
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


BARE = {("machine", "logs"), ("machine", "connect"), ("completion",), ("connect",), ("daemon", "run")}
"""What they print has no JSON form."""


async def test_every_command_has_help_and_json(boxd):
    from openboxd.cli.main import cli

    for path in commands(cli):
        done = await boxd(*path, "--help")
        assert done.status == 0, path
        assert ("Print one JSON document" not in done.text) == (path in BARE), path


@pytest.mark.parametrize(
    "argv",
    [
        ["machine", "logs", "web", "--json"],
        ["--json", "machine", "logs", "web"],
        ["completion", "bash", "--json"],
        ["connect", "web", "--json"],
        ["daemon", "run", "--json"],
    ],
)
async def test_what_has_no_json_form_refuses_it(boxd, argv):
    done = await boxd(*argv)
    assert (done.status, done.out, "has no JSON form" in done.err) == (2, b"", True), done


# -- machines


async def test_new_waits_until_it_runs_and_tells_how_long_it_took(boxd, service):
    done = await boxd("machine", "new", "web", "--vcpu=1", "--memory", "2G", "--label", "role=web")
    assert done.status == 0, done.err
    assert done.text.split() == [
        "name:",
        "web",
        "status:",
        "running",
        "url:",
        "https://web.boxd.test",
        "boot:",
        "1.9s",
    ]
    machine = service.machine(None, "web")
    assert (machine.size.vcpu, machine.size.memory_bytes, machine.labels) == (1, 2 * GIB, {"role": "web"})


async def test_new_isolated_has_no_way_to_boxd_and_says_so(boxd, web):
    assert (await boxd("machine", "new", "alone", "--isolated")).status == 0
    assert (await boxd("machine", "get", "alone", "--json")).json["isolated"] == "yes"
    assert (await boxd("machine", "get", "web", "--json")).json["isolated"] == "no"
    assert (await boxd("snapshots", "save", "web", "base")).status == 0
    made = await boxd("machine", "new", "copy", "--from-snapshot", "base", "--isolated")
    assert made.status == 0, made.err
    assert (await boxd("machine", "get", "copy", "--json")).json["isolated"] == "yes"


async def test_new_without_waiting(boxd, service):
    service.boot.clear()
    data = (await boxd("machine", "new", "web", "--no-wait", "--json")).json
    assert data == {
        "name": "web",
        "id": service.machine(None, "web").id,
        "status": "starting",
        "url": "web.boxd.test",
        "https_url": "https://web.boxd.test",
        "source": "standalone",
        "boot": None,
    }


async def test_the_first_machine_of_a_size_is_told_to_boot(boxd, service):
    service.warm = [Size(1, 2 * GIB)]
    first = await boxd("machine", "new", "web", "--vcpu=1", "--memory=1G")
    assert first.err.startswith("this machine boots, which takes longer; later ones of its size start warm, once ")
    assert "boxd image list" in first.err
    for argv in (["--vcpu=1", "--memory=2G"], ["--json"]):
        assert (await boxd("machine", "new", *argv)).err == ""
    assert " 1x2.0G " in (await boxd("image", "list")).text
    assert (await boxd("image", "list", "--json")).json[0]["warm"] == [{"vcpu": 1, "memory_bytes": 2 * GIB}]


async def test_new_tells_why_a_machine_did_not_start(boxd, service):
    service.fail_boot = "the guest did not answer within 180 s"
    done = await boxd("machine", "new", "web")
    assert (done.status, done.out) == (1, b"")
    assert done.err == "error: machine 'web' did not start, it is failed: the guest did not answer within 180 s\n"


async def test_new_on_a_terminal_suggests_a_name(boxd, service):
    status, shown = await boxd.on_terminal("machine", "new", until=b"]: ", reply=b"\n")
    assert status == 0, shown
    assert service.machine(None, "brave-otter-1").status == "running"


async def test_list_and_get(boxd, web):
    row = {"name": "web", "status": "running", "url": "web.boxd.test", "source": "standalone", "sharing": "private"}
    for argv in (["ls", "--json"], ["--json", "ls"], ["machine", "--json", "list"], ["machine", "ls", "--json"]):
        (listed,) = (await boxd(*argv)).json
        assert row.items() <= listed.items()
    more = {"id": web.id, "vcpu": 2, "memory_bytes": GIB, "image": "debian", "owner": "Owner"}
    assert more.items() <= listed.items() and listed["created_at"].endswith("Z")
    data = (await boxd("machine", "get", web.id, "--json")).json
    assert row.items() <= data.items()
    assert (data["id"], data["vcpu"], data["memory_bytes"]) == (web.id, 2, GIB)
    for key in ("ssh", "public_ip", "domains", "auto_suspend", "auto_hibernate", "networks", "isolated", "source"):
        assert isinstance(data[key], str), key
    text = (await boxd("ls")).text.splitlines()
    assert text[0].split() == ["NAME", "STATUS", "VCPU", "MEMORY", "IMAGE", "AGE", "URL"]
    assert text[1].split()[:2] == ["web", "running"]


@pytest.mark.parametrize(
    ("port", "url", "shown"),
    [
        (443, "https://web.boxd.test", "https://web.boxd.test"),
        (8443, "https://web.boxd.test:8443", "https://web.boxd.test:8443"),
        (0, "", "none, HTTPS is off"),
    ],
)
async def test_the_url_of_a_machine_is_one_that_can_be_opened(boxd, service, port, url, shown):
    service.https_port = port
    for argv in (["new", "web"], ["get", "web"], ["fork", "web"], ["list"]):
        want = shown.replace("//web", "//web-fork") if argv[0] == "fork" else shown
        text = (await boxd("machine", *argv)).text
        assert re.search(rf"{re.escape(want)}$", text, re.MULTILINE), text
    (row, _) = sorted((await boxd("machine", "list", "--json")).json, key=lambda each: each["name"])
    assert (row["url"], row["https_url"]) == ("web.boxd.test", url)


async def test_an_empty_list_is_an_empty_array(boxd):
    assert (await boxd("ls", "--json")).json == []


async def test_an_unknown_machine_has_the_known_words(boxd):
    for argv in (["get"], ["start"], ["stop"], ["reboot"], ["remove", "-y"], ["checkpoint", "list"]):
        done = await boxd("machine", *argv, "ghost", "--json")
        assert (done.status, done.out, done.err) == (1, b"", "error: VM 'ghost' not found\n"), argv


async def test_stop_start_reboot(boxd, web):
    for verb, status in (("stop", "stopped"), ("start", "running"), ("reboot", "running")):
        data = (await boxd("machine", verb, "web", "--json")).json
        assert data == {"name": "web", "id": web.id, "status": status}


async def test_a_start_that_boots_says_so(boxd, web):
    assert (await boxd("machine", "start", "web")).err == ""
    await boxd("machine", "stop", "web")
    told = (await boxd("machine", "start", "web")).err
    assert told == "machine web boots from its disk, which takes longer than waking up\n"


# -- checkpoints


async def test_save_prints_pause_duration_and_sizes(boxd, web):
    done = await boxd("machine", "checkpoint", "save", "web", "two")
    assert "paused for 24.3ms" in done.text
    assert "took 1.2s" in done.text
    assert "7.0M" in done.text
    assert "203.0M" in done.text
    rows = (await boxd("machine", "checkpoint", "list", "web")).text.splitlines()
    assert rows[0].split() == ["NAME", "STATUS", "AGE", "SIZE", "SHARED", "PAUSE", "TOOK", "FROM", "BY"]
    assert rows[1].split()[:2] == ["one", "ready"]
    assert rows[2].split()[:3] == ["*", "two", "ready"]


async def test_the_json_of_checkpoints(boxd, web):
    saved = (await boxd("machine", "checkpoint", "save", "web", "two", "--json")).json
    listed = (await boxd("machine", "checkpoint", "ls", "web", "--json")).json
    assert listed[1] == saved
    assert set(saved) >= {
        "checkpoint_id",
        "name",
        "machine",
        "status",
        "size_bytes",
        "total_bytes",
        "shared_bytes",
        "created_at",
        "created_by",
        "available",
        "failure_reason",
    }
    assert saved["total_bytes"] == saved["size_bytes"] + saved["shared_bytes"]
    assert (saved["machine"], saved["status"], saved["parent"], saved["is_current"]) == ("web", "ready", "one", True)
    assert saved["created_at"].endswith("Z")


async def test_verify_tells_what_is_damaged_and_where(boxd, web, service):
    await boxd("machine", "checkpoint", "save", "web", "two")
    done = await boxd("machine", "checkpoint", "verify", "web")
    assert done.text == (
        "checkpoint one on machine web is ok (210.0M read in 300ms)\n"
        "checkpoint two on machine web is ok (210.0M read in 300ms)\n"
    )
    service.damaged.add("two")
    done = await boxd("machine", "checkpoint", "verify", "web", "two")
    assert done.status == 1
    assert "two on machine web is damaged" in done.text
    assert "  disk.raw, bytes 1048576 to 2097152, is not what it was" in done.text
    assert done.err == "error: damaged on machine 'web': two; remove what is damaged and save again\n"
    done = await boxd("machine", "checkpoint", "verify", "web", "--json")
    assert [(each["checkpoint"], each["verdict"]) for each in done.json] == [("one", "ok"), ("two", "damaged")]
    assert done.json[1]["damages"] == [
        {"file": "disk.raw", "start": 1048576, "end": 2097152, "text": "is not what it was"}
    ]
    done = await boxd("machine", "checkpoint", "verify", "web", "three")
    assert (done.status, done.err) == (
        1,
        "error: checkpoint 'three' not found on machine 'web'\n"
        "hint: 'boxd machine checkpoint list web' shows what there is\n",
    )


async def test_events_tell_who_did_what_and_how_it_ended(boxd, web):
    rows = (await boxd("machine", "events", "web")).text.splitlines()
    assert rows[0].split() == ["TIME", "WHAT", "OUTCOME", "TOOK", "BY", "ERROR"]
    assert rows[1].split()[2:] == ["start", "ok", "1.9s", "Owner", "-"]
    assert rows[-1].endswith("QEMU was killed by signal 9") and " boxd " in rows[-1]
    (last,) = (await boxd("machine", "events", "web", "-n", "1", "--json")).json
    assert (last["operation"], last["outcome"], last["actor"]) == ("run ended", "failed", "")


async def test_save_without_waiting_and_a_save_that_fails(boxd, web, service):
    service.save.clear()
    data = (await boxd("machine", "checkpoint", "save", "web", "two", "--no-wait", "--json")).json
    assert (data["status"], data["available"]) == ("pending", False)
    service.save.set()
    await service.checkpoint_done(None, "web", "two")
    service.fail_save = "2 GiB are free and 8 GiB are needed"
    done = await boxd("machine", "checkpoint", "save", "web", "three", "--json")
    assert (done.status, done.json["status"], done.json["failure_reason"]) == (1, "failed", service.fail_save)
    assert done.err == f"error: checkpoint 'three' on machine 'web' was not saved: {service.fail_save}\n"


async def test_save_goes_on_without_its_caller(boxd, web, service):
    service.save.clear()
    process = await boxd.start("machine", "checkpoint", "save", "web", "two")
    await service.until(lambda: len(service._checkpoints[web.id]) == 2)
    process.kill()
    await process.communicate()
    service.save.set()
    assert (await service.checkpoint_done(None, "web", "two")).checkpoint.status == "ready"


async def test_restore_takes_files_back(boxd, web):
    await boxd("machine", "exec", "web", "--", "touch", "later")
    done = await boxd("machine", "checkpoint", "restore", "web", "one", "--yes", "--json")
    assert done.json == {
        "machine": "web",
        "checkpoint": "one",
        "status": "running",
        "held_connections": 0,
        "longest_wait_ms": 0,
    }
    assert (await boxd("machine", "exec", "web", "--", "ls")).text == ""
    done = await boxd("machine", "checkpoint", "restore", "-y", "web", "none")
    assert (done.status, done.err) == (
        1,
        "error: checkpoint 'none' not found on machine 'web'\nhint: did you mean 'one'?\n",
    )


# -- confirmations

ASKING = [
    (["machine", "checkpoint", "restore", "web", "one"], b"Restore checkpoint 'one' on machine 'web'?"),
    (["machine", "checkpoint", "remove", "web", "one"], b"Remove checkpoint 'one' of machine 'web'?"),
    (["machine", "remove", "web"], b"Remove machine 'web' with its disk and its 1 checkpoint?"),
]


def untouched(service) -> bool:
    machine = service.machine(None, "web")
    return service.restores == 0 and len(service._checkpoints[machine.id]) == 1


@pytest.mark.parametrize(("argv", "question"), ASKING)
@pytest.mark.parametrize("kind", ["null", "pipe"])
async def test_without_a_terminal_nothing_is_done(boxd, web, service, argv, question, kind):
    done = await boxd(*argv, feed=b"y\n" if kind == "pipe" else None)
    assert (done.status, done.out, done.err.count("\n")) == (2, b"", 1)
    assert "-y" in done.err
    assert untouched(service)


@pytest.mark.parametrize(("argv", "question"), ASKING)
@pytest.mark.parametrize(("reply", "status"), [(b"n\n", 1), (b"\n", 1), (b"\x04", 1), (b"\x03", 130)])
async def test_anything_but_yes_does_nothing(boxd, web, service, argv, question, reply, status):
    got, shown = await boxd.on_terminal(*argv, until=b"[y/N] ", reply=reply)
    assert got == status, shown
    assert question in shown
    assert b"Traceback" not in shown
    assert untouched(service)


@pytest.mark.parametrize(("argv", "question"), ASKING)
@pytest.mark.parametrize("yes", ["typed", "-y", "--yes", "--confirm"])
async def test_yes_does_it(boxd, web, service, argv, question, yes):
    if yes == "typed":
        status, _ = await boxd.on_terminal(*argv, until=b"[y/N] ", reply=b"y\n")
    else:
        status = (await boxd(*argv, yes)).status
    assert status == 0
    gone = not service.machines(None)
    assert gone or not untouched(service)


# -- usage and errors


@pytest.mark.parametrize(
    "argv",
    [
        ["frob"],
        ["machine", "get"],
        ["machine", "list", "--bogus"],
        ["machine", "new", "web", "--memory", "lots"],
        ["machine", "new", "web", "--label", "bare"],
        ["machine", "cp", "a", "b"],
        ["machine", "exec", "web"],
        ["completion", "tcsh"],
    ],
)
async def test_wrong_usage_is_2_with_one_error_and_a_hint(boxd, argv):
    done = await boxd(*argv)
    lines = done.err.splitlines()
    assert (done.status, done.out, len(lines)) == (2, b"", 2), done
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("try 'boxd")


async def test_a_wrong_key_and_no_key(boxd):
    done = await boxd("ls", env={"BOXD_API_KEY": "bxd_wrong"})
    assert (done.status, done.err) == (1, "error: the API key is not valid\n")
    done = await boxd("ls", env={"BOXD_API_KEY": ""})
    assert done.status == 1
    assert "set BOXD_API_KEY" in done.err


async def test_a_reader_who_leaves_a_list_is_no_traceback(boxd, web):
    reader, writer = os.pipe()
    os.close(reader)
    process = await boxd.start("ls", stdout=writer)
    os.close(writer)
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, err) == (141, b"")


async def test_images_doctor_version(boxd):
    assert (await boxd("image", "build", "small", "--json")).json["name"] == "small"
    assert [row["name"] for row in (await boxd("image", "ls", "--json")).json] == ["debian", "small"]
    assert (await boxd("image", "rm", "small", "-y", "--json")).json == {"image": "small", "removed": True}
    shown = await boxd("version")
    assert shown.text.startswith("boxd ")
    assert (await boxd("--version")).text == shown.text
    for argv in (("--version", "--json"), ("--json", "--version")):
        assert (await boxd(*argv)).json == (await boxd("version", "--json")).json


async def test_completion(boxd, web):
    for shell in ("bash", "zsh", "fish"):
        assert "_BOXD_COMPLETE" in (await boxd("completion", shell)).text
    hint = {"_BOXD_COMPLETE": "bash_complete", "COMP_WORDS": "boxd machine get w", "COMP_CWORD": "3"}
    assert "web" in (await boxd(env=hint)).text
    words = "boxd machine checkpoint restore web o"
    hint = {"_BOXD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "5"}
    assert "one" in (await boxd(env=hint)).text
    assert BOXD.exists()
