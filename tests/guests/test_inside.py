"""The same command inside a machine: no key, the machine it is typed in, and its own way back."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from tests.lab import BOOTED, GOLDEN, Daemon

pytestmark = pytest.mark.guest


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
