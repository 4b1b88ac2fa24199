"""`boxd connect` by SSH, with a program in the place of ssh; the guest's own sshd is in tests/guests/test_ssh.py."""

from __future__ import annotations

import dataclasses
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import free_port

FAKE = """#!/bin/sh
printf '%s\\n' "$@" > {directory}/argv
while [ $# -gt 0 ]; do
    case $1 in
        -E) said=$2 ;;
        "LocalCommand "*) command=${{1#LocalCommand }} ;;
    esac
    shift
done
[ -e {directory}/in ] && sh -c "$command"
cat {directory}/words > "$said"
echo the shell
exit $(cat {directory}/status)
"""


@pytest.fixture
def ssh(tmp_path: Path, boxd) -> Path:
    """Where what the program finds and leaves is: `in` lets it log in, `status` and `words` are what it ends with."""
    directory = tmp_path / "ssh"
    directory.mkdir()
    program = directory / "ssh"
    program.write_text(FAKE.format(directory=directory))
    program.chmod(0o755)
    (directory / "words").touch()
    boxd.environ["PATH"] = f"{directory}:{boxd.environ['PATH']}"
    return directory


@pytest.fixture
def port(service, web) -> Iterator[int]:
    """The machine's port, on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        service._machines[web.id] = dataclasses.replace(service._machines[web.id], ssh_port=port)
        yield port


PROMPT = b"# " if os.geteuid() == 0 else b"$ "
"""Of the fake guest's shell, which is that of whoever runs the tests."""


async def connect(boxd, *flags: str, reply: bytes = b"", until: bytes = b"never") -> tuple[int, str]:
    status, shown = await boxd.on_terminal("connect", *flags, "web", until=until, reply=reply)
    return status, shown.decode()


async def test_the_shell_is_the_guests_sshds(boxd, web, service, ssh, port):
    (ssh / "in").touch()
    (ssh / "status").write_text("7")
    assert await connect(boxd) == (7, "the shell\r\n")
    argv = (ssh / "argv").read_text().splitlines()
    home = Path(boxd.environ["HOME"]) / ".config/boxd"
    for word in (
        f"Port {port}",
        "HostName 127.0.0.1",
        "User boxd",
        f"HostKeyAlias {web.id}.boxd",
        "StrictHostKeyChecking yes",
        f'IdentityFile "{home}/ssh_ed25519"',
        f'UserKnownHostsFile "{home}/ssh_known_hosts"',
    ):
        assert argv[argv.index(word) - 1] == "-o"
    assert (argv[:2], argv[-2:]) == (["-F", "none"], ["-t", "web.boxd"])
    assert (home / "ssh_known_hosts").read_text() == f"@cert-authority *.boxd {service.ssh_host_key}\n"
    public = (home / "ssh_ed25519.pub").read_text().split()[1]
    assert [public in key.public_key for key in service.ssh_keys(None)] == [True]
    assert service.sessions == []


async def test_a_connection_that_breaks_is_told_and_is_125(boxd, web, service, ssh, port):
    (ssh / "in").touch()
    (ssh / "status").write_text("255")
    (ssh / "words").write_text("Timeout, server 127.0.0.1 not responding.\r\n")
    status, shown = await connect(boxd)
    assert status == 125
    assert shown.startswith(
        "the shell\r\nerror: the connection to machine 'web' has ended: Timeout, server 127.0.0.1 not responding.; "
    )
    assert service.sessions == []  # nobody is led into another shell unasked


async def test_where_ssh_does_not_get_in_the_agent_does(boxd, web, service, ssh, port):
    (ssh / "status").write_text("255")
    (ssh / "words").write_text("boxd@127.0.0.1: Permission denied (publickey).\r\n")
    status, shown = await connect(boxd, reply=b"exit 3\n", until=PROMPT)
    assert status == 3
    assert "SSH is not possible (boxd@127.0.0.1: Permission denied (publickey).); this shell comes thr" in shown
    assert len(service.sessions) == 1


async def test_nobody_listens_at_the_machines_port(boxd, web, service, ssh):
    port = free_port()
    service._machines[web.id] = dataclasses.replace(service._machines[web.id], ssh_port=port)
    status, shown = await connect(boxd, reply=b"exit 3\n", until=PROMPT)
    assert (status, f"(nobody listens on port {port} of 127.0.0.1: Connection refused)" in shown) == (3, True), shown
    assert not (ssh / "argv").exists()


async def test_the_agents_way_can_be_asked_for(boxd, web, service, ssh, port):
    status, shown = await connect(boxd, "--agent", reply=b"exit 4\n", until=PROMPT)
    assert (status, "SSH" in shown, (ssh / "argv").exists()) == (4, False, False)


async def test_an_unknown_machine_is_125(boxd, web, ssh):
    status, shown = await boxd.on_terminal("connect", "wbe", until=b"never", reply=b"")
    assert (status, shown.splitlines()[0]) == (125, b"error: VM 'wbe' not found")
