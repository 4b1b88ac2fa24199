"""SSH into a real guest: keys asked for at login, host keys signed by this host's authority, also after restores."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab import BOOTED, GOLDEN, Daemon, run

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

    def ssh(self, *command: str, login: str = "boxd") -> subprocess.CompletedProcess[str]:
        argv = ["ssh", *self.options, "-p", str(self.port), f"{login}@127.0.0.1", *command]
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
        )


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


def test_files_and_forwarded_ports_go_through_the_guests_own_sshd(client: Client, daemon: Daemon) -> None:
    daemon.boxd("auth", "ssh-key", "add", client.directory / "id.pub")
    content = bytes(range(256)) * 4096
    (client.directory / "file").write_bytes(content)
    options = [*client.options, "-P", str(client.port)]
    run("scp", "-q", *options, client.directory / "file", "boxd@127.0.0.1:there")
    run("scp", "-q", *options, "boxd@127.0.0.1:there", client.directory / "back")
    assert (client.directory / "back").read_bytes() == content


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
