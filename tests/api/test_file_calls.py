"""Files over a real connection."""

from __future__ import annotations

import grpc
import pytest

from openboxd.api.files import SINGLE_LIMIT
from openboxd.wire import boxd_api_pb2 as pb


async def refused(call) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


@pytest.mark.parametrize("size", [0, 1, 3_000_001])
async def test_a_streamed_file_comes_back(api, web, size):
    data = bytes(i % 251 for i in range(size))
    head = pb.UploadFileChunk(vm_id="web", path="f", total_size=size, data=data[:1000])
    rest = [pb.UploadFileChunk(data=data[i : i + 1_000_000]) for i in range(1000, size, 1_000_000)]
    answer = await api.boxd.UploadFileStream(iter([head, *rest]))
    assert answer.bytes_written == size
    chunks = [c async for c in api.boxd.DownloadFileStream(pb.DownloadFileRequest(vm_id="web", path="f"))]
    assert chunks[0].total_size == size
    assert b"".join(chunk.data for chunk in chunks) == data


async def test_an_upload_that_is_too_short_changes_nothing(api, web):
    await api.boxd.UploadFile(pb.UploadFileRequest(vm_id="web", path="f", data=b"old"))
    head = pb.UploadFileChunk(vm_id="web", path="f", total_size=10, data=b"new")
    assert (await refused(api.boxd.UploadFileStream(iter([head])))).code() == grpc.StatusCode.INVALID_ARGUMENT
    got = await api.boxd.DownloadFile(pb.DownloadFileRequest(vm_id="web", path="f"))
    assert got.data == b"old"


async def test_the_single_calls_end_at_their_limit_with_a_hint(api, web):
    data = bytes(SINGLE_LIMIT)
    answer = await api.boxd.UploadFile(pb.UploadFileRequest(vm_id="web", path="f", data=data))
    assert answer.bytes_written == SINGLE_LIMIT
    assert (await api.boxd.DownloadFile(pb.DownloadFileRequest(vm_id="web", path="f"))).data == data
    error = await refused(api.boxd.UploadFile(pb.UploadFileRequest(vm_id="web", path="f", data=data + b"x")))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "UploadFileStream" in error.details()
    head = pb.UploadFileChunk(vm_id="web", path="f", total_size=SINGLE_LIMIT + 1, data=data + b"x")
    await api.boxd.UploadFileStream(iter([head]))
    error = await refused(api.boxd.DownloadFile(pb.DownloadFileRequest(vm_id="web", path="f")))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "DownloadFileStream" in error.details()


async def test_directories(api, web):
    await api.boxd.Mkdir(pb.MkdirRequest(vm_id="web", path="d"))
    await api.boxd.UploadFile(pb.UploadFileRequest(vm_id="web", path="d/f", data=b"12345"))
    await api.boxd.CopyPath(pb.CopyPathRequest(vm_id="web", old_path="d", new_path="e"))
    await api.boxd.RenamePath(pb.RenamePathRequest(vm_id="web", old_path="e/f", new_path="e/g"))
    entries = (await api.boxd.ListDir(pb.ListDirRequest(vm_id="web", path="."))).entries
    assert [(entry.name, entry.is_dir, entry.size_bytes) for entry in entries] == [("d", True, 0), ("e", True, 0)]
    (entry,) = (await api.boxd.ListDir(pb.ListDirRequest(vm_id="web", path="e"))).entries
    assert (entry.name, entry.size_bytes, entry.permissions[0]) == ("g", 5, "-")
    assert entry.modified_at > 0
    await api.boxd.DeletePath(pb.DeletePathRequest(vm_id="web", path="d"))
    error = await refused(api.boxd.ListDir(pb.ListDirRequest(vm_id="web", path="d")))
    assert error.code() == grpc.StatusCode.NOT_FOUND


async def test_a_listing_is_capped(api, web, service):
    home = service.home("web")
    for number in range(10_001):
        (home / f"{number:05}").touch()
    listing = await api.boxd.ListDir(pb.ListDirRequest(vm_id="web", path="."))
    assert (len(listing.entries), listing.truncated) == (10_000, True)


@pytest.mark.parametrize("path", ["", "a\0b"])
async def test_impossible_paths_are_refused(api, web, path):
    error = await refused(api.boxd.Mkdir(pb.MkdirRequest(vm_id="web", path=path)))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
