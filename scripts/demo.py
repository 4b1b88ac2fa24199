"""Shows a checkpoint at work, and fails loudly if anything is not as it was captured. Uses only the `boxd` command.

A machine runs a program that keeps a random pattern and a counter in memory only, beside files and a database, of
which some rows are in nothing but the write-ahead log. It is saved, wrecked and restored; then the same process must
go on counting from the captured value, its pattern whole, files and rows back.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openboxd.settings import default_home

BOXD = Path(sys.executable).with_name("boxd")
GUEST = Path(__file__).with_name("demo_guest.py")
CHECKPOINT = "before-wreck"
DAEMON_LIMIT = 60.0  # seconds until a started daemon must answer
SAVE_LIMIT = 300.0  # seconds until a save that is under way must have ended
TICK = 0.01  # seconds between two counts of the program in the machine


class Wrong(Exception):
    """Something is not as it must be."""


def boxd(*arguments: str, limit: float = 900.0) -> str:
    """Run the command and return its stdout; its progress and errors are shown as they come."""
    done = subprocess.run([BOXD, *arguments], stdout=subprocess.PIPE, text=True, timeout=limit, check=False)
    if done.returncode:
        raise Wrong(f"'boxd {' '.join(arguments)}' failed with status {done.returncode}")
    return done.stdout


def boxd_json(*arguments: str) -> Any:
    return json.loads(boxd(*arguments, "--json"))


def answers() -> bool:
    """Whether a daemon answers; quiet, because it is asked until one does."""
    return subprocess.run([BOXD, "ls", "--json"], capture_output=True, timeout=30, check=False).returncode == 0


def say(text: str) -> None:
    print(text, flush=True)


def check(what: str, *, holds: bool, detail: str) -> None:
    say(f"  {'ok   ' if holds else 'WRONG'} {what}: {detail}")
    if not holds:
        raise Wrong(f"{what} is not as captured")


# -- the daemon


def start_daemon(home: Path) -> None:
    """Start a daemon in the background, to be stopped by --stop."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = home / "daemon.log"
    say(f"starting the daemon (data in {home}, log in {log})")
    # A template of the default size would take longer than the whole demo, whose machine has another.
    environment = {"BOXD_WARM": "wanted", **os.environ}
    with log.open("ab") as stream:
        daemon = subprocess.Popen(
            [BOXD, "daemon", "run", "--home", home],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment,
            start_new_session=True,
        )
    pid_file(home).write_text(str(daemon.pid))
    end = time.monotonic() + DAEMON_LIMIT
    while not answers():
        if daemon.poll() is not None or time.monotonic() > end:
            tail = "\n".join(log.read_text().splitlines()[-10:])
            raise Wrong(f"the daemon does not answer; its log ends with:\n{tail}")
        time.sleep(0.2)


def pid_file(home: Path) -> Path:
    return home / "demo-daemon.pid"


def own_daemon(home: Path) -> int | None:
    """Pidfd of the daemon that an earlier demo started, if it still runs and is one."""
    try:
        pid = int(pid_file(home).read_text())
        descriptor = os.pidfd_open(pid)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return descriptor if b"daemon" in words and os.fsencode(home) in words else None


def stop(home: Path, machine: str) -> None:
    """Stop the demo's machine, and the daemon if a demo started it. Other machines run on."""
    others = []
    if answers():
        running = [each["name"] for each in boxd_json("ls") if each["status"] == "running"]
        others = [name for name in running if name != machine]
        if machine in running:
            boxd("machine", "stop", machine)
            say(f"machine {machine} is stopped")
    daemon = own_daemon(home)
    if daemon is None:
        say("no daemon that a demo started is running" + (f"; running on: {', '.join(others)}" if others else ""))
        return
    signal.pidfd_send_signal(daemon, signal.SIGTERM)
    if not select.select([daemon], [], [], 60)[0]:  # readable when the process has ended
        raise Wrong("the daemon does not end")
    pid_file(home).unlink(missing_ok=True)
    say("the daemon is stopped")
    if others:
        say(f"running on, for the next daemon to take over: {', '.join(others)}; 'boxd machine stop' ends them")


# -- the story


def machine_ready(name: str) -> None:
    """A running machine of that name: the one of an earlier demo, or a new one."""
    known = {each["name"]: each["status"] for each in boxd_json("ls")}
    if name not in known:
        say(f"making machine {name} (1 GiB of memory, 2 vCPUs); the first boots, which takes a minute without KVM")
        made = timed(lambda: boxd_json("machine", "new", name, "--memory", "1G", "--vcpu", "2"))
        say(f"  it is {made[0]['status']} after {made[1]:.1f} s")
    elif known[name] not in ("running", "suspended", "hibernated"):  # one that sleeps is woken by whoever uses it
        say(f"starting machine {name}")
        boxd("machine", "start", name)
    else:
        say(f"machine {name} is {known[name]} already")
    forget_checkpoint(name)


def forget_checkpoint(name: str) -> None:
    """Remove the checkpoint of an earlier demo; one that was interrupted may still be saving it."""
    end = time.monotonic() + SAVE_LIMIT
    while True:
        found = [c["status"] for c in boxd_json("machine", "checkpoint", "list", name) if c["name"] == CHECKPOINT]
        if found != ["pending"]:
            break
        if time.monotonic() > end:
            raise Wrong(f"checkpoint {CHECKPOINT} of an earlier demo is still being saved after {SAVE_LIMIT:.0f} s")
        time.sleep(0.2)
    if found:
        boxd("machine", "checkpoint", "remove", name, CHECKPOINT, "-y")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.monotonic()
    return work(), time.monotonic() - start


def guest(name: str, action: str) -> Any:
    output = boxd("machine", "exec", name, "--", "python3", "demo_guest.py", action)
    return json.loads(output) if output.strip() else None


def show(name: str) -> None:
    """The whole story."""
    boxd("machine", "cp", str(GUEST), f"{name}:demo_guest.py")
    guest(name, "prepare")
    say("starting a program that keeps 32 MiB of random bytes and a counter in memory only")
    guest(name, "start")
    data, first = guest(name, "look"), guest(name, "ask")
    say(f"  process {first['pid']}, counter {first['counter']}, {data['files']} files, {data['rows']} rows")
    check(
        "rows that only the write-ahead log holds",
        holds=data["only_in_log"] > 0 and data["log_bytes"] > 0,
        detail=f"{data['only_in_log']} in {data['log_bytes']} bytes",
    )

    say(f"saving checkpoint {CHECKPOINT}")
    saved = boxd_json("machine", "checkpoint", "save", name, CHECKPOINT)
    last, last_at = guest(name, "ask"), time.monotonic()
    say(
        f"  {saved['status']}: the machine paused for {saved['pause_us'] / 1000:.1f} ms, the save took "
        f"{saved['duration_ms'] / 1000:.1f} s; {mib(saved['size_bytes'])} of its own, "
        f"{mib(saved['shared_bytes'])} shared"
    )
    check(
        "the program ran on during the save", holds=last["pid"] == first["pid"], detail=f"counter {last['counter']}"
    )

    say("wrecking the machine: the program is killed, its files deleted, the table dropped")
    guest(name, "wreck")
    ruins = guest(name, "look")
    check("the wreck", holds=not ruins["files"] and not ruins["rows"], detail="no files, no rows, no process")

    say(f"restoring {CHECKPOINT}")
    _, seconds = timed(lambda: boxd("machine", "checkpoint", "restore", name, CHECKPOINT, "-y", "--json"))
    after = guest(name, "ask")
    say(f"  the command took {seconds:.2f} s")
    compare(first, last, after, time.monotonic() - last_at, guest(name, "ask"))
    back = guest(name, "look")
    check("the files", holds=back["content"] == data["content"], detail=f"{back['files']} files, same content")
    check(
        "the database",
        holds=back == data,
        detail=f"{back['rows']} rows, {back['only_in_log']} of them in the log alone, integrity {back['integrity']}",
    )


def compare(
    first: dict[str, Any], last: dict[str, Any], after: dict[str, Any], elapsed: float, again: dict[str, Any]
) -> None:
    """The process after the restore against what it said before and right after the save.

    The captured value lies between those two. By now it may have counted on, but for no longer than the restored
    machine has run, which is less than the time since the second answer.
    """
    most = last["counter"] + elapsed / TICK
    check("the process", holds=after["pid"] == first["pid"], detail=f"the same, {after['pid']}")
    check("the pattern", holds=after["pattern"] == first["pattern"], detail=f"whole, sha256 {after['pattern'][:16]}…")
    check(
        "the counter",
        holds=first["counter"] <= after["counter"] <= most,
        detail=f"{after['counter']}; it was {first['counter']} before the save and {last['counter']} after it",
    )
    check("it goes on", holds=again["counter"] > after["counter"], detail=f"{again['counter']} a moment later")


def mib(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MiB"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--machine", default="demo", help="name of the machine (default: demo)")
    parser.add_argument("--stop", action="store_true", help="stop the machine and the daemon of an earlier demo")
    options = parser.parse_args()
    os.umask(0o077)
    home = default_home().absolute()
    started = time.monotonic()
    try:
        if options.stop:
            stop(home, options.machine)
            return 0
        if not answers():
            start_daemon(home)
        say("building the image, which takes minutes, unless it is there already")
        boxd("image", "build", limit=3600)
        machine_ready(options.machine)
        show(options.machine)
    except (Wrong, subprocess.TimeoutExpired) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    say(f"everything is as captured; {time.monotonic() - started:.1f} s in all")
    say(f"daemon and machine {options.machine} are left running; 'scripts/demo --stop' stops these two")
    return 0


if __name__ == "__main__":
    sys.exit(main())
