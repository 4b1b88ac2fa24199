"""A command's stream, where writing meets its end."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.client.client import open_client
from openboxd.client.endpoint import resolve
from openboxd.errors import NotFound, Unauthenticated
from openboxd.model import ExecRequest
from tests.fakes.service import KEY

TURNS = 400
STEP = 0.0001
"""Seconds by which each turn writes later than the one before, so that some write meets the refusal."""


async def refusal(client, turn: int) -> str:
    """What a command in a machine that is not there is answered with, while its stdin is being fed."""
    execution = await client.exec("ghost", ExecRequest("cat"))
    await asyncio.sleep(turn % 60 * STEP)

    async def feed():
        await execution.write(bytes(1000))
        await execution.write_eof()

    feeding = asyncio.create_task(feed())
    try:
        async for _ in execution.output():
            pass
    except (NotFound, Unauthenticated) as error:
        return error.message
    finally:
        await asyncio.wait([feeding], timeout=10)
    return "nothing was refused"


@pytest.mark.parametrize(
    ("key", "text"), [(KEY, "VM 'ghost' not found"), ("another", "the API key is not valid")], ids=["machine", "key"]
)
async def test_a_refusal_is_told_also_when_it_meets_a_write(boxd, key, text):
    """gRPC replaces the status of a call by one of its own where a write finds the call ended."""
    async with open_client(resolve(boxd.environ["BOXD_BASE_URL"], key)) as client:
        told = {await refusal(client, turn) for turn in range(TURNS)}
    assert told == {text}
