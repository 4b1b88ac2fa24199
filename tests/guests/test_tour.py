"""What a user does first, on real machines: the demo, a second machine, a shell, copies, a first start."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.guests import keeping
from tests.guests.terminal import Terminal
from tests.lab import BOOTED, BOXD, GOLDEN, Daemon, Lab

pytestmark = pytest.mark.guest

SCRIPTS = Path(__file__).parents[2] / "scripts"
CHECKPOINT = ("machine", "checkpoint")


def client(daemon: Daemon) -> dict[str, str]:
    """Environment of a program that talks to the daemon."""
    return daemon.env | {"BOXD_BASE_URL": daemon.url, "BOXD_API_KEY": daemon.key}


def refused(daemon: Daemon, *arguments: object) -> str:
    """The line of a command that must fail."""
    done = daemon.boxd(*arguments, check=False)
    assert done.returncode == 1, done
    return done.stderr


def test_the_demo_its_stop_and_a_start(daemon: Daemon) -> None:
    def demo(*more: str) -> str:
        argv = [sys.executable, SCRIPTS / "demo.py", "--machine", GOLDEN, *more]
        done = subprocess.run(argv, env=client(daemon), capture_output=True, text=True, timeout=280, check=False)
        assert done.returncode == 0, done
        return done.stdout

    story = demo()
    print(story)
    assert "everything is as captured" in story
    assert "WRONG" not in story
    boot = daemon.sh("cat /proc/sys/kernel/random/boot_id")
    assert f"machine {GOLDEN} is stopped" in demo("--stop")
    assert daemon.json("machine", "get", GOLDEN)["status"] == "stopped"
    daemon.boxd("machine", "start", GOLDEN)
    assert daemon.json("machine", "get", GOLDEN)["status"] == "running"
    assert daemon.sh("cat /proc/sys/kernel/random/boot_id") != boot
    assert json.loads(daemon.sh("python3 demo_guest.py look"))["rows"] == 1200  # its disk is the one that was stopped
    assert daemon.boxd("machine", "start", GOLDEN).returncode == 0  # harmless


def test_a_second_machine_its_own_checkpoints_and_its_removal(daemon: Daemon) -> None:
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "of-golden")
    ids = [path.name for path in (daemon.home / "pool/machines").glob("*/checkpoints/*")]
    assert len(ids) == 2  # that one, and the one that the machine came with
    began = time.monotonic()
    daemon.boxd("machine", "new", "second", "--vcpu", 1, "--memory", "512M")
    print(f"a second machine answers after {time.monotonic() - began:.0f} s")
    second = daemon.json("machine", "get", "second")
    boot = daemon.sh("cat /proc/sys/kernel/random/boot_id", "second")

    for reference in ("of-golden", BOOTED, *ids):
        for verb in ("restore", "remove"):
            for machine in ("second", second["id"]):
                line = refused(daemon, *CHECKPOINT, verb, machine, reference, "-y")
                assert line.splitlines() == [
                    f"error: checkpoint '{reference}' not found on machine 'second'",
                    "hint: 'boxd machine checkpoint list second' shows what there is",
                ]
    assert daemon.json(*CHECKPOINT, "list", "second") == []
    assert daemon.sh("cat /proc/sys/kernel/random/boot_id", "second") == boot

    daemon.boxd(*CHECKPOINT, "save", "second", "of-golden")  # the name is free on another machine
    daemon.boxd(*CHECKPOINT, "restore", "second", "of-golden", "-y")
    assert daemon.sh("hostname", "second") == "second\n"
    assert daemon.sh("hostname") == f"{GOLDEN}\n"

    directory = daemon.home / "pool/machines" / second["id"]
    assert len(list(directory.glob("checkpoints/*"))) == 1
    assert len(daemon.qemus()) == 2
    idle(daemon)
    daemon.boxd("machine", "remove", "second", "-y")
    assert not directory.exists()
    assert len(daemon.qemus()) == 1
    assert list((daemon.home / "pool/staging").iterdir()) == []
    assert [each["name"] for each in daemon.json("machine", "list")] == [GOLDEN]
    assert refused(daemon, *CHECKPOINT, "list", "second") == "error: VM 'second' not found\n"
    daemon.boxd("machine", "new", "second", "--vcpu", 1, "--memory", "512M", "--no-wait")  # the name is free
    daemon.boxd("machine", "remove", "second", "-y")  # and one that boots is removed as well
    assert len(daemon.qemus()) == 1
    assert daemon.sh("echo fine") == "fine\n"
    daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "of-golden", "-y")


def idle(daemon: Daemon) -> None:
    """What the daemon takes while two machines run and nobody asks for anything; told, not judged."""
    assert daemon.process is not None
    words = Path(f"/proc/{daemon.process.pid}/stat")
    ticks = [sum(map(int, words.read_text().rpartition(")")[2].split()[11:13]))]
    time.sleep(10)
    ticks.append(sum(map(int, words.read_text().rpartition(")")[2].split()[11:13])))
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    resident = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    share = (ticks[1] - ticks[0]) / os.sysconf("SC_CLK_TCK") / 10
    print(f"idle daemon with two machines: {100 * share:.1f} % of a core, {int(resident) / 1024:.0f} MiB")


def connected(daemon: Daemon) -> Terminal:
    terminal = Terminal([BOXD, "connect", GOLDEN], client(daemon) | {"TERM": "xterm"}, 24, 80)
    terminal.until("$ ")
    return terminal


def test_a_login_shell_follows_the_terminal_and_passes_its_status_on(daemon: Daemon) -> None:
    shell = connected(daemon)
    shell.type("stty size; whoami; pwd\n")
    shell.until("24 80\r\nboxd\r\n/home/boxd\r\n")
    shell.resize(40, 132)
    shell.type("until [ \"$(stty size)\" = '40 132' ]; do sleep 0.1; done; echo sized$((1 + 1))\n")
    shell.until("sized2")
    shell.type("echo begins$((1 + 1)); sleep 100\n")
    shell.until("begins2")
    shell.type("\x03")  # goes to what runs in the machine
    shell.until("$ ")
    shell.type("echo on$((2 + 2))\n")
    shell.until("on4")
    shell.type("exit 7\n")
    assert shell.end() == 7


def test_copies_both_ways(daemon: Daemon, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "below/empty").mkdir(parents=True)
    (tree / "below/größe").write_text("umlaut")
    (tree / "nothing").touch()
    (tree / "run").write_text("#!/bin/sh\necho ran\n")
    (tree / "run").chmod(0o755)
    for name, goal in (("below/up", "../run"), ("dangling", "no where\nat all"), ("room", "below")):
        (tree / name).symlink_to(goal)
    large = tree / "large"
    large.write_bytes(os.urandom(48 << 20))
    digest = hashlib.sha256(large.read_bytes()).hexdigest()

    began = time.monotonic()
    daemon.boxd("machine", "cp", "-r", tree, f"{GOLDEN}:kept")
    up = time.monotonic() - began
    assert daemon.sh("sha256sum <kept/large").split()[0] == digest
    assert daemon.sh("kept/run; ls -d kept/below/empty; cat kept/below/größe; stat -c %s kept/nothing") == (
        "ran\nkept/below/empty\numlaut0\n"
    )
    began = time.monotonic()
    daemon.boxd("machine", "cp", "-r", f"{GOLDEN}:kept", tmp_path / "back")
    down = time.monotonic() - began
    print(f"48 MiB: {48 / up:.0f} MiB/s in, {48 / down:.0f} MiB/s out")
    assert contents(tmp_path / "back") == contents(tree)
    assert "copy it with -r" in refused(daemon, "machine", "cp", tree, f"{GOLDEN}:")
    assert "is a directory" in refused(daemon, "machine", "cp", f"{GOLDEN}:kept", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    daemon.sh("mkfifo kept/pipe")
    done = daemon.boxd("machine", "cp", "-r", f"{GOLDEN}:kept", tmp_path / "back", check=False)
    assert (done.returncode, "kept/pipe: it is a named pipe" in done.stderr) == (1, True)
    daemon.boxd("machine", "cp", f"{GOLDEN}:kept/run", tmp_path)
    assert (tmp_path / "run").read_bytes() == (tree / "run").read_bytes()
    assert os.access(tmp_path / "run", os.X_OK)


def contents(tree: Path) -> dict[str, Any]:
    """Every path below, with what is in it."""
    return {
        str(path.relative_to(tree)): str(path.readlink())
        if path.is_symlink()
        else None
        if path.is_dir()
        else (path.read_bytes(), path.stat().st_mode & 0o100)
        for path in tree.rglob("*")
    }


def test_a_restore_is_a_reboot_into_the_captured_moment(daemon: Daemon) -> None:
    """Whatever was connected is cut and says why; what runs then is what ran at the save (S25, S27)."""
    first = keeping.start(daemon, pages=64)
    boot = daemon.sh("cat /proc/sys/kernel/random/boot_id")
    daemon.boxd(*CHECKPOINT, "save", GOLDEN, "here")
    command = subprocess.Popen(
        [BOXD, "machine", "exec", GOLDEN, "--", "sh", "-c", "echo started; exec sleep 300"],
        env=client(daemon),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    assert command.stdout.readline() == b"started\n"
    shell = connected(daemon)
    daemon.boxd(*CHECKPOINT, "restore", GOLDEN, "here", "-y")
    _, error = command.communicate(timeout=60)
    print(error.decode())
    assert command.returncode == 125
    assert error.startswith(b"error: ")
    assert GOLDEN.encode() in error and b"restored" in error
    assert shell.end() != 0
    assert daemon.boxd("machine", "exec", GOLDEN, "--", "pgrep", "-x", "sleep", check=False).stdout == ""
    assert daemon.sh("cat /proc/sys/kernel/random/boot_id") == boot  # no boot: the very kernel of the save
    assert keeping.state(daemon)["pid"] == first["pid"]


def test_a_command_that_runs_too_long_is_ended_with_its_whole_group(daemon: Daemon) -> None:
    asked = ("machine", "exec", GOLDEN, "--timeout", "2", "--", "sh", "-c", "sleep 301 & sleep 302")
    done = daemon.boxd(*asked, check=False)
    assert done.returncode == 124
    assert done.stderr == f"error: the command ran longer than 2 s on machine '{GOLDEN}' and was killed\n"
    daemon.sh("for i in $(seq 600); do pgrep -x sleep >/dev/null || exit 0; sleep 0.1; done; pgrep -ax sleep; exit 1")


@pytest.fixture
def empty(lab: Lab) -> Iterator[Daemon]:
    home = lab.mount / f"t-{secrets.token_hex(4)}"
    daemon = Daemon(home, extra={"BOXD_CONFIG": str(home / "user/config.json")})
    yield daemon
    daemon.close()
    shutil.rmtree(home)


def test_a_first_start_makes_an_owner_whose_boxd_just_works(empty: Daemon) -> None:
    empty.start()
    config = Path(empty.env["BOXD_CONFIG"])
    for path in (config, empty.home / "admin.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o700
    assert json.loads(config.read_text()) == {"base_url": empty.url, "api_key": empty.key}
    done = subprocess.run([BOXD, "ls", "--json"], env=empty.env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
    assert "image build" in refused(empty, "machine", "new", "web")
    key, written = empty.key, config.read_bytes()
    empty.restart(signal.SIGTERM)
    assert (empty.key, config.read_bytes()) == (key, written)


def test_setup_changes_nothing_twice() -> None:
    def state() -> tuple[str, str, int]:
        packages = subprocess.run(["dpkg-query", "-W"], capture_output=True, text=True, check=True).stdout
        python = subprocess.run([sys.executable, "-m", "pip", "freeze"], capture_output=True, text=True, check=True)
        return packages, python.stdout, (SCRIPTS.parent / ".venv/setup-stamp").stat().st_mtime_ns

    def setup() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPTS / "setup", "--dev", "--quiet"], capture_output=True, text=True, timeout=280, check=False
        )

    assert setup().returncode == 0
    before = state()
    began = time.monotonic()
    done = setup()
    print(f"setup with nothing to do: {time.monotonic() - began:.1f} s")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert state() == before
