"""`boxd auth`: who one is, API keys and SSH keys, against the real accounts in a real store."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.fakes.service import KEY
from tests.fakes.service_accounts import open_service


@pytest.fixture
async def service(tmp_path):
    opened = await open_service(tmp_path / "fake")
    yield opened
    await opened.close()


async def test_who_one_is(boxd, service):
    data = (await boxd("auth", "--json")).json
    assert data["user_id"] == service.authenticate(KEY).user_id
    assert (data["active_org"], data["organizations"]) == (None, [])
    shown = await boxd("auth")
    assert shown.text.split()[:2] == ["user:", "ada"]
    assert KEY not in shown.text


async def test_a_key_is_printed_bare_and_works(boxd, service):
    made = await boxd("auth", "keys", "create", "ci", "--expires-in-secs", "3600")
    assert re.fullmatch(r"bxd_[A-Za-z0-9]{40}\n", made.text)
    assert made.err == ""
    key = made.text.strip()
    listed = await boxd("auth", "keys", "ls", env={"BOXD_API_KEY": key})
    assert sorted(line.split()[:2] for line in listed.text.splitlines()[1:]) == [
        ["*", "ci"],
        ["owner", f"{KEY[:12]}..."],
    ]
    assert key not in listed.text
    (row,) = [row for row in (await boxd("auth", "keys", "list", "--json")).json if row["name"] == "ci"]
    assert (row["name"], row["key_prefix"], row["expires_at"][-1]) == ("ci", key[:12], "Z")
    assert sorted(key.expires_at > 0 for key in service.api_keys(service.authenticate(KEY))) == [False, True]


async def test_a_token_is_a_credential_too(boxd, service):
    token = (await service.exchange(KEY)).token
    assert (await boxd("auth", "--json", env={"BOXD_TOKEN": token})).status == 0


async def test_keys_are_removed_by_id_name_or_beginning(boxd, service):
    made = [(await boxd("auth", "keys", "create", name, "--json")).json for name in ("a", "b", "c", "twice", "twice")]
    for wanted in (made[0]["id"], "b", made[2]["api_key"][:12]):
        assert (await boxd("auth", "keys", "rm", wanted, "-y")).status == 0
    with_same_name = await boxd("auth", "keys", "remove", "twice", "-y")
    assert (with_same_name.status, made[3]["id"] in with_same_name.err) == (1, True)
    assert (await boxd("auth", "keys", "remove", "ghost", "-y")).status == 1
    left = [key.name for key in service.api_keys(service.authenticate(KEY))]
    assert sorted(left) == ["owner", "twice", "twice"]


async def test_removal_asks_and_a_removed_key_opens_nothing(boxd, service):
    key = (await boxd("auth", "keys", "create", "mine")).text.strip()
    mine = {"BOXD_API_KEY": key}
    unasked = await boxd("auth", "keys", "remove", "mine")
    assert (unasked.status, "-y" in unasked.err) == (2, True)
    status, shown = await boxd.on_terminal("auth", "keys", "remove", "mine", reply=b"n\n", until=b"[y/N]", env=mine)
    assert (status, b"the one that this command uses" in shown) == (1, True)
    status, shown = await boxd.on_terminal("auth", "keys", "remove", "mine", reply=b"y\n", until=b"[y/N]", env=mine)
    assert status == 0, shown
    after = await boxd("auth", env=mine)
    assert (after.status, "unknown" in after.err) == (1, True)
    last = await boxd("auth", "keys", "remove", "owner", "-y")
    assert (last.status, "last API key" in last.err) == (1, True)


@pytest.fixture
def key_pair(tmp_path):
    path = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, "-C", "ada@laptop"], check=True)
    return path


async def test_ssh_keys(boxd, key_pair):
    public = key_pair.with_suffix(".pub")
    added = (await boxd("auth", "ssh-key", "add", str(public), "--json")).json
    assert (added["label"], added["device"]) == ("ada@laptop", "")
    again = (await boxd("auth", "ssh-key", "add", "-", "--json", feed=public.read_bytes())).json
    assert again == added
    assert (await boxd("auth", "ssh-key", "list", "--json")).json == [added]
    assert added["fingerprint"] in (await boxd("auth")).text
    private = await boxd("auth", "ssh-key", "add", str(key_pair))
    assert (private.status, "private key" in private.err) == (1, True)
    rubbish = await boxd("auth", "ssh-key", "add", "-", feed=b"\xff\x00")
    assert (rubbish.status, len(rubbish.err.splitlines())) == (1, 1)
    assert (await boxd("auth", "ssh-key", "rm", "ada@laptop", "-y")).status == 0
    assert (await boxd("auth", "ssh-key", "ls", "--json")).json == []
