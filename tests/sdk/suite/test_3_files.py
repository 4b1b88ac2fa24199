"""Files and directories, with names and sizes as awkward as they come; and how fast."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from boxd import errors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FUZZ = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
SIZES = [0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 2**20 - 1, 2**20, 2**20 + 1]


@pytest.mark.parametrize("size", SIZES)
def test_a_file_of_any_size_there_and_back(client, golden, place, size):
    files, data = client.machines.files, os.urandom(size)
    assert files.upload(golden, "place/f", data) == size
    assert files.download(golden, f"{place}/f") == data
    (entry,) = files.list_dir(golden, place).entries
    assert (entry.name, entry.size_bytes, entry.is_dir) == ("f", size, False)


@pytest.fixture(scope="module")
def corner(client):
    path = "/home/boxd/corner"
    client.machines.files.mkdir("golden", path)
    yield path
    client.machines.files.delete("golden", path)


@FUZZ
@given(st.binary(max_size=5000))
def test_any_content(client, corner, data):
    client.machines.files.upload("golden", f"{corner}/f", data)
    assert client.machines.files.download("golden", f"{corner}/f") == data
    assert client.machines.exec("golden", f"cat {corner}/f", encoding="buffer").stdout == data


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=60).filter(
    lambda name: name not in (".", "..") and len(name.encode()) <= 200
)


@FUZZ
@given(NAMES)
def test_any_name(client, corner, name):
    files = client.machines.files
    files.upload("golden", f"{corner}/{name}", b"x")
    assert name in [entry.name for entry in files.list_dir("golden", corner).entries]
    assert files.download("golden", f"{corner}/{name}") == b"x"
    files.delete("golden", f"{corner}/{name}")
    assert name not in [entry.name for entry in files.list_dir("golden", corner).entries]


def test_directories(client, golden, place):
    files = client.machines.files
    files.mkdir(golden, f"{place}/d")
    files.upload(golden, f"{place}/d/f", b"content")
    files.copy(golden, f"{place}/d", f"{place}/copy")
    files.rename(golden, f"{place}/d", f"{place}/moved")
    names = sorted(entry.name for entry in files.list_dir(golden, place).entries)
    assert names == ["copy", "moved"]
    assert files.download(golden, f"{place}/copy/f") == files.download(golden, f"{place}/moved/f") == b"content"
    entry = next(e for e in files.list_dir(golden, place).entries if e.name == "moved")
    assert (entry.is_dir, entry.size_bytes, entry.permissions[0]) == (True, 0, "d")
    assert abs(entry.modified_at.timestamp() - time.time()) < 3600
    files.delete(golden, f"{place}/moved")
    with pytest.raises(errors.NotFoundError):
        files.list_dir(golden, f"{place}/moved")


def test_bad_input_is_refused_and_the_old_content_stays(client, golden, place):
    files = client.machines.files
    files.upload(golden, f"{place}/f", b"old")
    for call in (
        lambda: files.upload(golden, f"{place}/no/such/f", b"x"),
        lambda: files.mkdir(golden, f"{place}/no/such"),
        lambda: files.rename(golden, f"{place}/ghost", f"{place}/g"),
        lambda: files.copy(golden, f"{place}/ghost", f"{place}/g"),
        lambda: files.delete(golden, f"{place}/ghost"),
        lambda: files.upload(golden, place, b"x"),
        lambda: files.upload(golden, "/etc/passwd", b"x"),
        lambda: files.upload(golden, "", b"x"),
        lambda: files.mkdir(golden, f"{place}/f"),
    ):
        with pytest.raises(errors.BoxdError) as caught:
            call()
        assert caught.value.code in ("not_found", "failed_precondition", "invalid_argument", "already_exists")
    assert files.download(golden, f"{place}/f") == b"old"
    assert [entry.name for entry in files.list_dir(golden, place).entries] == ["f"], "nothing is left half made"


def test_files_of_the_kernel_have_no_size_and_content(client, golden):
    assert b"Linux version" in client.machines.files.download(golden, "/proc/version")


def test_how_fast(client, golden, place):
    size = 48 * 2**20
    data = os.urandom(2**20) * (size // 2**20)
    begun = time.monotonic()
    client.machines.files.upload(golden, f"{place}/big", data)
    up = time.monotonic() - begun
    begun = time.monotonic()
    assert client.machines.files.download(golden, f"{place}/big") == data
    down = time.monotonic() - begun
    print(f"\nupload {size / 1e6 / up:.1f} MB/s, download {size / 1e6 / down:.1f} MB/s")


def test_the_asynchronous_client_is_the_same(async_client, golden, place):
    async def all_of_it():
        async with async_client() as client:
            files = client.machines.files
            written = await asyncio.gather(
                *(files.upload(golden, f"{place}/f{n}", bytes([n]) * 70_000) for n in range(8))
            )
            back = await asyncio.gather(*(files.download(golden, f"{place}/f{n}") for n in range(8)))
            await files.mkdir(golden, f"{place}/d")
            await files.copy(golden, f"{place}/f1", f"{place}/d/g")
            await files.rename(golden, f"{place}/d/g", f"{place}/d/h")
            listed = [entry.name for entry in (await files.list_dir(golden, f"{place}/d")).entries]
            await files.delete(golden, f"{place}/d")
            return written, back, listed

    written, back, listed = asyncio.run(all_of_it())
    assert written == [70_000] * 8
    assert back == [bytes([n]) * 70_000 for n in range(8)]
    assert listed == ["h"]
