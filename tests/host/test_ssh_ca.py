"""Host keys of machines, checked by OpenSSH itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from openboxd.errors import HostUnfit, OperationFailed
from openboxd.host.ssh_ca import HOST_KEY, open_ssh_authority

ID = "00000000-0000-4000-8000-000000000001"
HOSTS = ("localhost", "127.0.0.1", "localhost")


def keygen(*arguments: object) -> str:
    return subprocess.run(
        ["ssh-keygen", *map(str, arguments)], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    ).stdout


def test_openssh_takes_the_key_and_the_certificate(tmp_path: Path) -> None:
    authority = open_ssh_authority(tmp_path / "ssh")
    found = authority.identity(tmp_path, ID, HOSTS)
    key, certificate = tmp_path / "key", tmp_path / "key-cert.pub"
    key.write_text(found.key)
    key.chmod(0o600)
    certificate.write_text(found.certificate)
    assert keygen("-y", "-f", key).split()[:2] == found.public.split()[:2]
    told = keygen("-L", "-f", certificate)
    assert "ssh-ed25519-cert-v01@openssh.com host certificate" in told
    assert f'Key ID: "{ID}"' in told
    assert "Valid: forever" in told
    principals = told.split("Principals:")[1].split("Critical Options")[0].split()
    assert principals == [f"{ID}.boxd", "localhost", "127.0.0.1"]
    fingerprint = keygen("-l", "-f", tmp_path / "ssh" / "ca.pub").split()[1]
    assert f"Signing CA: ED25519 {fingerprint}" in told


def test_a_machine_keeps_its_key_and_certificate(tmp_path: Path) -> None:
    first = open_ssh_authority(tmp_path / "ssh").identity(tmp_path, ID, HOSTS)
    assert open_ssh_authority(tmp_path / "ssh").identity(tmp_path, ID, HOSTS) == first
    moved = open_ssh_authority(tmp_path / "ssh").identity(tmp_path, ID, ["example.org"])
    assert moved.public == first.public
    assert moved.certificate != first.certificate
    other = open_ssh_authority(tmp_path / "other").identity(tmp_path, ID, ["example.org"])
    assert other.public == first.public
    assert other.certificate != moved.certificate


def test_machines_have_different_keys(tmp_path: Path) -> None:
    authority = open_ssh_authority(tmp_path / "ssh")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert authority.identity(tmp_path / "a", "a", ()).key != authority.identity(tmp_path / "b", "b", ()).key


def test_private_files_are_private(tmp_path: Path) -> None:
    open_ssh_authority(tmp_path / "ssh").identity(tmp_path, ID, HOSTS)
    assert (tmp_path / "ssh").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "ssh" / "ca").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / HOST_KEY).stat().st_mode & 0o777 == 0o600


def test_damage_is_told_and_never_replaced(tmp_path: Path) -> None:
    authority = open_ssh_authority(tmp_path / "ssh")
    for text in ("", "{}", "[]", '{"key":"x","public":"x","certificate":"x"}'):
        (tmp_path / HOST_KEY).write_text(text)
        with pytest.raises(OperationFailed, match=HOST_KEY):
            authority.identity(tmp_path, ID, HOSTS)
        assert (tmp_path / HOST_KEY).read_text() == text
    (tmp_path / "ssh" / "ca").write_text("x")
    with pytest.raises(HostUnfit, match=r"put .*/ssh/ca back from a backup"):
        open_ssh_authority(tmp_path / "ssh")
