"""Files to and from the guest, and listings."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from openboxd.errors import InvalidArgument, OperationFailed, WrongState
from openboxd.guest import wire
from openboxd.guest.call import Call
from openboxd.guest.channel import Channel
from openboxd.guest.refusals import raise_refusal
from openboxd.model import DirEntry, Listing

MAX_PATH = 4096
MAX_SIZE = 1 << 63
ENTRY_BYTES = 2048  # the longest line an entry can have: a name of 255 bytes, each escaped as six characters


def check_path(path: str) -> str:
    """Raises InvalidArgument if no file can have this path."""
    if not path:
        raise InvalidArgument("the path is empty; name a file or directory")
    if "\0" in path:
        raise InvalidArgument("the path holds a zero byte; remove it")
    if len(path.encode("utf-8", "surrogateescape")) >= MAX_PATH:
        raise InvalidArgument(f"the path is longer than {MAX_PATH - 1} bytes")
    return path


async def request(channel: Channel, op: str, **fields: Any) -> None:
    """A request that is answered by success or an error."""
    call = channel.epoch.open({"op": op, **fields})
    try:
        raise_refusal(await call.finished(), channel.label)
    finally:
        call.reset()


async def upload(channel: Channel, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
    """See ports.Agent."""
    call = channel.epoch.open({"op": "put", "path": check_path(path), "size": total_size})
    try:
        if await call.control() is None:
            raise_refusal(call.result or {}, channel.label)
        sent = 0
        async for piece in data:
            sent += len(piece)
            if sent > total_size:
                raise InvalidArgument(f"more than the announced {total_size} bytes were sent for '{path}'")
            await call.send(wire.DATA, piece)
            if call.over:
                break
        else:
            if sent < total_size:
                text = f"only {sent} of the announced {total_size} bytes were sent for '{path}'"
                raise InvalidArgument(text)
            call.send_eof()
        result = await call.finished()
        raise_refusal(result, channel.label)
        if result.get("size") != total_size:
            raise OperationFailed(f"machine {channel.label} did not confirm all bytes of '{path}'; send it again")
        return total_size
    finally:
        call.reset()


class Download:
    """The content of a file in pieces. Given up by `aclose`, or by dropping it."""

    def __init__(self, call: Call, path: str, size: int, label: str) -> None:
        self._call = call
        self._path = path
        self._size = size
        self._label = label
        self._received = 0

    def __aiter__(self) -> Download:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._call.next()
        if piece is not None:
            self._received += len(piece[1])
            return piece[1]
        raise_refusal(self._call.result or {}, self._label)
        if self._size and self._received != self._size:
            raise WrongState(f"machine {self._label} sent {self._received} of {self._size} bytes of '{self._path}'")
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._call.reset()

    def __del__(self) -> None:
        self._call.reset()


async def download(channel: Channel, path: str) -> tuple[int, AsyncIterator[bytes]]:
    """See ports.Agent."""
    call = channel.epoch.open({"op": "get", "path": check_path(path)})
    try:
        found = await call.control()
        if found is None:
            raise_refusal(call.result or {}, channel.label)
        size = (found or {}).get("size")
        if not isinstance(size, int) or not 0 <= size < MAX_SIZE:
            raise OperationFailed(f"machine {channel.label} did not tell the size of '{path}'")
    except BaseException:
        call.reset()
        raise
    return size, Download(call, path, size, channel.label)


async def list_dir(channel: Channel, path: str, limit: int) -> Listing:
    """See ports.Agent."""
    call = channel.epoch.open({"op": "list", "path": check_path(path), "limit": limit})
    text = bytearray()
    try:
        while (piece := await call.next()) is not None:
            text += piece[1]
            if len(text) > limit * ENTRY_BYTES:
                raise OperationFailed(f"machine {channel.label} sent too long a listing of '{path}'")
        result = call.result or {}
        raise_refusal(result, channel.label)
    finally:
        call.reset()
    try:
        entries = tuple(_entry(json.loads(line)) for line in text.splitlines()[:limit])
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise OperationFailed(f"machine {channel.label} sent a malformed listing of '{path}'") from error
    return Listing(entries, bool(result.get("truncated")))


def _entry(line: Any) -> DirEntry:
    name, is_dir, size, permissions, modified, added = line
    # Names are bytes in the guest; what is not UTF-8 cannot be shown, but must not break what carries it.
    shown = str(name).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    numbers = [int(number) for number in (size, modified, added)]
    if not shown or "/" in shown or not all(abs(number) < MAX_SIZE for number in numbers) or numbers[0] < 0:
        raise ValueError("not an entry of a directory")
    return DirEntry(shown, bool(is_dir), numbers[0], str(permissions)[:16], *numbers[1:])
