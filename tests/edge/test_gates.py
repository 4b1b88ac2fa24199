"""The gates of machines: which there are, what they do together, and which port a default route finds."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openboxd.edge.gates import Gates
from openboxd.edge.limits import Limits
from openboxd.edge.listener import listen_tcp, listen_udp
from openboxd.model import Held, Way
from tests.edge.agents import FakeAgent
from tests.edge.guests import Client, saying, until
from tests.lab import free_port


@pytest.fixture
async def gates(tmp_path: Path) -> AsyncIterator[Gates]:
    made = Gates(tmp_path / "gates", "127.0.0.1")
    yield made
    await made.close()


@pytest.fixture
async def agent() -> AsyncIterator[FakeAgent]:
    made = FakeAgent()
    await made.serve(8000, saying(b"eight thousand\n"))
    await made.serve(22, saying(b"ssh\n"))
    yield made
    await made.end()


async def said(gates_: Path, host: str) -> bytes:
    """What is heard at a host name's socket."""
    client = Client(*await asyncio.open_unix_connection(gates_ / host))
    client.writer.write_eof()
    text = await client.rest()
    client.close()
    return text


async def said_by_port(port: int) -> bytes:
    client = await Client.connect(port)
    client.writer.write_eof()
    text = await client.rest()
    client.close()
    return text


async def test_ways_lead_to_their_ports(tmp_path: Path, gates: Gates, agent: FakeAgent) -> None:
    port = free_port()
    ways = [Way(8000, host="web"), Way(22, host="shell.web"), Way(22, public_port=port)]
    await gates.arrange("m1", "web", ways)
    await gates.open("m1", agent)
    assert await said(tmp_path / "gates", "web") == b"eight thousand\n"
    assert await said(tmp_path / "gates", "shell.web") == b"ssh\n"
    assert await said_by_port(port) == b"ssh\n"
    await gates.arrange("m1", "web", [Way(8000, host="web")])
    assert [path.name for path in (tmp_path / "gates").iterdir()] == ["web"]
    with pytest.raises(ConnectionRefusedError):
        await said_by_port(port)


async def test_a_route_that_is_led_elsewhere_keeps_its_socket_and_who_waits_there(
    tmp_path: Path, gates: Gates, agent: FakeAgent
) -> None:
    socket = tmp_path / "gates" / "web"
    await gates.arrange("m1", "web", [Way(0, host="web")])
    before = socket.stat()
    asking = asyncio.create_task(said(tmp_path / "gates", "web"))
    await until(lambda: gates.in_use("m1"), "nobody comes to the gate")
    assert not asking.done()
    await gates.arrange("m1", "web", [Way(22, host="web")])
    await gates.open("m1", agent)
    assert await asking == b"ssh\n"
    assert socket.stat() == before
    await gates.arrange("m1", "web", [])
    assert not socket.exists()


async def test_ssh_waits_for_an_sshd_that_is_still_starting(tmp_path: Path, gates: Gates, agent: FakeAgent) -> None:
    port, other = free_port(), free_port()
    await gates.arrange("m1", "web", [Way(22, public_port=port), Way(8000, public_port=other)])
    await gates.open("m1", agent)
    for service in (22, 8000):
        await agent.stop(service)
    asking = asyncio.create_task(said_by_port(port))
    with pytest.raises(ConnectionResetError):  # nobody knows whether anything will ever listen there
        await said_by_port(other)
    assert not asking.done()
    await agent.serve(22, saying(b"ssh at last\n"))
    assert await asking == b"ssh at last\n"


async def test_a_machine_waits_until_its_worker_has_said_how_it_is(
    tmp_path: Path, gates: Gates, agent: FakeAgent
) -> None:
    await gates.arrange("m1", "web", [Way(8000, host="web")])
    asking = asyncio.create_task(said(tmp_path / "gates", "web"))
    await until(lambda: gates.in_use("m1"), "nobody comes to the gate")
    done, _ = await asyncio.wait({asking}, timeout=0.12)
    assert not done
    held = await gates.open("m1", agent)
    assert held.connections == 1
    assert held.longest_ms >= 90
    assert await asking == b"eight thousand\n"


async def test_a_swap_leads_over_to_the_new_agent_and_counts(tmp_path: Path, gates: Gates, agent: FakeAgent) -> None:
    await gates.arrange("m1", "web", [Way(8000, host="web"), Way(22, host="ssh.web")])
    await gates.arrange("m2", "other", [Way(8000, host="other")])
    await gates.open("m1", agent)
    await gates.open("m2", agent)
    open_before = Client(*await asyncio.open_unix_connection(tmp_path / "gates" / "web"))
    others = Client(*await asyncio.open_unix_connection(tmp_path / "gates" / "other"))
    assert await open_before.reader.readline() == b"eight thousand\n"
    gates.hold("m1")
    asking = [asyncio.create_task(said(tmp_path / "gates", name)) for name in ("web", "ssh.web")]
    await gates.drain("m1")
    assert await open_before.rest() == b""
    after = FakeAgent()
    await after.serve(8000, saying(b"restored\n"))
    await after.serve(22, saying(b"restored ssh\n"))
    held = await gates.open("m1", after)
    assert held.connections == 2
    assert await asyncio.gather(*asking) == [b"restored\n", b"restored ssh\n"]
    assert await others.reader.readline() == b"eight thousand\n"
    others.writer.write_eof()
    assert await others.rest() == b""
    await after.end()
    for client in (open_before, others):
        client.close()


async def test_a_stopped_machine_is_shut_with_a_reason(tmp_path: Path, gates: Gates, agent: FakeAgent) -> None:
    await gates.shut("m1", "not there yet: harmless")
    await gates.arrange("m1", "web", [Way(8000, host="web")])
    await gates.shut("m1", "machine 'web' is stopped; start it first")
    assert b"machine 'web' is stopped; start it first" in await said(tmp_path / "gates", "web")
    await gates.arrange("m1", "web", [Way(8000, host="web"), Way(22, host="new.web")])
    assert b"machine 'web' is stopped; start it first" in await said(tmp_path / "gates", "new.web")
    await gates.open("m1", agent)
    assert await said(tmp_path / "gates", "web") == b"eight thousand\n"


async def test_a_renamed_machine_moves_and_another_may_take_its_name(
    tmp_path: Path, gates: Gates, agent: FakeAgent
) -> None:
    await gates.arrange("m1", "web", [Way(8000, host="web")])
    await gates.open("m1", agent)
    await gates.arrange("m2", "web", [Way(22, host="web")])  # it was faster than m1's own move
    await gates.open("m2", agent)
    await gates.arrange("m1", "app", [Way(8000, host="app")])
    assert await said(tmp_path / "gates", "app") == b"eight thousand\n"
    assert await said(tmp_path / "gates", "web") == b"ssh\n"
    await gates.drop("m2")
    await gates.drop("m2")
    assert [path.name for path in (tmp_path / "gates").iterdir()] == ["app"]


async def test_a_taken_port_is_told_and_tried_again(gates: Gates, agent: FakeAgent) -> None:
    port = free_port()
    with listen_tcp("127.0.0.1", port):
        await gates.arrange("m1", "web", [Way(22, public_port=port)])
        await gates.arrange("m2", "other", [Way(8000, host="other")])
        await gates.open("m1", agent)
        [problem] = gates.problems("m1")
        assert problem == (
            f"port 22 of machine 'web' cannot be reached: TCP port {port} of this host is taken by another program; "
            "it is the machine's again as soon as that one ends"
        )
        assert (gates.problems(), gates.problems("m2")) == ([problem], [])
        assert not gates.is_free(port)
    await until(lambda: not gates.problems(), "the port is not taken back")
    assert await said_by_port(port) == b"ssh\n"


async def test_a_port_for_datagrams_goes_with_the_others(gates: Gates, agent: FakeAgent) -> None:
    port = free_port()
    with listen_udp("127.0.0.1", port):
        assert not gates.is_free(port)
        await gates.arrange("m1", "web", [Way(53, public_port=port, protocol=kind) for kind in ("tcp", "udp")])
        [problem] = gates.problems("m1")
        assert problem.startswith(
            f"UDP port 53 of machine 'web' cannot be reached: UDP port {port} of this host is taken"
        )
    await gates.open("m1", agent)
    assert gates.problems() == []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setblocking(False)
        client.connect(("127.0.0.1", port))
        client.send(b"hello")
        async with asyncio.timeout(20):
            assert await asyncio.get_running_loop().sock_recv(client, 99) == b"53: hello"
    await gates.shut("m1", "machine 'web' is stopped")
    await gates.drop("m1")
    assert gates.is_free(port)


async def test_an_sshd_that_drops_a_connection_before_its_first_word_is_asked_again(
    gates: Gates, agent: FakeAgent
) -> None:
    """As one does that is started anew, or has too many at the door: the client only waits."""
    port, left = free_port(), [b"", b"Exceeded MaxStartups\r\n", b"Not allowed at this time\r\n"]
    await agent.stop(22)

    async def moody(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(left.pop() if left else b"SSH-2.0-x\r\n")
        writer.write_eof()

    await agent.serve(22, moody)
    await gates.arrange("m1", "web", [Way(22, public_port=port)])
    await gates.open("m1", agent)
    assert await said_by_port(port) == b"SSH-2.0-x\r\n"
    assert left == []


async def test_whom_an_sshd_has_not_greeted_yet_a_swap_does_not_cut(gates: Gates, agent: FakeAgent) -> None:
    port, taken = free_port(), asyncio.Event()
    await agent.stop(22)

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.set()
        await reader.read()

    await agent.serve(22, slow)
    await gates.arrange("m1", "web", [Way(22, public_port=port)])
    await gates.open("m1", agent)
    asking = asyncio.create_task(said_by_port(port))
    await taken.wait()
    gates.hold("m1")
    await gates.drain("m1")
    after = FakeAgent()
    await after.serve(22, saying(b"restored ssh\n"))
    held = await gates.open("m1", after)
    assert await asking == b"restored ssh\n"
    assert held.connections == 1
    await after.end()


async def test_a_dead_agent_is_a_refusal_in_the_end(tmp_path: Path, agent: FakeAgent) -> None:
    agent.ready = False
    gates = Gates(tmp_path / "gates", "127.0.0.1", Limits(wait=1))
    await gates.arrange("m1", "web", [Way(8000, host="web"), Way(0, host="found.web")])
    await gates.open("m1", agent)
    for host in ("web", "found.web"):
        assert (await said(tmp_path / "gates", host)).startswith(b"HTTP/1.1 502 ")
    await gates.close()


@pytest.mark.parametrize("host", ["web", "found.web"])
async def test_who_comes_before_the_agent_is_in_step_waits_for_it(
    tmp_path: Path, gates: Gates, agent: FakeAgent, host: str
) -> None:
    """As soon after the start of a daemon, also longer than the patience with a service that refuses."""
    agent.ready = False
    await gates.arrange("m1", "web", [Way(8000, host="web"), Way(0, host="found.web")])
    asking = asyncio.create_task(said(tmp_path / "gates", host))
    await until(lambda: gates.in_use("m1"), "somebody comes")
    await gates.open("m1", agent)
    _, waiting = await asyncio.wait([asking], timeout=Limits().patience + 0.3)
    assert waiting, "it was turned away"
    agent.ready = True
    assert await asking == b"eight thousand\n"


async def test_the_default_route_finds_its_port_and_follows_it(tmp_path: Path, gates: Gates) -> None:
    agent = FakeAgent()
    await gates.arrange("m1", "web", [Way(0, host="web")])
    assert await gates.found_port("m1") == 8000
    await gates.open("m1", agent)
    assert (await said(tmp_path / "gates", "web")).startswith(b"HTTP/1.1 502 ")
    await agent.serve(3000, saying(b"three thousand\n"))
    assert await said(tmp_path / "gates", "web") == b"three thousand\n"
    assert await gates.found_port("m1") == 3000
    await agent.serve(80, saying(b"eighty\n"))  # the port in use keeps the route
    looks = agent.looks
    assert await said(tmp_path / "gates", "web") == b"three thousand\n"
    assert agent.looks == looks  # and costs no question
    await gates.open("m1", agent)
    await agent.end()


async def test_closing_leaves_the_names_for_the_next_daemon(tmp_path: Path, agent: FakeAgent) -> None:
    first = Gates(tmp_path / "gates", "127.0.0.1")
    await first.arrange("m1", "web", [Way(8000, host="web")])
    await first.close()
    second = Gates(tmp_path / "gates", "127.0.0.1")
    await second.arrange("m1", "web", [Way(8000, host="web")])
    assert await second.open("m1", agent) == Held()
    assert await said(tmp_path / "gates", "web") == b"eight thousand\n"
    await second.close()
