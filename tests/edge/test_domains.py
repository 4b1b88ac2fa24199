"""Domains outside the zone before the real Caddy: their sockets and certificates, and what a directory is asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from openboxd.edge.caddy import Caddy, certificate_wanted, running
from openboxd.edge.gates import Gates
from openboxd.edge.serve import storage_of, unserved
from openboxd.model import Way
from openboxd.settings import load
from tests.edge.agents import FakeAgent
from tests.edge.guests import LIMIT, Client, Guest
from tests.edge.https import ZONE, Site, app, made_front, serving
from tests.edge.test_caddy import FRONT

DOMAIN = "www.example.org"


async def test_domains_come_and_go_without_a_word_to_caddy(tmp_path: Path) -> None:
    """And a connection of another machine, a WebSocket, lives through it."""
    agent = FakeAgent()
    await agent.serve(8000, app)
    gates = Gates(tmp_path / "gates", "127.0.0.1")
    async with serving(tmp_path) as site:
        await gates.arrange("m1", "web", [Way(0, host="web")])
        await gates.arrange("m2", "other", [Way(0, host="other")])
        for machine in ("m1", "m2"):
            await gates.open(machine, agent)
        reader, writer = await site.connect(f"other.{ZONE}")
        writer.write(f"GET / HTTP/1.1\r\nHost: other.{ZONE}\r\nConnection: Upgrade\r\n".encode())
        writer.write(b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n")
        writer.write(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        assert b" 101 " in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LIMIT)
        others = Client(reader, writer)
        with pytest.raises(ssl.SSLError):  # nobody has it: no certificate is made
            await site.ask(DOMAIN)
        ways = [Way(0, host="web"), Way(0, domain=DOMAIN), Way(8000, domain=f"api.{DOMAIN}")]
        await gates.arrange("m1", "web", ways)
        for host in (DOMAIN, f"api.{DOMAIN}"):
            answer = await site.ask(host)
            assert f"Host: {host}\r\n".encode() in answer
            assert f"X-Forwarded-Host: {host}\r\n".encode() in answer
        await gates.arrange("m1", "web", [Way(0, host="web")])
        assert b" 404 " in (await site.ask(DOMAIN)).split(b"\r\n")[0]  # its certificate is still there
        await gates.arrange("m3", "third", [Way(0, host="third")])
        await gates.drop("m1")
        assert await others.ask(b"untouched") == b"untouched"
        others.close()
        await gates.close()
    await agent.end()


async def test_a_name_that_no_socket_can_have_is_a_problem_that_is_told(tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates", "127.0.0.1", unserved=lambda domain: "no certificate")
    long = f"{'l' * 63}.{'d' * 40}.org"
    await gates.arrange("m1", "web", [Way(80, domain=long), Way(0, domain=DOMAIN)])
    assert "it has more than 107 characters" in gates.domain_problem(long)
    assert gates.domain_problem(DOMAIN) == "no certificate"
    await gates.close()


@pytest.mark.parametrize(
    "name", ["..", "a", "=web", "x/../web", ".web.boxd.localhost", "web.", "Web.boxd.localhost", ""]
)
def test_no_certificate_is_made_for_what_is_no_name(tmp_path: Path, name: str) -> None:
    wanted = certificate_wanted(replace(FRONT, gates=tmp_path))
    (tmp_path / "=web").touch()
    assert not wanted(name)


@dataclass
class Directory:
    """A public certificate directory that is asked and gives nothing."""

    guest: Guest = field(default_factory=Guest)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert b"/directory " in await reader.readline()
        self.asked.set()

    async def is_asked_for(self, site: Site, host: str) -> None:
        """It is asked when somebody comes for this host."""
        connecting = asyncio.create_task(site.connect(host))
        await asyncio.wait_for(self.asked.wait(), LIMIT)
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)


@asynccontextmanager
async def public(home: Path, zone: str) -> AsyncIterator[tuple[Site, Directory]]:
    directory = Directory()
    await directory.guest.start(directory.answer)
    async with made_front(home, zone=zone) as made:
        url = f"http://127.0.0.1:{directory.guest.port}/directory"
        front = replace(made, acme_email="me@example.org", acme_directory=url)
        async with running(Caddy(front, home)) as caddy:
            await asyncio.wait_for(caddy.ready.wait(), LIMIT)
            yield Site(front, caddy), directory
    await directory.guest.kill()


async def test_acme_asks_the_directory_that_was_set_and_only_for_what_exists(tmp_path: Path) -> None:
    async with public(tmp_path, ZONE) as (site, directory):
        web, domain = site.gate("web", directory.guest), site.gate(f"={DOMAIN}", directory.guest)
        with pytest.raises(OSError):
            await site.connect("nobody.example.org")
        (await site.connect(f"web.{ZONE}"))[1].close()  # no directory signs for such a zone: our root does
        assert not directory.asked.is_set()
        await directory.is_asked_for(site, DOMAIN)
        await web.close()
        await domain.close()


async def test_a_public_zone_gets_all_its_certificates_from_the_directory(tmp_path: Path) -> None:
    async with public(tmp_path, "example.org") as (site, directory):
        web = site.gate("web", directory.guest)
        with pytest.raises(OSError):
            await site.connect("nobody.example.org")
        assert not directory.asked.is_set()
        await directory.is_asked_for(site, "web.example.org")
        await web.close()


def test_a_domain_is_pending_until_it_has_a_certificate(tmp_path: Path) -> None:
    ours = load(tmp_path, environ={"BOXD_HOME": str(tmp_path)})
    assert unserved(ours, DOMAIN) == ""
    assert "switched off" in unserved(replace(ours, https="", http=""), DOMAIN)
    acme = replace(ours, acme_email="me@example.org")
    assert "no certificate yet" in unserved(acme, DOMAIN)
    kept = storage_of(acme) / "certificates" / "directory" / DOMAIN
    kept.mkdir(parents=True)
    (kept / f"{DOMAIN}.crt").touch()
    assert unserved(acme, DOMAIN) == ""
