"""How a gate reaches its guest: few dials at a time, given up for a swap, repeated where patience is due."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from openboxd.edge.gate import Gate
from openboxd.edge.limits import Limits
from openboxd.edge.listener import listen_tcp
from openboxd.edge.streams import Stream
from tests.edge.guests import LIMIT, Client, Guest, echo, guarded, saying, until


async def test_dials_at_a_release_are_few_at_a_time() -> None:
    now, most = 0, 0
    guest = Guest()
    await guest.start(echo)

    async def dial() -> Stream:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        try:
            return await guest.dial()
        finally:
            now -= 1

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(dials=4))
    await gate.hold()
    clients = [await Client.connect(gate.port) for _ in range(40)]
    await until(lambda: gate.waiting == 40, "forty waiting connections")
    gate.release()
    assert [await c.ask(b"x") for c in clients] == [b"x"] * 40
    assert most == 4
    for client in clients:
        client.close()
    await gate.close()
    await guest.kill()


async def test_a_hold_gives_up_a_dial_under_way_and_the_client_does_not_notice() -> None:
    guest = Guest()
    await guest.start(echo)
    dials = 0
    hanging = asyncio.Event()

    async def dial() -> Stream:
        nonlocal dials
        dials += 1
        if dials == 1:  # the guest is being paused: no answer comes
            hanging.set()
            await asyncio.Event().wait()
        return await guest.dial()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port")
    client = await Client.connect(gate.port)
    question = asyncio.create_task(client.ask(b"sent before the hold"))
    await asyncio.wait_for(hanging.wait(), LIMIT)
    await gate.hold()
    await until(lambda: gate.waiting == 1, "the connection to wait")
    gate.release()
    assert await question == b"sent before the hold"
    assert dials == 2
    client.close()
    await gate.close()
    await guest.kill()


async def test_a_dial_that_ended_just_before_the_swap_is_not_used() -> None:
    """Held and released again before anybody could look: what the dial brought leads to the old guest."""
    old, new = Guest(), Guest()
    await old.start(saying(b"old\n"))
    await new.start(saying(b"new\n"))
    now = old
    gate: Gate

    async def dial() -> Stream:
        nonlocal now
        stream = await now.dial()
        if now is old:
            now = new
            asyncio.get_running_loop().call_soon(swap)
        return stream

    def swap() -> None:
        with suppress(StopIteration):
            gate.hold(drain=0).__await__().send(None)
        gate.release()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port")
    client = await Client.connect(gate.port)
    assert await asyncio.wait_for(client.reader.readline(), LIMIT) == b"new\n"
    client.close()
    await gate.close()
    await old.kill()
    await new.kill()


async def test_held_connections_are_patient_with_a_guest_that_is_not_ready_yet() -> None:
    async with guarded(limits=Limits(patience=LIMIT)) as (guest, gate):
        await gate.hold()
        await guest.kill()
        client = await Client.connect(gate.port)
        await until(lambda: gate.waiting == 1, "a waiting connection")
        gate.release()
        question = asyncio.create_task(client.ask(b"x"))
        await asyncio.sleep(0.1)
        await guest.start(echo)
        assert await question == b"x"
        client.close()


async def test_a_guest_that_is_swamped_is_asked_again_for_as_long_as_one_may_wait() -> None:
    """To connect in vain for a while is not to be refused: what listens there has too many at the door."""
    guest, dials = Guest(), 0
    await guest.start(echo)

    async def dial() -> Stream:
        nonlocal dials
        dials += 1
        if dials <= 3:
            raise TimeoutError("too many at once")
        return await guest.dial()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(patience=0))
    client = await Client.connect(gate.port)
    assert await client.ask(b"x") == b"x"
    assert dials == 4
    await gate.close()
    dials = -1000
    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(wait=0.3))
    turned_away = await Client.connect(gate.port)
    with pytest.raises(ConnectionResetError):
        await turned_away.rest()
    for each in (client, turned_away):
        each.close()
    await gate.close()
    await guest.kill()


async def test_patience_is_counted_from_the_first_dial_not_from_the_release() -> None:
    """One dial at a time: the last client's first one is when all patience since the release would be over."""
    guest = Guest()
    await guest.start(echo)
    dials = 0

    async def dial() -> Stream:
        nonlocal dials
        dials += 1
        if dials <= 6:
            await asyncio.sleep(0.6)
            raise ConnectionRefusedError
        return await guest.dial()

    gate = Gate(listen_tcp("127.0.0.1", 0), dial, "the port", limits=Limits(patience=3.0, dials=1))
    await gate.hold()
    clients = [await Client.connect(gate.port) for _ in range(6)]
    await until(lambda: gate.waiting == 6, "waiting connections")
    gate.release()
    assert await asyncio.gather(*[client.ask(b"x") for client in clients]) == [b"x"] * 6
    for client in clients:
        client.close()
    await gate.close()
    await guest.kill()


async def test_a_refusal_by_the_guest_is_the_clients_at_once() -> None:
    async with guarded() as (guest, gate):
        await guest.kill()
        client = await Client.connect(gate.port)
        with pytest.raises(ConnectionResetError):
            await client.rest()
        client.close()
