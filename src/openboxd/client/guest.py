"""The daemon's calls about what happens in a guest: commands and files."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd.client.connection import BOXD_API, Connection
from openboxd.client.execution import Execution
from openboxd.model import ExecRequest
from openboxd.wire import boxd_api_pb2 as pb

SLICE = 1024 * 1024
"""Bytes of one message of a streamed upload."""


class GuestCalls:
    """A part of `Client`."""

    _connection: Connection

    async def exec(self, ref: str, request: ExecRequest) -> Execution:
        """Start a command."""
        execution = Execution(self._connection, ref, request)
        await execution.start()
        return execution

    async def upload(self, ref: str, path: str, size: int, data: AsyncIterator[bytes]) -> int:
        """Write a file of exactly `size` bytes; the number written."""

        async def chunks() -> AsyncIterator[pb.UploadFileChunk]:
            yield pb.UploadFileChunk(vm_id=ref, path=path, total_size=size)
            async for piece in data:
                for start in range(0, len(piece), SLICE):
                    yield pb.UploadFileChunk(data=piece[start : start + SLICE])

        answer = await self._connection.upload(f"{BOXD_API}UploadFileStream", chunks(), pb.UploadFileResponse)
        return answer.bytes_written

    def download(self, ref: str, path: str) -> AsyncIterator[pb.DownloadFileChunk]:
        """A file in pieces; the first one carries its size."""
        request = pb.DownloadFileRequest(vm_id=ref, path=path)
        return self._connection.stream(f"{BOXD_API}DownloadFileStream", request, pb.DownloadFileChunk)

    async def list_dir(self, ref: str, path: str) -> pb.ListDirResponse:
        request = pb.ListDirRequest(vm_id=ref, path=path)
        return await self._connection.unary(f"{BOXD_API}ListDir", request, pb.ListDirResponse)

    async def mkdir(self, ref: str, path: str) -> None:
        request = pb.MkdirRequest(vm_id=ref, path=path)
        await self._connection.unary(f"{BOXD_API}Mkdir", request, pb.MkdirResponse)
