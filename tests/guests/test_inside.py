"""The same command inside a machine: no key, the machine it is typed in, and its own way back."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.api.conftest import SDK
from tests.lab import BOOTED, CACHE, GOLDEN, Daemon, run, tree

pytestmark = pytest.mark.guest

METADATA = "http://10.213.0.1:9002/v1/auth/token"
GET_TOKEN = f"curl -s {METADATA} | grep -o 'bxm_[A-Za-z0-9]*'"


def inside(daemon: Daemon, line: str, machine: str = GOLDEN) -> subprocess.CompletedProcess[str]:
    """A shell line in the machine, whatever its end."""
    done = daemon.boxd("machine", "exec", machine, "--", "bash", "-c", line, check=False)
    print(f"$ {line}\n{done.stdout}{done.stderr}-> {done.returncode}")
    return done


def ok(daemon: Daemon, line: str, machine: str = GOLDEN) -> str:
    done = inside(daemon, line, machine)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_need_no_key_and_mean_the_machine_they_are_typed_in(daemon: Daemon) -> None:
    began = time.monotonic()
    assert "boxd" in ok(daemon, "boxd version")
    print(f"the first command: {time.monotonic() - began:.2f} s")
    began = time.monotonic()
    assert json.loads(ok(daemon, "boxd info --json"))["name"] == GOLDEN
    print(f"the next one: {time.monotonic() - began:.2f} s")
    assert [each["name"] for each in json.loads(ok(daemon, "boxd machine list --json"))] == [GOLDEN]
    assert json.loads(ok(daemon, "boxd machine get --json"))["name"] == GOLDEN

    saved = json.loads(ok(daemon, "boxd --json machine checkpoint save one"))
    assert (saved["machine"], saved["name"], saved["status"]) == (GOLDEN, "one", "ready")
    listed = json.loads(ok(daemon, "boxd machine checkpoint ls --json"))
    assert [each["name"] for each in listed] == [BOOTED, "one"]
    removed = inside(daemon, "boxd machine checkpoint rm one </dev/null")
    assert removed.returncode == 2 and "-y" in removed.stderr
    asked = 'python3 -c \'import pty; pty.spawn(["boxd", "machine", "checkpoint", "rm", "one"])\''
    answer = ok(daemon, f"(sleep 3; echo y; sleep 2) | {asked}")
    assert f"Remove checkpoint 'one' of machine '{GOLDEN}'" in answer and "was removed" in answer
    assert ok(daemon, "boxd machine label role=web; boxd machine label --json").strip().endswith('"role": "web"\n}')

    refused = inside(daemon, "boxd machine remove -y")
    assert refused.returncode == 1 and "--self" in refused.stderr
    assert inside(daemon, "boxd daemon run").returncode == 2
    assert "--api-url" in inside(daemon, "boxd --api-url http://127.0.0.1:1 ls").stderr
    keys = inside(daemon, "boxd auth keys create x")
    assert keys.returncode == 2
    assert inside(daemon, "boxd machine get nothing-like-it").returncode == 1
    assert inside(daemon, "echo lost >&2; boxd machine exec golden -- sh -c 'exit 7'").returncode == 7
    assert ok(daemon, f"echo through | boxd machine exec {GOLDEN} -- cat") == "through\n"
    assert ok(daemon, "COMP_WORDS='boxd machine check' COMP_CWORD=-1 _BOXD_COMPLETE=bash_complete boxd") == (
        "plain,checkpoint\n"
    )


def wait_for(daemon: Daemon, path: str, machine: str = GOLDEN) -> str:
    """A file's content, once it is there and complete (ends in a line)."""
    deadline = time.monotonic() + 120
    while True:
        done = daemon.boxd("machine", "exec", machine, "--", "cat", path, check=False)
        if done.returncode == 0 and done.stdout.endswith("\n"):
            return done.stdout
        assert time.monotonic() < deadline, done
        time.sleep(0.5)


def in_background(daemon: Daemon, line: str) -> None:
    """Start something in the machine that nobody outside waits for."""
    detached = f"nohup setsid bash -c {shlex.quote(line)} >/dev/null 2>&1 </dev/null &"
    daemon.boxd("machine", "exec", GOLDEN, "--", "bash", "-c", detached)


def test_a_machine_goes_back_by_itself_and_nothing_in_it_is_confused(daemon: Daemon) -> None:
    # The command that saves is captured while it waits: in the restored machine it ends, with a word.
    in_background(daemon, "boxd machine checkpoint save mine >out 2>err; echo ended $? >ends")
    assert wait_for(daemon, "ends") == "ended 0\n"
    ok(daemon, "touch later; rm ends; cat out; sync")
    gone = inside(daemon, "boxd machine checkpoint restore mine -y; echo still here >survived")
    assert gone.returncode == 125
    assert wait_for(daemon, "ends") == "ended 125\n"
    assert "restored" in ok(daemon, "cat err; test ! -e later; test ! -e survived")
    assert json.loads(ok(daemon, "boxd info --json"))["status"] == "running"
    assert ok(daemon, "pgrep -fc 'usr/bin/[b]oxd' || true").strip() == "0"


def test_a_guarded_command_is_undone_and_its_script_goes_on_in_the_restored_machine(daemon: Daemon) -> None:
    ok(daemon, "mkdir -p work; echo good >work/state")
    in_background(
        daemon, 'cd work; boxd machine guard -- "echo bad >state; exit 3" >../out 2>../err; echo guard $? >../ends'
    )
    assert wait_for(daemon, "ends") == "guard 3\n"
    assert ok(daemon, "cat work/state") == "good\n"
    assert f"machine {GOLDEN} is back at checkpoint guard-" in ok(daemon, "cat err")
    done = inside(daemon, 'cd work; boxd machine guard -- "pwd; echo better >state"')
    assert done.returncode == 0 and done.stdout == "/home/boxd/work\n"
    assert ok(daemon, "cat work/state") == "better\n"
    names = [each["name"] for each in daemon.json("machine", "checkpoint", "list", GOLDEN)]
    assert names == [BOOTED]
    # From outside: the command's own status, and the machine back where it was.
    failed = daemon.boxd("machine", "guard", GOLDEN, "--json", "--", "echo worse >work/state; exit 9", check=False)
    assert failed.returncode == 9 and json.loads(failed.stdout)["rolled_back"] is True
    assert ok(daemon, "cat work/state") == "better\n"
    # A daemon that is killed meanwhile: the next one takes the machine back, and its script is told.
    risky = "echo worst >work/state; echo on >work/on; sleep 600"
    in_background(daemon, f'boxd machine guard -- "{risky}" 2>err; echo guard $? >end')
    wait_for(daemon, "work/on")
    daemon.restart(signal.SIGKILL)
    assert wait_for(daemon, "end") == "guard 125\n"
    assert f"machine {GOLDEN} is back at checkpoint guard-" in ok(daemon, "cat err")
    assert ok(daemon, "cat work/state") == "better\n"
    assert [each["name"] for each in daemon.json("machine", "checkpoint", "list", GOLDEN)] == [BOOTED]


def test_copies_begin_and_end_in_the_machine_they_are_typed_in(daemon: Daemon) -> None:
    ok(daemon, "mkdir -p a/b; echo text >a/b/f; ln -s f a/b/l; chmod +x a/b/f")
    ok(daemon, f"cd a && boxd machine cp -r b {GOLDEN}:/tmp/copy && diff -r b /tmp/copy && test -x /tmp/copy/f")
    assert ok(daemon, f"echo piped | boxd machine cp - {GOLDEN}:piped && boxd machine cp ~/piped -").endswith(
        "piped\n"
    )


@pytest.fixture(scope="module")
def wheels() -> Path:
    """The published SDK and what it needs, for the Python of the guest; fetched once and kept."""
    home = CACHE / "wheels-3.13"
    ready = home / "ready"
    if not ready.exists():
        places = [word for name in ("2_28", "2_17") for word in ("--platform", f"manylinux_{name}_x86_64")]
        places += ["--platform", "manylinux2014_x86_64"]
        wanted = ["--python-version", "3.13", "--only-binary=:all:", *places, "-d", home / "all"]
        run(sys.executable, "-m", "pip", "download", "-q", SDK, *wanted)
        ready.touch()
    return home / "all"


SDK_SCRIPT = """
import time
began = time.monotonic()
from boxd import Boxd
print("imported", time.monotonic() - began)
client = Boxd()
(machine,) = client.machines.list()
print("answered", time.monotonic() - began)
assert machine.name == "golden", machine
assert client.machines.exec("golden", "echo hello").stdout == "hello\\n"
client.machines.checkpoints.create("golden", "by-sdk")
while client.machines.checkpoints.list("golden")[-1].status == "pending":
    time.sleep(0.2)
print("checkpoints", [each.name for each in client.machines.checkpoints.list("golden")])
"""


def test_the_published_sdk_needs_no_arguments(daemon: Daemon, wheels: Path) -> None:
    packed = wheels.parent / "wheels.tar"
    run("tar", "-C", wheels, "-cf", packed, ".")
    daemon.boxd("machine", "cp", packed, f"{GOLDEN}:wheels.tar")
    site = "$(python3 -m site --user-site)"
    ok(daemon, f"mkdir -p wheels {site}; tar -C wheels -xf wheels.tar")
    ok(daemon, f"for w in wheels/*.whl; do python3 -m zipfile -e $w {site}; done")
    (wheels.parent / "try.py").write_text(SDK_SCRIPT)
    daemon.boxd("machine", "cp", wheels.parent / "try.py", f"{GOLDEN}:try.py")
    assert "checkpoints ['booted', 'by-sdk']" in ok(daemon, "python3 try.py")


def test_an_isolated_machine_has_neither_command_nor_metadata(daemon: Daemon) -> None:
    assert "local 10.213.0.1 dev lo" in ok(daemon, "ip route show table 9002; ip rule; networkctl status eth0")
    assert ok(daemon, f"curl -s -o /dev/null -w '%{{http_code}}' {METADATA}") == "200"
    daemon.end()
    with closing(sqlite3.connect(daemon.home / "boxd.db")) as store:
        store.execute("UPDATE machines SET isolated = 1")
        store.commit()
    daemon.start()
    deadline = time.monotonic() + 60
    while inside(daemon, "ss -ltn | grep -q :9002").returncode == 0:
        assert time.monotonic() < deadline, "the doors are not shut"
        time.sleep(0.5)
    assert inside(daemon, f"curl -s -m 5 {METADATA}").returncode in (7, 28)  # nobody is there
    refused = inside(daemon, "boxd machine list")
    assert refused.returncode == 125 and "isolated" in refused.stderr
    assert daemon.json("machine", "get", GOLDEN)["isolated"] == "yes"


SECRET = re.compile(rb"bx[dmt]_[A-Za-z0-9]{40}")


def secrets_in(file: Path) -> Iterator[bytes]:
    """What looks like a key or a token; holes are passed over, and so is a file that has just gone."""
    with suppress(FileNotFoundError), file.open("rb") as stream:
        size, position = os.fstat(stream.fileno()).st_size, 0
        while position < size:
            try:
                position = os.lseek(stream.fileno(), position, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(stream.fileno(), position, os.SEEK_HOLE)
            while position < end:
                yield from SECRET.findall(os.pread(stream.fileno(), min(1 << 24, end - position) + 64, position))
                position += 1 << 24


def command_lines() -> set[bytes]:
    """Those of all processes of this host."""
    lines = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            lines.add((process / "cmdline").read_bytes())
    return lines


def while_commands_run(daemon: Daemon) -> set[bytes]:
    """The command lines of the host while one command of the user's and one of the machine's wait for each other."""
    line = f"boxd machine exec {GOLDEN} -- sh -c 'echo on >waits; until test -e enough; do sleep 0.2; done'"
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(ok, daemon, line)
        wait_for(daemon, "waits")
        found = command_lines()
        ok(daemon, "touch enough")
        waiting.result(timeout=120)
    assert [text for text in found if b"until test -e enough" in text], "the commands are not among them"
    return found


def test_no_credential_is_left_lying_about(daemon: Daemon) -> None:
    """Root in the guest asks for a token; it opens nothing from outside, and the host keeps neither it nor keys."""
    # A process of the guest holds it all the time, so that what is saved has it.
    held = f"token=$({GET_TOKEN}); echo $token >token; until test -e enough; do sleep 0.5; done"
    in_background(daemon, f"sudo bash -c {shlex.quote(held)}")
    token = wait_for(daemon, "token").strip()
    assert SECRET.fullmatch(token.encode()), token
    listed = daemon.boxd(
        "machine", "list", check=False, env=daemon.env | {"BOXD_BASE_URL": daemon.url, "BOXD_TOKEN": token}
    )
    assert listed.returncode == 1 and token not in listed.stderr
    ok(daemon, "boxd machine checkpoint save seen")
    lines = while_commands_run(daemon)
    assert not [text for text in lines if daemon.key.encode() in text or token.encode() in text]
    secrets = {daemon.key, token}
    assert not [secret for secret in secrets if secret in daemon.log]
    holders: set[str] = set()
    for file, status in tree(daemon.home):
        if not stat.S_ISREG(status.st_mode) or file.name in ("admin.key", "config.json"):
            continue
        found = set(secrets_in(file))
        assert daemon.key.encode() not in found, file
        if token.encode() in found:
            holders.add(file.name)
    # What the guest itself held is in what it was: there the search finds it, and nowhere else.
    assert "memory.img" in holders and holders <= {"memory.img", "disk.raw"}, holders


def test_a_copy_is_itself_at_once_and_its_parents_token_is_nothing_to_it(daemon: Daemon) -> None:
    ok(daemon, f"{GET_TOKEN} >token")
    in_background(daemon, "boxd machine fork twin >out 2>err; echo fork $? >ends")
    assert wait_for(daemon, "ends") == "fork 0\n"
    assert "name:   twin\n" in ok(daemon, "cat out err")
    # The command that waited is in the copy as well. Its outcome is the parent's alone: here it ends, with a word.
    assert wait_for(daemon, "ends", "twin") == "fork 125\n"
    assert ok(daemon, "cat out err", "twin").startswith("error: the connection to boxd ended before the command did")
    assert json.loads(ok(daemon, "boxd info --json", "twin"))["name"] == "twin"
    assert ok(daemon, "echo $BOXD_VM_NAME; hostname", "twin") == "twin\ntwin\n"
    assert ok(daemon, f"test $({GET_TOKEN}) != $(cat token) && echo another", "twin") == "another\n"
    removed = ok(daemon, "boxd machine remove --self twin", "twin")
    assert "machine twin is being removed" in removed
    deadline = time.monotonic() + 60
    while "twin" in daemon.boxd("machine", "list").stdout:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert inside(daemon, "boxd machine remove --self other").returncode == 1
