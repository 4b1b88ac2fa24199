"""Host keys of machines, and the authority that signs them: one line in known_hosts covers every machine of a host.

    <home>/ssh/ca        0600, never leaves the host
    <home>/ssh/ca.pub    for known_hosts: `@cert-authority *.boxd <this>`
    ssh.json             in a machine's directory: its host key and certificate, made once and kept for its life

A certificate is for names, and does not expire: it is the host that vouches, and the host that is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import ssh

from openboxd.errors import HostUnfit, OperationFailed
from openboxd.host.files import make_directory, write_atomic

DOMAIN = "boxd"
"""Names under it exist for SSH alone: `<machine id>.boxd` is the same machine also under another name."""

FOREVER = 2**64 - 1
HOST_KEY = "ssh.json"


@dataclass(frozen=True)
class HostIdentity:
    """What the guest's sshd gets: each is the whole text of a file."""

    key: str
    public: str
    certificate: str


class SshAuthority:
    """Signs host keys."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @property
    def public_line(self) -> str:
        """The public key as known_hosts has it."""
        return _public_line(self._key)

    def identity(self, directory: Path, machine_id: str, hosts: Sequence[str]) -> HostIdentity:
        """The host key of the machine whose directory this is, made at the first call, certified for the machine's
        own name and for `hosts`; the certificate is made anew when those, or this authority, are others.

        Raises:
            OperationFailed: the file is damaged.
        """
        file = directory / HOST_KEY
        names = [f"{machine_id}.{DOMAIN}", *dict.fromkeys(hosts)]
        if file.exists():
            kept = _read(file)
            key = _load(kept.key.encode(), file)
            if self._is_good(kept.certificate, names):
                return kept
        else:
            key = Ed25519PrivateKey.generate()
        made = HostIdentity(_private_text(key), f"{_public_line(key)}\n", self._certify(key, machine_id, names))
        write_atomic(file, json.dumps(asdict(made)).encode())
        return made

    def _certify(self, key: Ed25519PrivateKey, machine_id: str, names: Sequence[str]) -> str:
        builder = (
            ssh.SSHCertificateBuilder()
            .public_key(key.public_key())
            .type(ssh.SSHCertificateType.HOST)
            .key_id(machine_id.encode())
            .serial(0)
            .valid_principals([name.encode() for name in names])
            .valid_after(0)
            .valid_before(FOREVER)
        )
        return builder.sign(self._key).public_bytes().decode() + "\n"

    def _is_good(self, text: str, names: Sequence[str]) -> bool:
        try:
            certificate = ssh.load_ssh_public_identity(text.encode())
        except (ValueError, UnsupportedAlgorithm):
            return False
        if not isinstance(certificate, ssh.SSHCertificate):
            return False
        signer = certificate.signature_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        principals = [name.decode(errors="replace") for name in certificate.valid_principals]
        return principals == list(names) and signer.decode() == self.public_line


def open_ssh_authority(directory: Path) -> SshAuthority:
    """The authority in a directory, made if there is none.

    Raises:
        HostUnfit: its key cannot be read; with another one nobody would trust the machines any more.
    """
    make_directory(directory)
    file = directory / "ca"
    if not file.exists():
        key = Ed25519PrivateKey.generate()
        write_atomic(directory / "ca.pub", f"{_public_line(key)} boxd host CA\n".encode())
        write_atomic(file, _private_text(key).encode())
    try:
        return SshAuthority(_load(file.read_bytes(), file))
    except (OSError, OperationFailed) as error:
        raise HostUnfit(f"the SSH authority cannot be used: {error}; put {file} back from a backup") from error


def _read(file: Path) -> HostIdentity:
    try:
        fields = json.loads(file.read_bytes())
        return HostIdentity(str(fields["key"]), str(fields["public"]), str(fields["certificate"]))
    except (ValueError, KeyError, TypeError) as error:
        raise OperationFailed(f"{file} is damaged; remove it, and the machine gets another SSH host key") from error


def _load(text: bytes, file: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_ssh_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise OperationFailed(f"{file} holds no SSH key that can be read") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise OperationFailed(f"{file} holds a key of another kind than ed25519")
    return key


def _private_text(key: Ed25519PrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    ).decode()


def _public_line(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
