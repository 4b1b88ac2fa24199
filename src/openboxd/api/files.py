"""Files and directories of a guest. Streams carry any size, the single calls up to 4 MiB, 1 MiB for machines."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.api.streams import reading
from openboxd.errors import InvalidArgument
from openboxd.model import LIST_LIMIT, MIB, Caller
from openboxd.wire import boxd_api_pb2 as pb

SINGLE_LIMIT, MACHINES_LIMIT = 4 * MIB, MIB
"""Bytes of an answer. A machine might ask for many and read none."""

PIECE = MIB


async def upload_file_stream(
    service: Service, caller: Caller, chunks: AsyncIterator[pb.UploadFileChunk]
) -> pb.UploadFileResponse:
    first = await anext(aiter(chunks), None)
    if first is None:
        raise InvalidArgument("the first chunk of an upload must name a machine, a path and the total size")

    async def content() -> AsyncIterator[bytes]:
        if first.data:
            yield first.data
        async for chunk in chunks:
            if chunk.data:
                yield chunk.data

    _need_path(first.path)
    written = await service.upload(caller, first.vm_id, first.path, first.total_size, content())
    return pb.UploadFileResponse(bytes_written=written)


async def download_file_stream(
    service: Service, caller: Caller, request: pb.DownloadFileRequest
) -> AsyncIterator[pb.DownloadFileChunk]:
    _need_path(request.path)
    size, pieces = await service.download(caller, request.vm_id, request.path)
    async with reading(pieces) as source:
        yield pb.DownloadFileChunk(total_size=size)
        async for piece in source:
            for start in range(0, len(piece), PIECE):
                yield pb.DownloadFileChunk(data=piece[start : start + PIECE])


async def upload_file(service: Service, caller: Caller, request: pb.UploadFileRequest) -> pb.UploadFileResponse:
    _need_path(request.path)
    if len(request.data) > SINGLE_LIMIT:
        raise InvalidArgument(_too_big(f"'{request.path}' has {len(request.data)} bytes", "UploadFileStream"))

    async def content() -> AsyncIterator[bytes]:
        yield request.data

    written = await service.upload(caller, request.vm_id, request.path, len(request.data), content())
    return pb.UploadFileResponse(bytes_written=written)


async def download_file(service: Service, caller: Caller, request: pb.DownloadFileRequest) -> pb.DownloadFileResponse:
    _need_path(request.path)
    size, pieces = await service.download(caller, request.vm_id, request.path)
    data, limit = bytearray(), MACHINES_LIMIT if caller.machine_id else SINGLE_LIMIT
    async with reading(pieces) as source:
        # Files such as those of /proc say 0 and have content, so what comes is counted too.
        while size <= limit and len(data) <= limit:
            piece = await anext(source, None)
            if piece is None:
                return pb.DownloadFileResponse(data=bytes(data))
            data += piece
    raise InvalidArgument(_too_big(f"'{request.path}' has {max(size, len(data))} bytes", "DownloadFileStream", limit))


async def list_dir(service: Service, caller: Caller, request: pb.ListDirRequest) -> pb.ListDirResponse:
    listing = await service.list_dir(caller, request.vm_id, request.path)
    entries = [
        pb.DirEntry(
            name=entry.name,
            is_dir=entry.is_dir,
            size_bytes=0 if entry.is_dir else entry.size_bytes,
            permissions=entry.permissions,
            modified_at=entry.modified_at,
            added_at=entry.added_at,
        )
        for entry in listing.entries[:LIST_LIMIT]
    ]
    return pb.ListDirResponse(entries=entries, truncated=listing.truncated or len(listing.entries) > LIST_LIMIT)


async def mkdir(service: Service, caller: Caller, request: pb.MkdirRequest) -> pb.MkdirResponse:
    _need_path(request.path)
    await service.mkdir(caller, request.vm_id, request.path)
    return pb.MkdirResponse()


async def rename_path(service: Service, caller: Caller, request: pb.RenamePathRequest) -> pb.RenamePathResponse:
    _need_path(request.old_path, request.new_path)
    await service.rename_path(caller, request.vm_id, request.old_path, request.new_path)
    return pb.RenamePathResponse()


async def delete_path(service: Service, caller: Caller, request: pb.DeletePathRequest) -> pb.DeletePathResponse:
    _need_path(request.path)
    await service.delete_path(caller, request.vm_id, request.path)
    return pb.DeletePathResponse()


async def copy_path(service: Service, caller: Caller, request: pb.CopyPathRequest) -> pb.CopyPathResponse:
    _need_path(request.old_path, request.new_path)
    await service.copy_path(caller, request.vm_id, request.old_path, request.new_path)
    return pb.CopyPathResponse()


def _need_path(*paths: str) -> None:
    for path in paths:
        if not path or "\0" in path:
            raise InvalidArgument("a path in the machine must not be empty nor hold a NUL character")


def _too_big(what: str, stream: str, limit: int = SINGLE_LIMIT) -> str:
    return f"{what}, and this call carries {limit} at most; use {stream} for larger files"


METHODS: dict[str, Method] = {
    "UploadFileStream": upload_file_stream,
    "DownloadFileStream": download_file_stream,
    "UploadFile": upload_file,
    "DownloadFile": download_file,
    "ListDir": list_dir,
    "Mkdir": mkdir,
    "RenamePath": rename_path,
    "DeletePath": delete_path,
    "CopyPath": copy_path,
}
