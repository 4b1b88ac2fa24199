"""SSH into a real guest: keys asked for at login, host keys signed by this host's authority, also after restores."""

from __future__ import annotations

import json
import re
import shlex
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.guests.knocking import AT_ONCE, knocking, logging_in
from tests.guests.terminal import Terminal
from tests.lab import BOOTED, BOXD, GOLDEN, Daemon, free_port, run

pytestmark = pytest.mark.guest


@dataclass
class Client:
    """A user at this host with a key and a known_hosts of its own."""

    daemon: Daemon
    directory: Path
    machine_id: str
    port: int

    @property
    def options(self) -> list[str]:
        """Nothing of the user who runs the tests; the host's key must be certified, whatever it is."""
        chosen = {
            "UserKnownHostsFile": self.directory / "known_hosts",
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "HostKeyAlias": f"{self.machine_id}.boxd",
            "HostKeyAlgorithms": "ssh-ed25519-cert-v01@openssh.com",
            "IdentityFile": self.directory / "id",
            "IdentitiesOnly": "yes",
            "PreferredAuthentications": "publickey",
            "ConnectTimeout": "60",
        }
        return ["-F", "none", *(word for name, value in chosen.items() for word in ("-o", f"{name}={value}"))]

    def ssh(
        self, *command: str, login: str = "boxd", options: Sequence[str] = (), input: str = ""
    ) -> subprocess.CompletedProcess[str]:
        argv = ["ssh", *self.options, *options, "-p", str(self.port), f"{login}@127.0.0.1", *command]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, input=input)

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Start an ssh that stays."""
        argv = ["ssh", *self.options, *options, "-p", str(self.port), "boxd@127.0.0.1"]
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL)


def until(condition: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)


@pytest.fixture
def client(daemon: Daemon, tmp_path: Path) -> Iterator[Client]:
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", tmp_path / "id")
    authority = (daemon.home / "ssh/ca.pub").read_text()
    (tmp_path / "known_hosts").write_text(f"@cert-authority *.boxd {authority}")
    with closing(sqlite3.connect(f"file:{daemon.home}/boxd.db?mode=ro", uri=True)) as store:
        ((machine_id, port),) = store.execute("SELECT id, ssh_port FROM machines").fetchall()
    client = Client(daemon, tmp_path, machine_id, port)
    # Where the capture has no certified key yet, it comes with the agent's first question, and sshd reads it anew.
    deadline = time.monotonic() + 60
    while "Permission denied" not in (refused := client.ssh("true")).stderr:
        assert time.monotonic() < deadline, refused
        time.sleep(0.2)
    yield client


def test_a_linked_key_opens_and_a_removed_one_does_not(client: Client, daemon: Daemon) -> None:
    daemon.boxd("auth", "ssh-key", "add", client.directory / "id.pub")
    began = time.monotonic()
    done = client.ssh("echo out; echo err >&2; id -un; exit 7")
    print(f"login with a command: {time.monotonic() - began:.2f} s")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\nboxd\n", "err\n")
    assert client.ssh("true", login="root").returncode == 255
    # The same after a restore to a moment before the key was linked; then it is removed.
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
    again = client.ssh("true")
    assert again.returncode == 0, again
    fingerprint = run("ssh-keygen", "-l", "-f", client.directory / "id.pub").split()[1]
    daemon.boxd("auth", "ssh-key", "remove", fingerprint, "-y")
    refused = client.ssh("true")
    assert (refused.returncode, "Permission denied" in refused.stderr) == (255, True), refused


EVERY = 0.02
"""Seconds between new connections, unless AT_ONCE of them wait."""

ROUNDS = 10


@pytest.mark.timeout(600)  # on a busy host a login to a guest in software takes ten seconds and more
def test_those_who_come_every_20_ms_through_ten_restores_only_wait(client: Client, daemon: Daemon) -> None:
    """Greeted are all, whenever they came: also whom the guest had not greeted yet when it was swapped. The one login
    that may be under way when a swap begins ends with it; the next one, which comes meanwhile, waits and succeeds."""
    daemon.boxd("auth", "ssh-key", "add", client.directory / "id.pub")
    waits, held, swaps = list[float](), [], []

    def login() -> str:
        done = client.ssh("true")
        return done.stderr if done.returncode else ""

    with logging_in(login) as logins:
        for _ in range(ROUNDS):
            with knocking(client.port, EVERY) as seen:
                began = time.monotonic()
                done = daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
                swaps.append((began, time.monotonic()))
            match = re.search(r"held (\d+) connections, longest wait (\d+) ms", done.stdout)
            assert match is not None, done.stdout
            held.append((int(match[1]), int(match[2])))
            assert seen.failures == []
            waits += seen.waits
            until(lambda since=began: any(each.began > since and not each.wrong for each in logins))
    assert max(number for number, _ in held) > 0
    cut = [each for each in logins if each.wrong]
    hit = [[each for each in cut if each.began < end and each.ended > start] for start, end in swaps]
    assert max(map(len, hit)) <= 1, cut  # they log in one after the other: of two the second came to be held
    assert all(any(each in some for some in hit) for each in cut), cut
    print(f"\n{len(waits)} greeted, {AT_ONCE} at a time, 0 failed, longest {max(waits):.1f} s; held (n, ms): {held}")
    lengths = [each.ended - each.began for each in logins if not each.wrong]
    print(f"{len(lengths)} logins, longest {max(lengths):.1f} s; {len(cut)} were under way at a swap and cut")
    assert len(lengths) >= ROUNDS


def test_what_people_do_over_ssh_goes_through_the_guests_own_sshd(client: Client, daemon: Daemon) -> None:
    daemon.boxd("auth", "ssh-key", "add", client.directory / "id.pub")
    content = bytes(range(256)) * 4096
    (client.directory / "file").write_bytes(content)
    # One connection for everything, as editors and scripts share it.
    shared = ["-o", f"ControlPath={client.directory}/shared", "-o", "ControlMaster=no"]
    forwards = {"-L": free_port(), "-D": free_port()}
    with Served(b"from the host\n") as at_home:
        master = client.start(
            *("-o", f"ControlPath={client.directory}/shared", "-M", "-N"),
            *("-o", "ExitOnForwardFailure=yes", "-L", f"127.0.0.1:{forwards['-L']}:127.0.0.1:7000"),
            *("-D", f"127.0.0.1:{forwards['-D']}", "-R", f"127.0.0.1:7001:127.0.0.1:{at_home.port}"),
        )
        try:
            until(lambda: client.ssh("true", options=shared).returncode == 0)
            _copy_files(client, shared, content)
            # What an editor does: a script by stdin leaves a server behind, which a forwarded port leads to.
            script = (
                "setsid python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 7000))\nwhile True:\n"
                " c, _ = s.accept(); c.sendall(b'from the guest\\n'); c.close()\" >/dev/null 2>&1 </dev/null &\n"
                "echo $$ ready; exit 4\n"
            )
            done = client.ssh("bash", options=["-T", *shared], input=script)
            assert (done.returncode, done.stdout.split()[1]) == (4, "ready"), done
            until(lambda: _heard(forwards["-L"]) == b"from the guest\n")
            assert _heard_by_socks(forwards["-D"], 7000) == b"from the guest\n"
            asked = "import socket; print(socket.create_connection(('127.0.0.1', 7001)).recv(99).decode(), end='')"
            assert client.ssh(f'python3 -c "{asked}"', options=shared).stdout == "from the host\n"
            assert client.ssh("tty", options=["-tt", *shared]).stdout.startswith("/dev/pts/")
            # A restore ends it, as the network would; the next one is made anew.
            daemon.boxd("machine", "checkpoint", "restore", GOLDEN, BOOTED, "-y")
            assert master.wait(60) == 255
        finally:
            master.kill()
            master.wait()
    again = client.ssh("ls there 2>&1; true")
    assert "No such file" in again.stdout, again


def _copy_files(client: Client, shared: list[str], content: bytes) -> None:
    """scp, sftp and rsync, there and back."""
    place, file = client.directory, client.directory / "file"
    options = [*client.options, *shared]
    run("scp", "-q", *options, "-P", client.port, file, "boxd@127.0.0.1:there")
    run("scp", "-q", *options, "-P", client.port, "boxd@127.0.0.1:there", place / "by-scp")
    (place / "batch").write_text(
        "put file second\nmkdir folder\nrename second folder/second\nget folder/second by-sftp\n"
    )
    run("sftp", "-q", *options, "-P", client.port, "-b", place / "batch", "boxd@127.0.0.1", cwd=place)
    (place / "tree/deep").mkdir(parents=True)
    (place / "tree/deep/file").write_bytes(content)
    (place / "tree/link").symlink_to("deep/file")
    remote = " ".join(["ssh", *map(shlex.quote, options), "-p", str(client.port)])
    run("rsync", "-a", "-e", remote, f"{place}/tree/", "boxd@127.0.0.1:tree/")
    run("rsync", "-a", "-e", remote, "boxd@127.0.0.1:tree/", f"{place}/by-rsync/")
    assert (place / "by-rsync/link").readlink() == Path("deep/file")
    for name in ("by-scp", "by-sftp", "by-rsync/deep/file"):
        assert (place / name).read_bytes() == content, name


class Served:
    """A TCP service of this host that says one line."""

    def __init__(self, line: bytes) -> None:
        self._line = line
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    connection.sendall(self._line)

    def __enter__(self) -> Served:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


def _heard(port: int) -> bytes:
    """What is said at a port of this host; nothing where the connection is dropped."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        return connection.recv(99)


def _heard_by_socks(proxy: int, port: int) -> bytes:
    """What is said at a port of the guest's loopback, by way of a SOCKS proxy."""
    with socket.create_connection(("127.0.0.1", proxy), timeout=60) as connection:
        connection.sendall(b"\x05\x01\x00")
        assert connection.recv(2) == b"\x05\x00"
        connection.sendall(b"\x05\x01\x00\x01" + socket.inet_aton("127.0.0.1") + port.to_bytes(2, "big"))
        assert connection.recv(10)[1] == 0
        return connection.recv(99)


def test_connect_is_a_login_at_the_guests_sshd(client: Client, daemon: Daemon) -> None:
    """The key of this computer is made and linked by the way."""
    own = {"BOXD_BASE_URL": daemon.url, "BOXD_API_KEY": daemon.key, "HOME": str(client.directory), "TERM": "dumb"}
    shell = Terminal([BOXD, "connect", GOLDEN], daemon.env | own, 24, 80)
    shell.until("boxd@golden")
    shell.type("tty; echo $SSH_CONNECTION; exit 5\n")
    shell.until("/dev/pts/")
    shell.until("127.0.0.1 22")
    assert shell.end() == 5
    daemon.boxd("machine", "ssh-config", env=daemon.env | own)
    files = client.directory / ".ssh"
    ssh = ["ssh", "-F", files / "config", "-o", f"UserKnownHostsFile={files}/known_hosts", f"{GOLDEN}.boxd"]
    assert run(*ssh, "id -un; exit 0").strip() == "boxd"


def test_the_guest_has_the_key_that_the_host_signed(client: Client, daemon: Daemon) -> None:
    (kept,) = (daemon.home / "pool/machines").glob("*/ssh.json")
    identity = json.loads(kept.read_text())
    shown = daemon.sh("sudo cat /etc/ssh/ssh_host_ed25519_key.pub")
    assert shown == identity["public"]
    assert kept.stat().st_mode & 0o777 == 0o600
    other = run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", client.directory / "other")
    assert other == ""
    stranger = (client.directory / "other.pub").read_text()
    (client.directory / "known_hosts").write_text(f"@cert-authority *.boxd {stranger}")
    refused = client.ssh("true")
    assert (refused.returncode, "verification failed" in refused.stderr) == (255, True), refused
