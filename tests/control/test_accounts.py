"""Keys and SSH keys: what is stored, what is refused."""

from __future__ import annotations

import base64
import re
import subprocess
import time
from pathlib import Path

import pytest

from openboxd.control import accounts
from openboxd.errors import InvalidArgument, Unauthenticated
from openboxd.store import open_store


async def test_a_key_opens_and_is_stored_hashed_only(tmp_path: Path) -> None:
    store = open_store(tmp_path / "boxd.db")
    try:
        key = accounts.new_key()
        await accounts.create_owner(store, "ada", key)
        assert re.fullmatch(r"bxd_[A-Za-z0-9]{40}", key)
        caller, row = accounts.authenticate(store, key, time.time())
        assert store.user(caller.user_id) is not None
        assert row.prefix == key[:12]
        for wrong in ("", "bxd_", key[:-1], key + "x", "Bearer " + key):
            with pytest.raises(Unauthenticated):
                accounts.authenticate(store, wrong, time.time())
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert key.encode() not in stored and key[12:].encode() not in stored
    finally:
        store.close()


def test_a_real_public_key_is_taken_with_ssh_keygens_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, "-C", "ada@laptop"], check=True)
    key = accounts.parse_ssh_key("u_1", (tmp_path / "id.pub").read_text(), "laptop", "")
    shown = subprocess.run(["ssh-keygen", "-lf", path], check=True, capture_output=True, text=True).stdout
    assert key.fingerprint in shown
    assert key.label == "ada@laptop"


BLOB = base64.b64encode(b"\0\0\0\x0bssh-ed25519" + b"\0\0\0\x20" + bytes(32)).decode()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        f'command="id" ssh-ed25519 {BLOB}',
        f"ssh-rsa {BLOB}",
        "ssh-ed25519 %%%",
        f"ssh-ed25519 {BLOB} a\nssh-ed25519 {BLOB} b",
        "ssh-dss AAAA",
    ],
)
def test_anything_but_one_plain_key_is_refused(line: str) -> None:
    with pytest.raises(InvalidArgument):
        accounts.parse_ssh_key("u_1", line, "", "")
