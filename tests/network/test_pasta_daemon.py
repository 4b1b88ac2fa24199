"""A daemon of an ordinary user, whose machines have a way out by pasta: through restores, forks and its own restarts.

Such a user may not enter the directories that tests work in, so the daemon has a view of its own of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.host import pidfd
from openboxd.settings import Settings
from tests.guests.test_bridge import ask
from tests.lab import BOOTED, BOXD, GOLDEN, RUN_ROOT, Daemon, Lab, run
from tests.network.namespaces import HOST, WORLD, World, inside, world
from tests.network.test_bridge import Service
from tests.network.test_pasta import OWN_DEVICE, SOURCE

pytestmark = [
    pytest.mark.guest,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces"),
    pytest.mark.skipif(shutil.which("pasta") is None, reason="needs pasta (apt install passt)"),
]

USER = 1234
STAGE = RUN_ROOT / "stage"
"""Where things are put aside while what they are in is covered; in the daemon's own view only."""

WAIT = 60.0
"""Seconds for anything, on a busy host."""


def closed(path: Path) -> Path | None:
    """The first directory on the way to `path` that others may not enter."""
    return next((each for each in reversed(path.parents) if not each.stat().st_mode & 0o001), None)


def opening(*paths: Path) -> str:
    """Shell that lets everybody get at these, and at nothing else of the closed directories that they are in."""
    hidden = {path: cover for path in paths if (cover := closed(path)) is not None}
    numbered = dict(enumerate(hidden))
    return "\n".join(
        [
            f"set -e; umask 022; mount -t tmpfs -o mode=755 none {STAGE}",
            *(f"mkdir {STAGE}/{n}; mount --bind '{path}' {STAGE}/{n}" for n, path in numbered.items()),
            *(f"mount -t tmpfs -o mode=755 none '{cover}'" for cover in dict.fromkeys(hidden.values())),
            *(f"mkdir -p '{path}'; mount --bind {STAGE}/{n} '{path}'" for n, path in numbered.items()),
        ]
    )


@pytest.fixture
def place() -> Iterator[World]:
    with world() as made:
        service = Service(made.world, WORLD, 80, socket.SOCK_STREAM, b"world for ")
        try:
            yield made
        finally:
            service.close()


@pytest.fixture
def ordinary(lab: Lab) -> Iterator[Daemon]:
    """A daemon that becomes an ordinary user's when it is started, on a copy of the prepared home."""
    with lab.daemon(running=False) as daemon:
        daemon.close()
        shutil.rmtree(RUN_ROOT)
        STAGE.mkdir(parents=True)
        run("chown", "-R", f"{USER}:{USER}", daemon.home, RUN_ROOT)
        view = opening(SOURCE.parent, Path(sys.prefix), Path(sys.base_prefix), daemon.home)
        argv = f"setpriv --reuid {USER} --regid {USER} --clear-groups '{BOXD}' daemon run --home"
        script = f'{view}\ncd /; home="$1"; listen="$2"; set -- {argv} "$1" --listen "$2"\n{OWN_DEVICE}'
        daemon.program = ["unshare", "--mount", "sh", "-c", script, "sh"]
        yield daemon


def pastas(daemon: Daemon) -> set[int]:
    """Pids of the ways out of this home's machines."""
    mark = f"{Settings(daemon.home, run_root=RUN_ROOT).run_dir}/"
    found = pidfd.find(lambda argv: "--pid" in argv and any(word.startswith(mark) for word in argv))
    for process in found:
        os.close(process.pidfd)
    return {process.pid for process in found}


def reaches_the_world(daemon: Daemon, machine: str = GOLDEN) -> None:
    """Soon: pasta is not waited for, and until it is there nothing is reached."""
    begun = time.monotonic()
    while (said := ask(daemon, WORLD, 80, machine=machine)) != f"world for {HOST}":
        assert time.monotonic() < begun + WAIT, (said, machine, daemon.log[-3000:])
    print(f"{machine} has a way out: {time.monotonic() - begun:.2f} s at the command line")


def test_the_way_out_follows_the_machine_and_ends_with_it(ordinary: Daemon, place: World) -> None:
    def work() -> None:
        daemon = ordinary
        daemon.start()
        assert Path(f"/proc/{daemon.process.pid if daemon.process else 0}").stat().st_uid == USER
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
        reaches_the_world(daemon)
        [first] = pastas(daemon)
        daemon.boxd("machine", "checkpoint", "save", GOLDEN, "here")
        assert pastas(daemon) == {first}
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "here", "-y")
        reaches_the_world(daemon)
        [second] = pastas(daemon)
        assert second != first, "the old run's way out has ended with it"
        for number in (signal.SIGTERM, signal.SIGKILL):
            daemon.restart(number)
            assert pastas(daemon) == {second}, "a machine that runs on keeps its own"
        reaches_the_world(daemon)
        daemon.boxd("machine", "fork", GOLDEN, "twin")
        for machine in ("twin", GOLDEN):
            reaches_the_world(daemon, machine)
        assert second in pastas(daemon) and len(pastas(daemon)) == 2
        daemon.boxd("machine", "remove", "twin", "-y")
        assert pastas(daemon) == {second}
        daemon.boxd("machine", "stop", GOLDEN)
        assert pastas(daemon) == set()
        daemon.end()

    inside(place.host, work)
