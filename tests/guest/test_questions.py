"""What the guest asks the daemon: SSH user keys, and who it is."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from openboxd.errors import NotFound
from openboxd.guest import payload, wire
from openboxd.guest.connector import ChannelConnector
from tests.guest.rig import FAST, PYTHON, Rig, until, within
from tests.guest.test_hostile import Guest, guest

__all__ = ["guest"]  # a fixture


class Daemon:
    """Answers as the daemon would."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self.identity: dict[str, Any] = {}
        self.asked: list[dict[str, Any]] = []
        self.hold = asyncio.Event()
        self.hold.set()

    async def __call__(self, socket: Path, question: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(question | {"socket": socket})
        await self.hold.wait()
        if question["op"] == "keys":
            key = self.keys.get(question["fingerprint"])
            return {"keys": [key] if key and question["user"] == "boxd" else []}
        if question["op"] == "identity":
            return {} if question["certificate"] == self.identity.get("certificate") else self.identity
        raise NotFound("no such question")


async def ask(rig: Rig, line: bytes) -> bytes:
    """What sshd's program would do."""
    reader, writer = await asyncio.open_unix_connection(rig.keys)
    try:
        writer.write(line)
        return await within(reader.read())
    except ConnectionResetError:  # hung up without reading everything
        return b""
    finally:
        writer.close()


async def test_keys_are_asked_for_at_every_login(rig: Rig) -> None:
    daemon = Daemon()
    agent = await rig.connect(questions=daemon)
    assert await ask(rig, b"boxd SHA256:abc\n") == b""
    daemon.keys["SHA256:abc"] = "ssh-ed25519 AAAA me"
    assert await ask(rig, b"boxd SHA256:abc\n") == b"ssh-ed25519 AAAA me\n"
    assert await ask(rig, b"root SHA256:abc\n") == b""
    del daemon.keys["SHA256:abc"]
    assert await ask(rig, b"boxd SHA256:abc\n") == b""
    assert daemon.asked[-1]["socket"] == rig.socket
    await agent.close("the test is over")


async def test_the_program_that_sshd_runs_prints_the_key(rig: Rig) -> None:
    daemon = Daemon()
    daemon.keys["SHA256:abc"] = "ssh-ed25519 AAAA me"
    agent = await rig.connect(questions=daemon)
    program = rig.base / payload.ASK_KEYS.lstrip("/")
    for fingerprint, status, output in (("SHA256:abc", 0, b"ssh-ed25519 AAAA me\n"), ("SHA256:x", 0, b"")):
        arguments = (PYTHON, "-I", "-S", program, "boxd", fingerprint, rig.keys)
        process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
        out, _ = await within(process.communicate())
        assert (process.returncode, out) == (status, output)
    await agent.close("the test is over")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a user who is not root")
async def test_only_root_may_ask(rig: Rig) -> None:
    assert rig.keys.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("line", [b"boxd\n", b"\n", b"a b c\n", b"x" * 2000, b"\xff\xff\n"])
async def test_nonsense_is_not_passed_on(rig: Rig, line: bytes) -> None:
    daemon = Daemon()
    agent = await rig.connect(questions=daemon)
    assert await ask(rig, line) == b""
    assert not [question for question in daemon.asked if question["op"] == "keys"]
    await agent.close("the test is over")


async def test_a_login_without_a_daemon_is_refused_at_once(rig: Rig) -> None:
    daemon = Daemon()
    daemon.hold.clear()
    agent = await rig.connect(questions=daemon)
    asking = asyncio.create_task(ask(rig, b"boxd SHA256:abc\n"))
    await until(lambda: any(question["op"] == "keys" for question in daemon.asked))
    await agent.close("the daemon goes")
    again = await rig.connect(questions=Daemon())
    assert await within(asking) == b""
    await again.close("the test is over")


async def test_the_host_key_comes_with_an_epoch_if_it_is_another(rig: Rig) -> None:
    daemon = Daemon()
    daemon.identity = {"key": "private\n", "public": "public\n", "certificate": "certificate\n"}
    agent = await rig.connect(questions=daemon)
    key, certificate = rig.ssh / "ssh_host_ed25519_key", rig.ssh / "ssh_host_ed25519_key-cert.pub"
    await until(certificate.exists)
    assert key.read_text() == "private\n"
    assert key.stat().st_mode & 0o777 == 0o600
    assert (rig.ssh / "ssh_host_ed25519_key.pub").read_text() == "public\n"
    assert {file.name for file in rig.ssh.iterdir()} == {key.name, certificate.name, f"{key.name}.pub"}
    before = certificate.stat().st_ino
    await agent.close("the daemon goes")
    agent = await rig.connect(questions=daemon)
    await until(lambda: sum(question["op"] == "identity" for question in daemon.asked) == 2)
    asked = [question for question in daemon.asked if question["op"] == "identity"]
    assert asked[-1]["certificate"] == "certificate\n"
    assert await ask(rig, b"boxd SHA256:abc\n") == b""  # the answer to the other question is in by now
    assert certificate.stat().st_ino == before
    await agent.close("the test is over")


async def test_a_hostile_guest_cannot_make_the_daemon_work_without_end(guest: Guest) -> None:
    daemon = Daemon()
    daemon.hold.clear()
    agent = await ChannelConnector(FAST, daemon).connect(guest.path, "web")
    await agent.wait_ready(10)
    answers: list[tuple[int, int, bytes]] = []

    async def on_frame(_: Guest, kind: int, ident: int, payload: bytes) -> None:
        answers.append((kind, ident, payload))

    guest.on_frame = on_frame
    question = json.dumps({"op": "keys", "user": "boxd", "fingerprint": "x"}).encode()
    for number in range(40):
        guest.send(wire.frame(wire.OPEN, wire.GUEST_STREAM | number, question))
    await until(lambda: len(answers) == 8)
    assert {kind for kind, _, _ in answers} == {wire.RESET}
    assert len(daemon.asked) == 32
    daemon.hold.set()
    await until(lambda: len(answers) == 40)
    epochs = guest.epochs
    guest.send(wire.frame(wire.OPEN, wire.GUEST_STREAM | 99, b'"' + b"x" * 9000 + b'"'))
    await until(lambda: guest.epochs > epochs)
    await agent.close("the test is over")


async def test_refusals_and_faults_are_answers(guest: Guest) -> None:
    async def fails(socket: Path, question: dict[str, Any]) -> dict[str, Any]:
        if question["op"] == "fault":
            raise RuntimeError("a bug")
        raise NotFound("no such thing")

    agent = await ChannelConnector(FAST, fails).connect(guest.path, "web")
    await agent.wait_ready(10)
    answers: list[dict[str, Any]] = []

    async def on_frame(_: Guest, kind: int, ident: int, payload: bytes) -> None:
        answers.append(json.loads(payload))

    guest.on_frame = on_frame
    guest.send(wire.frame(wire.OPEN, wire.GUEST_STREAM | 1, b'{"op":"fault"}'))
    await until(lambda: len(answers) == 1)
    guest.send(wire.frame(wire.OPEN, wire.GUEST_STREAM | 1, b'{"op":"x"}'))
    await until(lambda: len(answers) == 2)
    assert answers == [
        {"error": "failed", "message": "the daemon failed"},
        {"error": "refused", "message": "no such thing"},
    ]
    await agent.close("the test is over")
