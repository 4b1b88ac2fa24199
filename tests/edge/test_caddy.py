"""The HTTPS front with the real Caddy: names, certificates, redirects, swaps under load, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from openboxd.edge.caddy import Caddy, running
from openboxd.edge.caddy_config import Front, caddy_config
from openboxd.edge.gates import Gates
from openboxd.edge.serve import findings
from openboxd.host.programs import find
from tests.edge.guests import LIMIT, Client, Guest, until
from tests.edge.https import ZONE, Site, alive, app, made_front, serving

GOLDEN = Path(__file__).parent / "golden"
FRONT = Front(
    zone=ZONE,
    https="127.0.0.1:8443",
    http="127.0.0.1:8080",
    gates=Path("/run/boxd/1/gates"),
    storage=Path("/home/boxd/caddy"),
    root=Path("/home/boxd/tls/ca.crt"),
    root_key=Path("/home/boxd/tls/ca.key"),
    ask="http://127.0.0.1:1/secret",
)
PUBLIC = replace(
    FRONT,
    zone="example.org",
    https="0.0.0.0:443",
    http="0.0.0.0:80",
    api="127.0.0.1:9443",
    acme_email="me@example.org",
    acme_directory="https://acme.example.net/directory",
    domains={"www.example.com": "web"},
)


@pytest.mark.parametrize(("name", "front"), [("own-root", FRONT), ("acme", PUBLIC)])
def test_the_configuration_is_the_golden_one(name: str, front: Front) -> None:
    golden = GOLDEN / f"caddy-{name}.json"
    made = json.dumps(caddy_config(front), indent=1) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(made)
    assert made == golden.read_text()


async def test_machines_and_their_named_routes_come_and_go_without_a_word_to_caddy(tmp_path: Path) -> None:
    guest = Guest()
    await guest.start(app)
    async with serving(tmp_path) as site:
        pid = site.caddy.pid
        assert b" 404 " in (await site.ask(f"web.{ZONE}")).split(b"\r\n")[0]
        web, api = site.gate("web", guest), site.gate("api.web", guest)
        assert b" 200 " in (await site.ask(f"web.{ZONE}")).split(b"\r\n")[0]
        assert b" 200 " in (await site.ask(f"api.web.{ZONE}")).split(b"\r\n")[0]
        with pytest.raises(ssl.SSLError):  # nothing there: no certificate is made
            await site.ask(f"other.web.{ZONE}")
        await web.close()
        (site.front.gates / "web").unlink()
        assert b" 404 " in (await site.ask(f"web.{ZONE}")).split(b"\r\n")[0]
        assert site.caddy.pid == pid
        await api.close()
    await guest.kill()


async def test_the_app_sees_the_original_host_and_who_asked_and_nothing_forged(tmp_path: Path) -> None:
    guest = Guest()
    await guest.start(app)
    async with serving(tmp_path) as site:
        gate = site.gate("web", guest)
        seen = (await site.ask(f"web.{ZONE}", b"GET /path?q=1 HTTP/1.1\r\nX-Forwarded-For: 6.6.6.6")).decode()
        assert "GET /path?q=1 HTTP/1.1" in seen
        assert f"Host: web.{ZONE}\r\n" in seen
        assert "X-Forwarded-For: 127.0.0.1\r\n" in seen
        assert "X-Forwarded-Proto: https\r\n" in seen
        assert f"X-Forwarded-Host: web.{ZONE}\r\n" in seen
        await gate.close()
    await guest.kill()


async def test_http_redirects_and_http2_is_spoken(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        port = int(site.front.http.rpartition(":")[2])
        client = await Client.connect(port)
        client.writer.write(f"GET /a?b=c HTTP/1.1\r\nHost: web.{ZONE}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = await client.rest()
        assert answer.startswith(b"HTTP/1.1 308 ")
        assert f"Location: https://web.{ZONE}:{site.front.https_port}/a?b=c\r\n".encode() in answer
        client.close()
        _, writer = await site.connect(f"web.{ZONE}", alpn="h2")
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        writer.close()


@pytest.mark.parametrize(
    "host", ["..", ".web", "web/../web", "%77eb", "a.b.web", "-web", "web-", "web_1", "w" * 64, ".", "web.boxd"]
)
async def test_tricks_in_the_host_lead_nowhere(tmp_path: Path, host: str) -> None:
    guest = Guest()
    await guest.start(app)
    async with serving(tmp_path) as site:
        gate = site.gate("web", guest)
        reader, writer = await site.connect(f"web.{ZONE}")
        writer.write(f"GET / HTTP/1.1\r\nHost: {host}.{ZONE}\r\nConnection: close\r\n\r\n".encode())
        answer = await asyncio.wait_for(reader.read(), LIMIT)
        assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 "))
        assert guest.accepted == 0
        writer.close()
        await gate.close()
    await guest.kill()


async def test_a_stopped_machine_says_so(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        gate = site.gate("web", Guest())
        await gate.shut("machine 'web' is stopped; start it first")
        answer = await site.ask(f"web.{ZONE}")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 30" in answer
        assert answer.endswith(b"machine 'web' is stopped; start it first\n")
        await gate.close()


async def test_the_longest_names_work(tmp_path: Path) -> None:
    guest = Guest()
    await guest.start(app)
    name = f"{'l' * 63}.{'m' * 40}"
    async with serving(tmp_path) as site:
        gate = site.gate(name, guest)
        assert b" 200 " in (await site.ask(f"{name}.{ZONE}")).split(b"\r\n")[0]
        await gate.close()
    await guest.kill()


async def test_a_domain_of_ones_own_leads_to_a_machine(tmp_path: Path) -> None:
    guest = Guest()
    await guest.start(app)
    async with serving(tmp_path, {"www.example.org": "web"}) as site:
        gate = site.gate("web", guest)
        assert b"Host: www.example.org" in await site.ask("www.example.org")
        await gate.close()
    await guest.kill()


@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1", b"POST /slow HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"])
async def test_five_swaps_under_load_fail_no_new_request(tmp_path: Path, request_line: bytes) -> None:
    """A new HTTPS connection every 20 ms, while the guest is killed and comes back five times."""
    guest = Guest()
    await guest.start(app)
    waits: list[float] = []

    async def one(site: Site) -> None:
        began = time.monotonic()
        answer = await site.ask(f"web.{ZONE}", request_line)
        assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]
        waits.append(time.monotonic() - began)

    async def load(site: Site, asking: list[asyncio.Task[None]], enough: asyncio.Event) -> None:
        while not enough.is_set():
            asking.append(asyncio.create_task(one(site)))
            await asyncio.sleep(0.02)

    async with serving(tmp_path) as site:
        gate = site.gate("web", guest)
        asking: list[asyncio.Task[None]] = []
        enough = asyncio.Event()
        loading = asyncio.create_task(load(site, asking, enough))
        held = []
        for _ in range(5):
            before = len(waits)
            await until(lambda before=before: len(waits) >= before + 10, "answers between swaps")
            await gate.hold()
            await guest.kill()
            await until(lambda: gate.waiting >= 15, "requests that wait")
            await guest.start(app)
            held.append(gate.release())
        enough.set()
        await loading
        await asyncio.gather(*asking)
        await gate.close()
    await guest.kill()
    assert all(report.connections >= 15 for report in held)
    longest = max(report.longest_ms for report in held)
    print(f"\n{len(waits)} requests, 0 failed; p50 {sorted(waits)[len(waits) // 2] * 1000:.0f} ms, ", end="")
    print(f"longest {max(waits) * 1000:.0f} ms, longest in the gate {longest} ms")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_request_that_several_swaps_cut_is_sent_again(tmp_path: Path, method: str) -> None:
    """As where the guest is slow and somebody restores it again and again."""
    guest, taken = Guest(), asyncio.Queue[None]()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        taken.put_nowait(None)
        await asyncio.Event().wait()

    await guest.start(slow)
    async with serving(tmp_path) as site:
        gate = site.gate("web", guest)
        asking = asyncio.create_task(site.ask(f"web.{ZONE}", f"{method} / HTTP/1.1".encode()))
        for handler in (slow, slow, app):
            await asyncio.wait_for(taken.get(), LIMIT)
            await gate.hold(0)
            await guest.kill()
            await guest.start(handler)
            gate.release()
        assert (await asking).startswith(b"HTTP/1.1 200 ")
        await gate.close()
    await guest.kill()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_request_with_effects_is_cut_and_not_sent_again(tmp_path: Path, method: str) -> None:
    guest, taken = Guest(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        taken.set()
        await asyncio.Event().wait()

    await guest.start(slow)
    async with serving(tmp_path) as site:
        gate = site.gate("web", guest)
        asking = asyncio.create_task(site.ask(f"web.{ZONE}", f"{method} / HTTP/1.1".encode()))
        await asyncio.wait_for(taken.wait(), LIMIT)
        await gate.hold(0)
        await guest.kill()
        await guest.start(app)
        waiting = asyncio.create_task(site.ask(f"web.{ZONE}", f"{method} /new HTTP/1.1".encode()))
        answer = await asking
        assert answer.startswith(b"HTTP/1.1 502 ") and b"was cut" in answer
        gate.release()
        assert (await waiting).startswith(b"HTTP/1.1 200 "), "one that is new only waits"
        await gate.close()
    await guest.kill()


async def test_a_websocket_is_cut_once_and_a_new_one_waits_for_the_swap(tmp_path: Path) -> None:
    guest = Guest()
    await guest.start(app)

    async def upgraded(site: Site) -> Client:
        reader, writer = await site.connect(f"web.{ZONE}")
        writer.write(f"GET /ws HTTP/1.1\r\nHost: web.{ZONE}\r\nConnection: Upgrade\r\n".encode())
        writer.write(b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n")
        writer.write(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        assert b" 101 " in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LIMIT)
        return Client(reader, writer)

    async with serving(tmp_path) as site:
        gate, other = site.gate("web", guest), site.gate("other", guest)
        socket_ = await upgraded(site)
        assert await socket_.ask(b"one") == b"one"
        swap = asyncio.create_task(gate.hold(drain=0.05))
        assert await socket_.rest() == b""
        await swap
        again = asyncio.create_task(upgraded(site))
        await until(lambda: gate.waiting == 1, "the reconnect to wait")
        await other.close()  # somebody else's machine goes meanwhile
        (site.front.gates / "other").unlink()
        gate.release()
        socket_ = await again
        assert await socket_.ask(b"two") == b"two"
        socket_.close()
        await gate.close()
    await guest.kill()


async def test_caddy_is_started_again_and_serves_as_before(tmp_path: Path) -> None:
    guest = Guest()
    await guest.start(app)
    async with made_front(tmp_path) as front, running(Caddy(front, tmp_path, pauses=(0.01,))) as caddy:
        site = Site(front, caddy)
        gate = site.gate("web", guest)
        await asyncio.wait_for(caddy.ready.wait(), LIMIT)
        first = caddy.pid
        os.kill(first, signal.SIGKILL)
        await until(lambda: caddy.pid not in (0, first) and caddy.ready.is_set(), "another Caddy")
        assert b" 200 " in (await site.ask(f"web.{ZONE}")).split(b"\r\n")[0]
        await gate.close()
    assert not alive(caddy.pid) or caddy.pid == 0
    await guest.kill()


async def test_a_taken_port_is_reported_and_caddy_comes_when_it_is_free(tmp_path: Path) -> None:
    async with made_front(tmp_path) as front:
        with socket.socket() as squatter:
            squatter.bind(("127.0.0.1", front.https_port))
            squatter.listen(1)
            caddy = Caddy(front, tmp_path, pauses=(0.01,))
            task = asyncio.create_task(caddy.keep_running())
            await until(lambda: "address already in use" in caddy.problem, "the report")
            assert front.https in caddy.problem
            assert not caddy.ready.is_set()
        await asyncio.wait_for(caddy.ready.wait(), LIMIT)
        assert caddy.problem == ""
        task.cancel()
        await asyncio.wait([task])


async def test_a_missing_caddy_is_reported_and_started_when_it_is_there(tmp_path: Path) -> None:
    program = tmp_path / "caddy-to-come"
    async with (
        made_front(tmp_path) as front,
        running(Caddy(front, tmp_path, program=str(program), pauses=(0.05,))) as caddy,
    ):
        await until(lambda: "not installed" in caddy.problem, "the report")
        [told] = findings(caddy, Gates(tmp_path / "gates", "127.0.0.1"))
        assert (told.subject, told.verdict) == ("HTTPS", "warning")
        assert "machines have no HTTPS domains" in told.detail
        program.symlink_to(find("caddy"))
        await asyncio.wait_for(caddy.ready.wait(), LIMIT)
        [told] = findings(caddy, Gates(tmp_path / "gates", "127.0.0.1"))
        assert (told.subject, told.verdict) == ("HTTPS", "ok")


async def test_a_refused_configuration_is_reported_with_caddys_words_until_it_is_not_refused(tmp_path: Path) -> None:
    async with made_front(tmp_path) as front:
        missing = tmp_path / "no-such-certificate"
        async with running(Caddy(replace(front, root=missing), tmp_path, pauses=(0.2,))) as caddy:
            await until(lambda: "no-such-certificate" in caddy.problem, "the report")
            assert caddy.problem.startswith("Caddy ended with status 1: ")
            assert not caddy.ready.is_set()
            missing.write_bytes(front.root.read_bytes())
            await asyncio.wait_for(caddy.ready.wait(), LIMIT)
            assert caddy.problem == ""


DAEMON = """
import asyncio, sys
from pathlib import Path
from tests.edge.https import serving
async def main():
    async with serving(Path(sys.argv[1])) as site:
        print(site.caddy.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def test_caddy_never_outlives_its_daemon(tmp_path: Path) -> None:
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    pid = int(daemon.stdout.readline())
    assert alive(pid)
    daemon.kill()
    daemon.wait()
    daemon.stdout.close()
    deadline = time.monotonic() + LIMIT
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(pid)


async def test_nothing_that_caddy_keeps_is_open_to_others(tmp_path: Path) -> None:
    async with serving(tmp_path) as site:
        await site.ask(f"web.{ZONE}")
        for path in (tmp_path / "caddy.json", site.front.storage):
            assert path.stat().st_mode & 0o077 == 0, path
