"""`boxd machine ssh-config`: the block in the user's files, and nothing else of them."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from openboxd.cli.machine.ssh_config import warn_of_another_home
from openboxd.cli.ssh.block import with_block
from openboxd.cli.ssh.device_key import device_key
from openboxd.cli.ssh.stanzas import Target, account_in, account_line, config_lines, known_hosts_lines
from openboxd.control import accounts
from openboxd.errors import InvalidArgument, OperationFailed
from openboxd.model import User
from tests.fakes.service import KEY
from tests.fakes.service_accounts import open_service

MARKS = ("# BEGIN boxd", "# END boxd")
WEB = Target("web", "00000000-0000-4000-8000-000000000001", 10007)


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        ("", ["x"], "# BEGIN boxd\nx\n# END boxd\n"),
        ("Host a\n", ["x"], "# BEGIN boxd\nx\n# END boxd\nHost a\n"),
        ("a\n# BEGIN boxd\nold\n# END boxd\nb\n", ["x", "y"], "a\n# BEGIN boxd\nx\ny\n# END boxd\nb\n"),
        ("a\n# BEGIN boxd\nold\n# END boxd\nb", [], "a\nb"),
        ("a\r\nb", [], "a\r\nb"),
        ("", [], ""),
        ("# BEGIN boxd-hosts\nz\n# END boxd-hosts\n", [], "# BEGIN boxd-hosts\nz\n# END boxd-hosts\n"),
    ],
)
def test_only_the_block_changes(before: str, lines: list[str], after: str) -> None:
    assert with_block(before, *MARKS, lines) == after
    assert with_block(after, *MARKS, lines) == after


@pytest.mark.parametrize(
    "text",
    ["# BEGIN boxd\n", "# END boxd\n# BEGIN boxd\n", "# BEGIN boxd\n# BEGIN boxd\n# END boxd\n", "# END boxd\n"],
)
def test_marks_that_are_no_pair_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="must be there once each"):
        with_block(text, *MARKS, ["x"])


def test_openssh_reads_the_stanzas_as_meant(tmp_path: Path) -> None:
    config = tmp_path / "config"
    mine = "Port 2222\nHost other\n    User me\n"
    config.write_text(
        with_block(mine, *MARKS, config_lines([WEB], "127.0.0.1", tmp_path / "a key", tmp_path / "known"))
    )
    for host, expected in (
        ("web.boxd", ("hostname 127.0.0.1", "port 10007", "user boxd", f"hostkeyalias {WEB.id}.boxd")),
        ("other", ("hostname other", "port 2222", "user me")),
        ("elsewhere", ("port 2222",)),  # what stands in front of every Host is for all of them still
    ):
        shown = subprocess.run(["ssh", "-G", "-F", config, host], capture_output=True, text=True, check=True).stdout
        assert set(expected) <= set(shown.splitlines())
    shown = subprocess.run(["ssh", "-G", "-F", config, "web.boxd"], capture_output=True, text=True, check=True).stdout
    assert f"identityfile {tmp_path}/a key" in shown
    assert f"userknownhostsfile {tmp_path}/known\n" in shown
    assert "kexalgorithms curve25519-sha256," in shown


@pytest.mark.parametrize(
    "target",
    [
        Target("x\n    ProxyCommand evil", WEB.id, 1),
        Target("*", WEB.id, 1),
        Target("web", "id\nMatch exec evil", 1),
        Target("", WEB.id, 1),
    ],
)
def test_a_daemon_cannot_add_lines(target: Target) -> None:
    with pytest.raises(OperationFailed, match="cannot be written into an SSH configuration"):
        config_lines([target], "127.0.0.1", Path("/key"), Path("/known"))


def test_a_host_and_a_path_cannot_either() -> None:
    with pytest.raises(OperationFailed):
        config_lines([WEB], "host\nProxyCommand evil", Path("/key"), Path("/known"))
    with pytest.raises(OperationFailed):
        config_lines([WEB], "127.0.0.1", Path('/k"ey'), Path("/known"))
    with pytest.raises(OperationFailed):
        config_lines([WEB], "127.0.0.1", Path("/key"), Path("/known\nProxyCommand evil"))
    with pytest.raises(OperationFailed, match="an id that cannot be written"):
        account_line("u_1\nMatch exec evil")
    for authority in ("", "ssh-ed25519 AAAA\n* ssh-ed25519 BBBB", "ssh-rsa AAAA"):
        with pytest.raises(OperationFailed, match="no SSH host authority"):
            known_hosts_lines(authority)


def test_the_computers_key_is_made_once_and_private(tmp_path: Path) -> None:
    made = device_key(tmp_path / "boxd")
    assert device_key(tmp_path / "boxd") == made
    assert made.path.stat().st_mode & 0o777 == 0o600
    told = subprocess.run(["ssh-keygen", "-y", "-f", made.path], capture_output=True, text=True, check=True).stdout
    assert told.split()[:2] == made.public_key.split()[:2]
    assert device_key(tmp_path / "other").device != made.device


@pytest.fixture
async def service(tmp_path):
    opened = await open_service(tmp_path / "fake")
    yield opened
    await opened.close()


async def test_the_command_writes_refreshes_and_removes(boxd):
    ssh = Path(boxd.environ["HOME"]) / ".ssh"
    ssh.mkdir(mode=0o700)
    (ssh / "real").write_text("Host mine\n    User me\n")
    (ssh / "config").symlink_to("real")
    await boxd("machine", "new", "web")
    done = await boxd("machine", "ssh-config")
    assert done.status == 0
    # HOME is the test's: ssh would look elsewhere, and is told where.
    assert done.err.endswith(f"; use 'ssh -F {ssh}/config NAME.boxd'\n") and done.err.count("\n") == 1
    assert done.text == "ssh knows web.boxd\n"
    written = (ssh / "config").read_text()
    assert "Host web.boxd\n    HostName 127.0.0.1\n    Port 10000\n" in written
    assert written.endswith("# END boxd\nHost mine\n    User me\n")
    assert (ssh / "config").is_symlink()
    assert (ssh / "known_hosts").read_text().splitlines()[1] == "@cert-authority *.boxd ssh-ed25519 AAAAfake"
    assert (ssh / "known_hosts").stat().st_mode & 0o777 == 0o600
    assert (await boxd("machine", "ssh-config")).status == 0
    assert (ssh / "config").read_text() == written
    await boxd("machine", "new", "db")
    assert "Host db.boxd\n    HostName 127.0.0.1\n    Port 10001\n" in (ssh / "config").read_text()
    await boxd("machine", "rename", "db", "store")
    assert "Host store.boxd\n" in (ssh / "config").read_text()
    await boxd("machine", "remove", "store", "-y")
    assert (ssh / "config").read_text() == written
    other = {"HOME": str(ssh)}  # another computer's user, who keeps no such block
    await boxd("machine", "new", "late", env=other)
    assert (ssh / "config").read_text() == written
    await boxd("ls")
    assert "Host late.boxd\n" in (ssh / "config").read_text()
    await boxd("machine", "remove", "late", "-y", env=other)
    await boxd("ls", "--json")
    assert (ssh / "config").read_text() == written
    keys = await boxd("auth", "ssh-key", "list", "--json")
    assert len(keys.json) == 1
    assert (await boxd("machine", "ssh-config", "--remove")).status == 0
    assert (ssh / "config").read_text() == "Host mine\n    User me\n"
    assert (ssh / "known_hosts").read_text() == ""
    await boxd("machine", "new", "again")
    assert (ssh / "config").read_text() == "Host mine\n    User me\n"  # whoever does not want it is left alone


async def test_another_account_leaves_the_block_alone(boxd, service, monkeypatch):
    """Nor does it vanish with its owner's last machine: they have it again with the next one."""
    await service.store.add_user(User("u_other", "bob"))
    await accounts.add_api_key(service.store, "u_other", "bobs", "bxd_bobs")
    listed = service.machines

    def seen(caller, *what, **how):
        return [] if caller.user_id == "u_other" else listed(caller, *what, **how)

    monkeypatch.setattr(service, "machines", seen)
    bob = {"BOXD_API_KEY": "bxd_bobs"}
    config = Path(boxd.environ["HOME"]) / ".ssh/config"
    await boxd("machine", "new", "web")
    await boxd("machine", "ssh-config")
    written = config.read_text()
    owner = service.authenticate(KEY).user_id
    assert account_in(written.splitlines(), MARKS[0]) == owner
    assert (await boxd("ls", "--json", env=bob)).json == []
    assert config.read_text() == written
    await boxd("machine", "remove", "web", "-y")
    empty = f"# BEGIN boxd\n{account_line(owner)}\n# END boxd\n"
    assert config.read_text() == empty
    await boxd("machine", "new", "web")
    assert "Host web.boxd\n" in config.read_text()
    config.write_text("# BEGIN boxd\n# END boxd\n")  # one that does not say whose it is becomes whose comes first
    await boxd("ls")
    assert account_line(owner) in config.read_text().splitlines()
    assert (await boxd("machine", "ssh-config", env=bob)).status == 0  # who asks for it has the block
    assert config.read_text() == f"# BEGIN boxd\n{account_line('u_other')}\n# END boxd\n"


def test_who_is_at_home_is_not_warned(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    warn_of_another_home()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    warn_of_another_home()
    assert f"'ssh -F {tmp_path}/.ssh/config NAME.boxd'" in capsys.readouterr().err


async def test_files_that_cannot_be_kept_do_not_fail_a_command(boxd):
    ssh = Path(boxd.environ["HOME"]) / ".ssh"
    ssh.mkdir(mode=0o700)
    (ssh / "config").write_text("# BEGIN boxd\n# BEGIN boxd\n")
    done = await boxd("machine", "new", "web")
    assert done.status == 0
    assert "the SSH configuration was not brought up to date" in done.err
    assert (await boxd("machine", "ssh-config")).status == 1
    assert (ssh / "config").read_text() == "# BEGIN boxd\n# BEGIN boxd\n"


async def test_print_changes_nothing(boxd):
    await boxd("machine", "new", "web")
    done = await boxd("machine", "ssh-config", "--print")
    assert done.text.startswith("Host web.boxd\n")
    assert not (Path(boxd.environ["HOME"]) / ".ssh").exists()
    assert (await boxd("auth", "ssh-key", "list", "--json")).json == []
