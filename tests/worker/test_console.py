"""Reading a console that grows, is trimmed in front, and ends with its machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openboxd.errors import Interrupted, NotFound
from openboxd.worker import console
from openboxd.worker.console import PIECE, Console
from openboxd.worker.housekeeping import CONSOLE_KEPT, trim_console
from tests.worker.world import LIMIT, OWNER, World


def whole(path: Path) -> bytes:
    reader = Console(path)
    try:
        return b"".join(iter(lambda: reader.read(reader.size), b""))
    finally:
        reader.close()


def test_all_of_a_short_console_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    for content in (b"", b"x", os.urandom(PIECE), os.urandom(3 * PIECE + 17), bytes(10_000)):
        path.write_bytes(content)
        assert whole(path) == content


def test_only_the_kept_end_of_a_long_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    content = os.urandom(CONSOLE_KEPT + 300_000)
    path.write_bytes(content)
    assert whole(path) == content[-CONSOLE_KEPT:]
    trim_console(path)
    assert whole(path) == content[-CONSOLE_KEPT:]


def test_what_is_freed_while_it_is_read_is_left_out_and_never_zeros(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"a" * CONSOLE_KEPT)
    reader = Console(path)
    first = reader.read(reader.size)
    with path.open("ab") as file:
        file.write(b"b" * CONSOLE_KEPT)
    trim_console(path)  # the reader stands in what is freed now
    rest = b"".join(iter(lambda: reader.read(reader.size), b""))
    reader.close()
    assert first == b"a" * PIECE
    assert rest == b"b" * CONSOLE_KEPT


def test_a_hole_made_between_look_and_read_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"a" * 8192)
    reader, pread = Console(path), os.pread

    def late(file: int, count: int, offset: int) -> bytes:
        with path.open("r+b") as other:
            console_hole(other.fileno())
        return pread(file, count, offset)

    monkeypatch.setattr(os, "pread", late)
    assert reader.read(reader.size) == b"a" * 4096
    reader.close()


def console_hole(descriptor: int) -> None:
    from openboxd.host.holes import punch_hole

    punch_hole(descriptor, 0, 4096)


def log_of(world: World) -> Path:
    return world.pool.machine_dir(world.control.machine(OWNER, "web").id) / "console.log"


def say(world: World, text: bytes) -> None:
    with log_of(world).open("ab") as file:
        file.write(text)


async def heard(pieces: AsyncIterator[bytes], text: bytes) -> None:
    """Read until `text` has come, after what guests say when they boot."""
    got = b""
    async with asyncio.timeout(LIMIT):
        while not got.endswith(text):
            got += await anext(pieces)


async def test_following_goes_over_a_reboot_and_ends_with_the_machine(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "LOOK_AGAIN", 0.01)
    await world.machine()
    log_of(world).unlink(missing_ok=True)
    assert [piece async for piece in world.control.logs(OWNER, "web", follow=False)] == []
    pieces = world.control.logs(OWNER, "web", follow=True)
    first = asyncio.ensure_future(heard(pieces, b"one\xff\x00"))
    say(world, b"one\xff\x00")
    await first
    await world.control.reboot_machine(OWNER, "web")
    say(world, b"two")
    await heard(pieces, b"two")
    ending = asyncio.ensure_future(anext(pieces, b"ended"))
    await world.control.destroy_machine(OWNER, "web")
    async with asyncio.timeout(LIMIT):
        assert await ending == b"ended"


async def test_a_restore_ends_what_is_followed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "LOOK_AGAIN", 0.01)
    await world.machine()
    await world.save("good")
    say(world, b"hello")
    pieces = world.control.logs(OWNER, "web", follow=True)
    await heard(pieces, b"hello")
    await world.control.restore_checkpoint(OWNER, "web", "good")
    with pytest.raises(Interrupted, match="machine 'web' was restored"):
        async with asyncio.timeout(LIMIT):
            await anext(pieces)


async def test_an_unknown_machine_has_no_console(world: World) -> None:
    with pytest.raises(NotFound):
        world.control.logs(OWNER, "ghost", follow=True)
