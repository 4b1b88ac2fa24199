"""Where tests meet real guests: a filesystem with reflinks, an image, and a home with a machine that has booted once.

A boot takes half a minute without KVM, a restore a second. So one home is prepared and kept (by the digest of the
image's recipe), in which machine `golden` has a checkpoint `booted`; a test gets a reflink copy of that home, starts
a daemon of its own on it, and restores. Everything is under one directory and one run directory, so that a session
can clean what an interrupted one left: its QEMU processes, its daemons, its mount.

Two sessions can have labs at the same time if each has a slot of its own: BOXD_TEST_SLOT=1 (the default) to 4.

    ~/.cache/boxd-test (BOXD_TEST_HOME), with slot 2 boxd-test-2
        disk.xfs        mounted on mnt/ while the tests run
        mnt/base/       the prepared home
        mnt/t-.../      copies of it, one a test
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openboxd import images
from openboxd.guest import payload
from openboxd.host import pidfd
from openboxd.settings import Settings

SLOT = int(os.environ.get("BOXD_TEST_SLOT", "1"))
NAME = "boxd-test" if SLOT == 1 else f"boxd-test-{SLOT}"
ACCEL = os.environ.get("BOXD_TEST_ACCEL", "tcg")
"""What guests run with. Tests are for `tcg`; benchmarks measure `kvm` as well, on a host where it works."""

CACHE = Path(os.environ.get("BOXD_TEST_HOME", Path.home() / ".cache" / NAME))
RUN_ROOT = Path("/run") / NAME
MOUNT = CACHE / "mnt"
SIZE = 24 << 30
HTTPS = 18433 + 10 * SLOT
SSH_PORTS = f"{5_000 + 5000 * SLOT}-{9_999 + 5000 * SLOT}"
EXPOSED_PORTS = f"{30_000 + 500 * SLOT}-{30_499 + 500 * SLOT}"  # below those that the kernel gives to connections
BOXD = Path(sys.executable).with_name("boxd")

PREPARED = 3
"""Raise when the way a home is prepared changes: kept ones are made anew."""

GOLDEN = "golden"
BOOTED = "booted"


def run(*arguments: object, **options: Any) -> str:
    """Run a program; its output. Fails with what it said."""
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{arguments} ended with {done.returncode}: {done.stderr or done.stdout}"
    return done.stdout


@contextlib.contextmanager
def mounted() -> Iterator[Path]:
    """The filesystem, empty of what an interrupted session left. One session at a time has it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "session.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AssertionError(f"another session has the lab in {CACHE}; set BOXD_TEST_SLOT to 2, 3 or 4") from None
        with _mounted() as mount:
            yield mount


@contextlib.contextmanager
def _mounted() -> Iterator[Path]:
    end_leftovers()
    disk = CACHE / "disk.xfs"
    if not disk.exists():
        new = disk.with_suffix(".new")
        with new.open("wb") as file:
            file.truncate(SIZE)
        run("mkfs.xfs", "-q", "-m", "reflink=1", new)
        new.rename(disk)
    MOUNT.mkdir(exist_ok=True)
    run("mount", "-o", "loop", disk, MOUNT)
    try:
        for left in MOUNT.glob("t-*"):
            shutil.rmtree(left)
        yield MOUNT
    finally:
        end_leftovers()


def end_leftovers() -> None:
    """End processes that work below our directories, and unmount."""
    marks = (f"{RUN_ROOT}/", f"{MOUNT}/")
    found = pidfd.find(lambda argv: any(mark in argument for argument in argv for mark in marks))
    for process in found:
        if process.pid != os.getpid():
            pidfd.send(process.pidfd, signal.SIGKILL)
            _wait_gone(process.pidfd)
        os.close(process.pidfd)
    if MOUNT.is_mount():
        _unmount()
    shutil.rmtree(RUN_ROOT, ignore_errors=True)


def _unmount() -> None:
    """What a killed daemon has begun, such as commands of guests, ends a moment after it and has its log open."""
    deadline = time.monotonic() + 30
    while True:
        done = subprocess.run(["umount", MOUNT], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        assert "busy" in done.stderr and time.monotonic() < deadline, done.stderr
        time.sleep(0.1)


def _wait_gone(descriptor: int) -> None:
    deadline = time.monotonic() + 60
    while not pidfd.is_gone(descriptor):
        assert time.monotonic() < deadline, "a process does not end"
        time.sleep(0.01)


@dataclass
class Daemon:
    """A daemon on a home of its own, and the CLI that talks to it."""

    home: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    extra: dict[str, str] = field(default_factory=dict)
    program: list[str] | None = None  # started instead of `boxd daemon run`, with home and address

    @property
    def env(self) -> dict[str, str]:
        """Environment of the daemon and of its CLI; nothing of ours leaks in."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("BOXD_") or k == "BOXD_MIRROR"}
        own = {
            "BOXD_HOME": str(self.home),
            "BOXD_CONFIG": str(self.home / "config.json"),
            "BOXD_RUN_DIR": str(RUN_ROOT),
            "BOXD_HTTPS": f"127.0.0.1:{HTTPS}",
            "BOXD_HTTP": f"127.0.0.1:{HTTPS - 1}",
            "BOXD_SSH_PORTS": SSH_PORTS,
            "BOXD_EXPOSED_PORTS": EXPOSED_PORTS,
            "BOXD_NETWORK": "user",  # the bridge is tried in network namespaces only: see tests/network
            "BOXD_ACCEL": ACCEL,
            "BOXD_WARM": "off",  # machines boot, and nothing boots unasked, unless a test wants that
            "PYTHONUNBUFFERED": "1",
        }
        return kept | own | self.extra

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        return (self.home / "admin.key").read_text().strip()

    @property
    def log(self) -> str:
        return (self.home / "daemon.log").read_text()

    def start(self) -> None:
        """Start it and wait until it serves."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.port = self.port or free_port()
        before = self.log.count(" serves ") if (self.home / "daemon.log").exists() else 0
        (self.home / "daemon.log").touch(0o600)
        with (self.home / "daemon.log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command(),
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 90
        while self.log.count(" serves ") == before:
            assert self.process.poll() is None, f"the daemon ended: {self.log[-2000:]}"
            assert time.monotonic() < deadline, f"the daemon does not serve: {self.log[-2000:]}"
            time.sleep(0.02)

    def _command(self) -> list[str | Path]:
        listen = f"127.0.0.1:{self.port}"
        if self.program is not None:
            return [*self.program, self.home, listen]
        return [BOXD, "daemon", "run", "--home", self.home, "--listen", listen]

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it, by SIGTERM (machines run on) or as told. Harmless twice."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None

    def restart(self, number: int = signal.SIGTERM) -> None:
        """End and start again; same port."""
        self.end(number)
        self.start()

    def boxd(self, *arguments: object, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the CLI with stdin closed."""
        env = self.env | {"BOXD_BASE_URL": self.url, "BOXD_API_KEY": self.key}
        options = {"stdin": subprocess.DEVNULL, "timeout": 300, "env": env} | options
        done = subprocess.run([BOXD, *map(str, arguments)], capture_output=True, text=True, check=False, **options)
        if check:
            assert done.returncode == 0, f"boxd {arguments} ended with {done.returncode}: {done.stderr}"
        return done

    def json(self, *arguments: object) -> Any:
        """Run the CLI with --json; what it printed."""
        return json.loads(self.boxd("--json", *arguments).stdout)

    def sh(self, command: str, machine: str = GOLDEN) -> str:
        """Run a shell line in a machine; its stdout."""
        return self.boxd("machine", "exec", machine, "--", "sh", "-c", command).stdout

    def qemus(self) -> list[int]:
        """Pids of this home's QEMU processes."""
        return _pids(self._find_qemus())

    def _find_qemus(self) -> list[pidfd.Found]:
        return pidfd.find(lambda argv: any(str(self.home) in a for a in argv) and "qemu-system" in argv[0])

    def helpers(self) -> list[int]:
        """Pids of what outlives this home's daemon for its clients: Caddy and the keeper of listening sockets."""
        return _pids(self._find_helpers())

    def _find_helpers(self) -> list[pidfd.Found]:
        mark = f"{Settings(self.home, run_root=Path(self.env['BOXD_RUN_DIR'])).run_dir}/"
        return pidfd.find(lambda argv: any(mark in word for word in argv) and "qemu-system" not in argv[0])

    def close(self) -> None:
        """Stop the daemon and end its machines; the home stays."""
        self.end(signal.SIGKILL)
        for process in [*self._find_qemus(), *self._find_helpers()]:  # of which one may end with another
            pidfd.send(process.pidfd, signal.SIGKILL)
            _wait_gone(process.pidfd)
            os.close(process.pidfd)


def _pids(found: list[pidfd.Found]) -> list[int]:
    """Of processes that are only told of."""
    for process in found:
        os.close(process.pidfd)
    return [process.pid for process in found]


def tree(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All that is below a directory in use, with what it is itself; what goes away meanwhile is passed over."""
    for directory, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(directory, name)
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue
            yield path, found


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One session at a time is in here; the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def host_lists() -> set[str]:
    """Names of the package lists that the host's own apt holds."""
    return {file.name for file in Path("/var/lib/apt/lists").iterdir()}


def free_port() -> int:
    """A TCP port that nobody listens on now, and that no other call in any process returns while this one lives. It
    is above those that the kernel gives to connections, of which one might have it a moment later."""
    while True:
        port = 61_000 + secrets.randbelow(4_500)
        reserved = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe:
            try:
                reserved.bind(f"\0boxd-test-port-{port}")
                probe.bind(("127.0.0.1", port))
            except OSError:
                reserved.close()
                continue
        reserved.detach()  # kept until the process ends
        return port


class Lab:
    """The prepared home and copies of it."""

    def __init__(self, mount: Path) -> None:
        self.mount = mount
        self.base = mount / ("base" if ACCEL == "tcg" else f"base-{ACCEL}")
        self.image = images.debian(payload.files().values()).digest
        self._prepare()

    def _prepare(self) -> None:
        ready = self.base / "ready"
        wanted = f"{PREPARED} {self.image} {run('qemu-system-x86_64', '--version').splitlines()[0]}"
        if ready.exists() and ready.read_text() == wanted:
            return
        shutil.rmtree(self.base, ignore_errors=True)
        daemon = Daemon(self.base)
        daemon.start()
        try:
            lists = host_lists()
            daemon.boxd("image", "build", timeout=1800)
            daemon.boxd("image", "warm", "--vcpu", 1, "--memory", "1G", timeout=600)
            assert host_lists() == lists, "the build touched apt's lists of the host"
            daemon.boxd("machine", "new", GOLDEN, "--vcpu", 1, "--memory", "1G", timeout=600)
            self._settle(daemon)
            daemon.boxd("machine", "checkpoint", "save", GOLDEN, BOOTED)
            daemon.boxd("machine", "stop", GOLDEN)
            daemon.end()
        finally:
            daemon.close()
        ready.touch(0o600)
        ready.write_text(wanted)

    @staticmethod
    def _settle(daemon: Daemon) -> None:
        """Until systemd has nothing left to start, so that copies are idle. The agent answers long before."""
        deadline = time.monotonic() + 180
        while True:
            # systemd may be done before udev is: the network card's driver comes last.
            line = "systemctl is-system-running --wait; sudo udevadm settle; hostname -I | grep -q ."
            state = daemon.boxd("machine", "exec", GOLDEN, "--", "sh", "-c", line, check=False)
            if state.returncode == 0:
                return
            assert time.monotonic() < deadline, f"the guest does not settle: {state}"
            time.sleep(0.5)

    @property
    def image_dir(self) -> Path:
        """The image: vmlinuz, initrd, disk.raw."""
        return self.base / "pool/images" / self.image

    @contextlib.contextmanager
    def daemon(self, *, running: bool = True, extra: dict[str, str] | None = None) -> Iterator[Daemon]:
        """A daemon on a copy of the prepared home; with `running`, machine `golden` runs, freshly restored."""
        home = self.mount / f"t-{secrets.token_hex(4)}"
        run("cp", "-a", "--reflink=always", self.base, home)
        (home / "daemon.log").unlink()
        (home / "reserve").unlink(missing_ok=True)  # a copy of it holds no room of its own
        daemon = Daemon(home, extra=extra or {})
        try:
            daemon.start()
            if running:
                daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
            yield daemon
        finally:
            try:
                daemon.close()
            finally:
                shutil.rmtree(home)
