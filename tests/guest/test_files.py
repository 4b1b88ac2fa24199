"""Files of the real agent: modes, owners, links, special files, and nothing left behind."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic

import pytest

from openboxd.errors import InvalidArgument, WrongState
from openboxd.guest.connector import ChannelAgent
from openboxd.guest.wire import MARKER
from tests.contracts.agent import get, pieces, put, run
from tests.guest.rig import Rig, until, within

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="an agent without root has one user only")


@pytest.mark.parametrize("size", [4095, 4097, 18_000, 32_759, 65_535, 65_537, 131_073, 1_048_577, 4_194_305])
async def test_odd_sizes_arrive_whole(agent: ChannelAgent, rig: Rig, size: int) -> None:
    data = (os.urandom(1000) + MARKER) * (size // 1000 + 1)
    assert await put(agent, "f", data[:size]) == size
    assert (rig.home / "f").read_bytes() == data[:size]
    assert await get(agent, "f") == data[:size]


async def test_a_hundred_megabytes_both_ways(agent: ChannelAgent, rig: Rig) -> None:
    block = os.urandom(1 << 20)

    async def content() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield block

    began = monotonic()
    assert await agent.upload("big", 100 << 20, content()) == 100 << 20
    middle = monotonic()
    size, download = await agent.download("big")
    digest, received = hashlib.sha256(), 0
    async for piece in download:
        digest.update(piece)
        received += len(piece)
    print(f"up {100 / (middle - began):.0f}, down {100 / (monotonic() - middle):.0f} MiB/s")
    assert received == size == 100 << 20
    assert digest.hexdigest() == hashlib.sha256(block * 100).hexdigest()


async def test_paths_start_at_home(agent: ChannelAgent, rig: Rig) -> None:
    await put(agent, "~/a", b"1")
    await put(agent, f"{rig.home}/b", b"2")
    await agent.mkdir("d")
    await put(agent, "d/../c", b"3")
    assert [entry.name for entry in (await agent.list_dir("~", 10)).entries] == ["a", "b", "c", "d"]
    assert (rig.home / "c").read_bytes() == b"3"
    for path in ("", "a\0b", "x" * 5000):
        with pytest.raises(InvalidArgument):
            await agent.download(path)


async def test_new_files_are_the_users_and_old_modes_are_kept(agent: ChannelAgent, rig: Rig) -> None:
    await put(agent, "new", b"x")
    assert (rig.home / "new").stat().st_mode & 0o7777 == 0o644
    assert (rig.home / "new").stat().st_uid == rig.uid
    (rig.home / "new").chmod(0o750)
    await put(agent, "new", b"y")
    assert (rig.home / "new").stat().st_mode & 0o7777 == 0o750


async def test_an_upload_goes_through_a_link(agent: ChannelAgent, rig: Rig) -> None:
    await put(agent, "target", b"old")
    (rig.home / "link").symlink_to("target")
    await put(agent, "link", b"new")
    assert (rig.home / "link").is_symlink()
    assert (rig.home / "target").read_bytes() == b"new"


@needs_root
async def test_the_users_rights_bound_everything(agent: ChannelAgent, rig: Rig) -> None:
    (rig.base / "secret").write_text("x")
    (rig.base / "secret").chmod(0o600)
    foreign = rig.base / "foreign"
    foreign.mkdir()
    (foreign / "file").write_text("x")
    for attempt in (
        agent.download(str(rig.base / "secret")),
        put(agent, str(foreign / "file"), b"y"),
        put(agent, str(foreign / "new"), b"y"),
        agent.mkdir(str(foreign / "d")),
        agent.delete(str(foreign / "file")),
        agent.delete(str(foreign)),
        agent.rename(str(foreign / "file"), "mine"),
        agent.copy(str(rig.base / "secret"), "mine"),
        agent.copy("/etc/hostname", str(foreign / "copy")),
    ):
        with pytest.raises(WrongState, match=r"(?i)permission denied") as refused:
            await attempt
        assert str(rig.base) in str(refused.value)
    assert (foreign / "file").read_text() == "x"
    assert [path.name for path in foreign.iterdir()] == ["file"]


async def test_a_read_only_target_is_not_replaced(agent: ChannelAgent, rig: Rig) -> None:
    await put(agent, "f", b"old")
    (rig.home / "f").chmod(0o444)
    with pytest.raises(WrongState, match="permission denied"):
        await put(agent, "f", b"new")
    assert await get(agent, "f") == b"old"


async def test_special_files_are_refused(agent: ChannelAgent, rig: Rig) -> None:
    os.mkfifo(rig.home / "pipe")
    for path in ("pipe", "/dev/zero"):
        with pytest.raises(WrongState, match="not a regular file"):
            await within(agent.download(path))
        with pytest.raises(WrongState, match="not a regular file"):
            await within(put(agent, path, b"x"))


async def test_files_the_kernel_makes_up_are_whole(agent: ChannelAgent) -> None:
    assert await get(agent, "/proc/sys/kernel/ostype") == b"Linux\n"
    _, content = await agent.download("/proc/cpuinfo")
    assert b"".join([piece async for piece in content]).startswith(b"processor")


async def test_more_than_fits_is_refused_before_it_is_sent(agent: ChannelAgent, rig: Rig) -> None:
    with pytest.raises(WrongState, match="are free"):
        await agent.upload("big", 1 << 60, pieces(b"x" * 100))
    assert list(rig.home.iterdir()) == []


@pytest.mark.parametrize("way", ["cancel", "channel", "agent"])
async def test_a_broken_upload_leaves_nothing(agent: ChannelAgent, rig: Rig, way: str) -> None:
    await put(agent, "f", b"old")
    arrived = asyncio.Event()

    async def stalls() -> AsyncIterator[bytes]:
        yield b"x" * 300_000
        arrived.set()
        await asyncio.get_running_loop().create_future()

    upload = asyncio.create_task(agent.upload("f", 1_000_000, stalls()))
    await within(arrived.wait())
    if way == "agent":
        await rig.stop()
    elif way == "channel":
        await agent.close("the machine was restored")
    upload.cancel()
    await asyncio.wait([upload])
    await until(lambda: [path.name for path in rig.home.iterdir()] == ["f"])
    assert (rig.home / "f").read_bytes() == b"old"


async def test_a_download_given_up_frees_its_stream(agent: ChannelAgent) -> None:
    await put(agent, "f", bytes(2_000_000))
    for _ in range(600):  # more than may be open at once
        _, content = await agent.download("f")
        await anext(content)
        del content
    assert len(await get(agent, "f")) == 2_000_000


async def test_a_large_directory_is_listed_up_to_the_cap(agent: ChannelAgent, rig: Rig) -> None:
    await agent.mkdir("d")
    for n in range(10_001):
        (rig.home / "d" / f"{n:05}").touch()
    began = monotonic()
    listing = await agent.list_dir("d", 10_000)
    print(f"10,000 entries: {(monotonic() - began) * 1000:.0f} ms")
    assert len(listing.entries) == 10_000
    assert listing.truncated
    assert [entry.name for entry in listing.entries] == [f"{n:05}" for n in range(10_000)]


async def test_names_that_are_no_text_are_shown_somehow(agent: ChannelAgent, rig: Rig) -> None:
    Path(os.fsdecode(bytes(rig.home) + b"/a\xff")).touch()
    (rig.home / "b\nc").symlink_to("nowhere")
    names = [(entry.name, entry.permissions[0]) for entry in (await agent.list_dir(".", 10)).entries]
    assert names == [("a\ufffd", "-"), ("b\nc", "l")]
    for name, _ in names:
        name.encode()


async def test_a_tree_is_copied_with_its_links_and_modes(agent: ChannelAgent, rig: Rig) -> None:
    await run(agent, "mkdir -p t/x; echo hi >t/x/f; chmod 640 t/x/f; ln -s x/f t/l")
    await agent.copy("t", "u")
    assert (rig.home / "u" / "l").is_symlink()
    assert (rig.home / "u/x/f").stat().st_mode & 0o777 == 0o640
    await agent.copy("t/x/f", "g")
    await agent.copy("t/x/f", "g")
    assert (rig.home / "g").read_text() == "hi\n"
    assert sorted(path.name for path in rig.home.iterdir()) == ["g", "t", "u"]
