"""Turns: a few at a time, first come, first served, and nobody who does not work keeps the others waiting."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from openboxd.worker.turns import Turns
from tests.worker.world import LIMIT

NEVER = 3600.0


async def test_a_few_at_a_time_in_the_order_in_which_they_came() -> None:
    turns, inside, most, order = Turns(2, NEVER), 0, 0, list[int]()

    async def come(number: int) -> None:
        nonlocal inside, most
        async with turns.one():
            inside, most = inside + 1, max(most, inside + 1)
            order.append(number)
            for _ in range(3):
                await asyncio.sleep(0)
            inside -= 1

    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*(come(number) for number in range(9)))
    assert (most, order) == (2, list(range(9)))
    assert not turns.all_taken


async def test_who_leaves_or_fails_gives_the_turn_back_and_only_once() -> None:
    turns = Turns(1, NEVER)
    with suppress(OSError):
        async with turns.one():
            raise OSError
    async with turns.one():
        waiting = asyncio.create_task(turns.one().__aenter__())
        await asyncio.sleep(0)
        assert turns.all_taken
        waiting.cancel()
        await asyncio.wait([waiting])
    assert not turns.all_taken
    async with turns.one():
        assert turns.all_taken


async def test_one_that_takes_long_makes_room_and_goes_on() -> None:
    turns, over = Turns(1, patience=0.01), asyncio.Event()

    async def hang() -> None:
        async with turns.one():
            await over.wait()

    hanging = asyncio.create_task(hang())
    await asyncio.sleep(0)
    async with asyncio.timeout(LIMIT), turns.one():
        assert not hanging.done()
        over.set()
        await hanging
        assert turns.all_taken, "it gave back what it had, not what another one has"
    assert not turns.all_taken
