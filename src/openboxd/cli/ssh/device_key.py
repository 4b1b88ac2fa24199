"""The key pair of this user at this computer, made when it is first needed."""

from __future__ import annotations

import getpass
import hashlib
import socket
from dataclasses import dataclass
from pathlib import Path

from openboxd.host.files import make_directory, write_atomic


@dataclass(frozen=True)
class DeviceKey:
    """A key pair; `device` names it to the daemon, which keeps one key for each."""

    path: Path
    public_key: str

    @property
    def device(self) -> str:
        """The same for the same file on the same computer."""
        place = f"{socket.gethostname()}:{self.path}"
        return "cli-" + hashlib.sha256(place.encode()).hexdigest()[:16]


def device_key(directory: Path) -> DeviceKey:
    """The key in this directory (the client's configuration)."""
    path = directory / "ssh_ed25519"
    public = path.with_suffix(".pub")
    if not (path.exists() and public.exists()):
        private_text, public_line = _make()
        make_directory(directory)
        write_atomic(public, f"{public_line} {getpass.getuser()}@{socket.gethostname()}\n".encode(), 0o644)
        write_atomic(path, private_text)
    return DeviceKey(path, public.read_text().strip())


def _make() -> tuple[bytes, str]:
    """Imported late: it takes longer than `--help` may."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()
    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()), public
