"""What outlives a daemon for its clients: listening sockets and Caddy, so that people wait rather than be refused."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from openboxd.edge.ask import answering
from openboxd.edge.caddy import Caddy, certificate_wanted, running
from openboxd.edge.caddy_config import Front
from openboxd.edge.gates import Gates
from openboxd.edge.kept import Kept
from openboxd.errors import InvalidArgument
from openboxd.host import pidfd
from openboxd.model import Way
from openboxd.settings import load
from tests.edge.agents import FakeAgent
from tests.edge.guests import LIMIT, Client, saying, until
from tests.edge.https import ZONE, Site, alive, app, made_front
from tests.lab import free_port

WAIT = 60.0


def find_keepers(home: Path) -> list[pidfd.Found]:
    return pidfd.find(lambda argv: "openboxd.edge.keeper" in argv and argv[-1].startswith(f"{home}/"))


def keepers(home: Path) -> list[int]:
    """Pids of the keepers of this directory."""
    found = find_keepers(home)
    for process in found:
        os.close(process.pidfd)
    return [process.pid for process in found]


def end_keepers(home: Path) -> None:
    """Ask all keepers of this directory to end; one may do so by itself meanwhile."""
    for process in find_keepers(home):
        pidfd.send(process.pidfd, signal.SIGTERM)
        os.close(process.pidfd)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    end_keepers(tmp_path)


@asynccontextmanager
async def kept_in(home: Path, wait: float = WAIT) -> AsyncIterator[Kept]:
    """What one daemon after another has."""
    kept = Kept(home, wait)
    await kept.open()
    try:
        yield kept
    finally:
        kept.close()


async def speaking(port: int, text: bytes) -> FakeAgent:
    agent = FakeAgent()
    await agent.serve(port, saying(text))
    return agent


async def heard(client: Client) -> bytes:
    client.writer.write_eof()
    text = await client.rest()
    client.close()
    return text


async def test_those_who_come_between_two_daemons_wait_for_the_second(home: Path) -> None:
    first, second = await speaking(80, b"first\n"), await speaking(80, b"second\n")
    ways = [Way(80, host="web"), Way(80, domain="www.example.org"), Way(80, public_port=free_port())]
    gone = Way(80, public_port=free_port())
    async with kept_in(home) as kept:
        gates = Gates(home / "gates", "127.0.0.1", kept=kept)
        await gates.arrange("m1", "web", ways)
        await gates.arrange("m2", "old", [gone])
        for machine in ("m1", "m2"):
            await gates.open(machine, first)
        assert await heard(await Client.connect(ways[2].public_port)) == b"first\n"
        await gates.close()
    files = [home / "gates/web", home / "gates/=www.example.org"]
    waiting = [Client(*await asyncio.open_unix_connection(path)) for path in files]
    waiting += [await Client.connect(ways[2].public_port) for _ in range(50)]
    turned_away = await Client.connect(gone.public_port)
    async with kept_in(home) as kept:
        gates = Gates(home / "gates", "127.0.0.1", kept=kept)
        await gates.arrange("m1", "web", ways)  # the other machine was removed meanwhile
        gates.sweep()
        await gates.open("m1", second)
        assert await asyncio.gather(*map(heard, waiting)) == [b"second\n"] * 52
        with pytest.raises(ConnectionError):
            await turned_away.rest()
        with pytest.raises(ConnectionRefusedError):
            await Client.connect(gone.public_port)
        await gates.arrange("m1", "web", [])  # what is taken away is refused at once
        with pytest.raises(ConnectionRefusedError):
            await Client.connect(ways[2].public_port)
        assert list((home / "gates").iterdir()) == []
        await gates.close()
    turned_away.close()
    await first.end()
    await second.end()


async def test_a_request_under_way_may_end_before_the_daemon_does(home: Path) -> None:
    release = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        release.set()
        await asyncio.sleep(0.1)
        writer.write(b"whole answer")

    agent = FakeAgent()
    await agent.serve(80, slow)
    gates = Gates(home / "gates", "127.0.0.1")
    await gates.arrange("m1", "web", [Way(80, host="web")])
    await gates.open("m1", agent)
    client = Client(*await asyncio.open_unix_connection(home / "gates/web"))
    client.writer.write(b"question\n")
    await asyncio.wait_for(release.wait(), LIMIT)
    await gates.close()
    assert await client.rest() == b"whole answer"
    client.close()
    await agent.end()


async def test_another_address_is_listened_on_at_once(home: Path) -> None:
    port = free_port()
    for host in ("127.0.0.1", "0.0.0.0"):
        async with kept_in(home) as kept:
            gates = Gates(home / "gates", host, kept=kept)
            await gates.arrange("m1", "web", [Way(80, public_port=port)])
            assert gates.problems() == []
            await gates.close()


async def test_nobody_waits_for_ever(home: Path) -> None:
    port = free_port()
    async with kept_in(home, wait=0.3) as kept:
        gates = Gates(home / "gates", "127.0.0.1", kept=kept)
        await gates.arrange("m1", "web", [Way(80, public_port=port)])
        await gates.close()
    await until(lambda: keepers(home) == [], "the keeper's end")
    with pytest.raises(ConnectionRefusedError):
        await Client.connect(port)
    assert not (home / "keeper.sock").exists()


async def test_a_daemon_that_ends_for_good_leaves_nobody_waiting(home: Path) -> None:
    kept = Kept(home, WAIT)
    await kept.open()
    assert len(keepers(home)) == 1
    kept.close(for_good=True)
    await until(lambda: keepers(home) == [], "the keeper's end")


async def test_a_keeper_that_was_killed_is_replaced_and_holds_everything(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await speaking(80, b"hello\n")
    way = Way(80, public_port=free_port())
    async with kept_in(home) as kept:
        gates = Gates(home / "gates", "127.0.0.1", kept=kept)
        await gates.arrange("m1", "web", [way])
        [first] = keepers(home)
        monkeypatch.setattr("openboxd.edge.kept.HASTE", 0.0)
        os.kill(first, signal.SIGKILL)
        await until(lambda: keepers(home) not in ([], [first]), "another keeper")
        await gates.close()
    waiting = await Client.connect(way.public_port)
    async with kept_in(home) as kept:
        gates = Gates(home / "gates", "127.0.0.1", kept=kept)
        await gates.arrange("m1", "web", [way])
        await gates.open("m1", agent)
        assert await heard(waiting) == b"hello\n"
        await gates.close()
    await agent.end()


async def test_a_keeper_that_ends_at_once_is_not_started_for_ever(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/true")
    async with kept_in(home) as kept:
        await until(lambda: not kept.works, "the loss of the keeper")
        kept.keep("tcp:x", 0)  # harmless
        await asyncio.sleep(0.1)
        assert not kept.works
    assert "clients will not wait while this daemon is restarted" in caplog.text


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "", "99999"])
def test_what_is_no_number_of_seconds_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidArgument, match="BOXD_HANDOVER is"):
        load(tmp_path, environ={"BOXD_HANDOVER": text})
    assert load(tmp_path, environ={"BOXD_HANDOVER": "0"}).handover == 0


async def test_a_keeper_that_cannot_be_started_is_no_obstacle(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    async with kept_in(home) as kept:
        assert not kept.works
        gates = Gates(home / "gates", "127.0.0.1", kept=kept)
        await gates.arrange("m1", "web", [Way(80, host="web")])
        assert gates.problems() == []
        await gates.close()


@asynccontextmanager
async def caddy_of(home: Path, front: Front, kept: Kept) -> AsyncIterator[Site]:
    async with (
        answering(certificate_wanted(front), kept) as url,
        running(Caddy(replace(front, ask=url), home, kept=kept)) as caddy,
    ):
        await asyncio.wait_for(caddy.ready.wait(), LIMIT)
        yield Site(caddy.front, caddy)


async def test_caddy_serves_on_and_requests_wait_while_the_daemon_is_restarted(home: Path) -> None:
    agent = FakeAgent()
    await agent.serve(80, app)
    ways = [Way(80, host="web"), Way(80, host="api.web")]
    async with made_front(home) as front:
        async with kept_in(home) as kept:
            gates = Gates(front.gates, "127.0.0.1", kept=kept)
            await gates.arrange("m1", "web", ways)
            await gates.open("m1", agent)
            async with caddy_of(home, front, kept) as site:
                pid = site.caddy.pid
                reader, writer = await site.connect(f"web.{ZONE}")
            await gates.close()
        assert alive(pid)
        writer.write(f"GET /kept HTTP/1.1\r\nHost: web.{ZONE}\r\nConnection: close\r\n\r\n".encode())
        post = b"POST /new HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
        asking = [asyncio.create_task(site.ask(f"web.{ZONE}", post)) for _ in range(20)]
        asking.append(asyncio.create_task(site.ask(f"api.web.{ZONE}")))  # whose certificate is asked for only now
        done, _ = await asyncio.wait(asking, timeout=0.3)
        assert not done
        async with kept_in(home) as kept:
            gates = Gates(front.gates, "127.0.0.1", kept=kept)
            await gates.arrange("m1", "web", ways)
            await gates.open("m1", agent)
            async with caddy_of(home, front, kept) as site:
                assert site.caddy.pid == pid
                answers = [*await asyncio.gather(*asking), await asyncio.wait_for(reader.read(), LIMIT)]
                assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * 22
                writer.close()
            await gates.close()
        end_keepers(home)
        await until(lambda: not alive(pid), "the end of Caddy with its keeper")
    await agent.end()


async def test_another_configuration_needs_another_caddy(home: Path) -> None:
    async with made_front(home) as front:
        pids = []
        for wanted in (front, front, replace(front, domains={"www.example.org": "web"})):
            async with kept_in(home) as kept, caddy_of(home, wanted, kept) as site:
                pids.append(site.caddy.pid)
    assert pids[0] == pids[1] != pids[2]
    assert not alive(pids[0])


async def test_a_caddy_that_was_taken_over_is_watched_as_well(home: Path) -> None:
    async with made_front(home) as front:
        async with kept_in(home) as kept, caddy_of(home, front, kept) as site:
            first = site.caddy.pid
        async with kept_in(home) as kept, caddy_of(home, front, kept) as site:
            assert site.caddy.pid == first
            os.kill(first, signal.SIGKILL)
            await until(lambda: site.caddy.pid not in (0, first) and site.caddy.ready.is_set(), "another Caddy")
