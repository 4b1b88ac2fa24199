"""Splits a migration stream: pages of the guest's RAM go to the memory image, every other byte is kept as it is.

The format is QEMU's (docs/devel/migration/main.rst, migration/savevm.c and ram.c). Only the sections up to the
end of RAM are understood; what follows is device state and is copied untouched, after a check that it is whole.
Anything unknown is an error: a capture is right or it does not exist.

    "QEVM" version
    CONFIGURATION                     machine type
    START ram    MEM_SIZE list, EOS   FOOTER
    PART  ram    page records, EOS    FOOTER      (many)
    END   ram    page records, EOS    FOOTER
    FULL  ...    device state ...                 <- from here on untouched: the tail
    EOF          VMDESCRIPTION length JSON
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

PAGE = 4096
BLOCK = b"mem"
"""Name of the RAM block of the guest's memory: the id of its memory backend."""

# Types of sections.
_START, _PART, _END, _FULL, _CONFIGURATION, _COMMAND, _FOOTER = 0x01, 0x02, 0x03, 0x04, 0x07, 0x08, 0x7E

# Flags of the records of a ram section, in the low bits of the page's address.
_ZERO, _MEM_SIZE, _NORMAL, _EOS, _CONTINUE = 0x02, 0x04, 0x08, 0x10, 0x20
_FLAGS = 0xFFF

_MAGIC = b"QEVM\x00\x00\x00\x03"
_BUFFER = 4 << 20  # bytes; a pipe gives 1 MiB at most at once
_BATCH = 512  # page records looked at together: 2 MiB, so that they stay in the processor's cache
_MOST_TAIL = 64 << 20  # bytes of device state; real ones have 0.4 MiB

Index = npt.NDArray[np.int64]
Pages = npt.NDArray[np.uint8]
Source = Callable[[memoryview], int]
"""Fills a buffer from its start; the number of bytes, 0 at the end of the stream."""


class StreamError(Exception):
    """The stream holds something that is not understood, or is cut."""


class StreamCut(StreamError):
    """The stream ended early: as a rule because QEMU gave the migration up."""


class PageSink(Protocol):
    """Takes the pages of the guest's RAM, in the order of the stream: a later one replaces an earlier one."""

    def put(self, index: Index, pages: Pages) -> None:
        """Content of the pages with these numbers; `pages` has one row of 4096 bytes each, valid only now."""
        ...

    def zero(self, index: Index) -> None:
        """These pages are all zeros."""
        ...


class _Input:
    """The stream, buffered so that runs of records can be looked at in place."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.view = memoryview(bytearray(_BUFFER))
        self.low = self.high = 0

    def need(self, count: int) -> bool:
        """Have `count` bytes in the buffer; False if the stream ends before."""
        if len(self.view) - self.low < count:
            left = self.high - self.low
            self.view[:left] = self.view[self.low : self.high]
            self.low, self.high = 0, left
        while self.high - self.low < count:
            got = self._source(self.view[self.high :])
            if not got:
                return False
            self.high += got
        return True

    def take(self, count: int) -> bytes:
        """The next `count` bytes. Raises StreamError if the stream ends before."""
        if not self.need(count):
            raise StreamCut("the migration stream ended early")
        self.low += count
        return bytes(self.view[self.low - count : self.low])

    def rest(self, most: int) -> bytearray:
        """Everything up to the end of the stream."""
        data = bytearray()
        while self.need(1):
            data += self.view[self.low : self.high]
            self.low = self.high = 0
            if len(data) > most:
                raise StreamError(f"the device state is larger than {most >> 20} MiB")
        return data


class Splitter:
    """One pass over one stream."""

    def __init__(self, source: Source, sink: PageSink, kept: BinaryIO, ram_bytes: int) -> None:
        self._input = _Input(source)
        self._sink = sink
        self._kept = kept
        self._ram_bytes = ram_bytes
        self._ram_section = b""
        self._ram_ended = False
        self._sizes: dict[bytes, int] = {}  # of the RAM blocks, in bytes
        self._block = b""

    def run(self) -> None:
        """Read the stream to its end.

        Raises:
            StreamError: it is cut, or not understood; what was written is rubbish.
            OSError: of the source, the sink or the kept file.
        """
        if self._keep(8) != _MAGIC:
            raise StreamError("this is not a migration stream of a known version")
        while self._section():
            pass

    def _section(self) -> bool:
        """Deal with one section; False after the last."""
        kind = self._input.take(1)[0]
        if kind in (_START, _FULL):
            return self._first(kind)
        self._kept.write(bytes([kind]))
        if kind in (_PART, _END):
            self._check_section(self._keep(4))
            self._records()
            self._ram_ended = self._ram_ended or kind == _END
        elif kind == _FOOTER:
            self._check_section(self._keep(4))
        elif kind == _CONFIGURATION:
            self._keep(_u32(self._keep(4)))
        elif kind == _COMMAND:
            self._keep(int.from_bytes(self._keep(4)[2:], "big"))
        else:
            raise StreamError(f"the migration stream has a section of unknown type {kind:#x}")
        return True

    def _first(self, kind: int) -> bool:
        """The first section of a device: of RAM, or the beginning of the tail."""
        section = self._input.take(4)
        length = self._input.take(1)
        name = self._input.take(length[0])
        head = bytes([kind]) + section + length + name
        if name != b"ram":
            self._tail(kind, name, head)
            return False
        if kind != _START or self._ram_section:
            raise StreamError("the migration stream describes RAM twice")
        self._kept.write(head)
        self._keep(8)  # instance, version
        self._ram_section = section
        self._records()
        return True

    def _tail(self, kind: int, name: bytes, head: bytes) -> None:
        if kind != _FULL or not self._ram_ended:
            raise StreamError(f"the migration stream has an unexpected section {name!r} before the end of RAM")
        tail = self._input.rest(_MOST_TAIL)
        check_tail(tail)
        self._kept.write(head)
        self._kept.write(tail)

    def _check_section(self, section: bytes) -> None:
        if not self._ram_section or section != self._ram_section:
            raise StreamError("the migration stream goes on with a section that it did not begin")

    def _records(self) -> None:
        """The records of one ram section, up to its end mark."""
        while True:
            head = self._input.take(8)
            word = int.from_bytes(head, "big")
            flags, address = word & _FLAGS, word & ~_FLAGS
            if flags == _EOS:
                self._kept.write(head)
                return
            if flags == _MEM_SIZE:
                self._kept.write(head)
                self._list_blocks(address)
            elif flags & ~_CONTINUE in (_ZERO, _NORMAL):
                self._page(flags, address)
            else:
                raise StreamError(f"the migration stream has a RAM record with unknown flags {flags:#x}")

    def _list_blocks(self, left: int) -> None:
        """The list of RAM blocks and their sizes. `left` is rounded down to pages, the sizes are whole pages."""
        while left > 0:
            name = self._keep(self._keep(1)[0])
            size = int.from_bytes(self._keep(8), "big")
            if not size or size > left:
                raise StreamError(f"the sizes of the RAM blocks do not add up at {name!r}")
            self._sizes[name] = size
            left -= size
        if self._sizes.get(BLOCK) != self._ram_bytes:
            raise StreamError(f"the guest's RAM is not of {self._ram_bytes} bytes in the migration stream")

    def _page(self, flags: int, address: int) -> None:
        if not flags & _CONTINUE:
            self._block = self._input.take(self._input.take(1)[0])
        if address >= self._sizes.get(self._block, 0):
            raise StreamError("the migration stream has a page that lies in no RAM block")
        body = 1 if flags & _ZERO else PAGE
        if self._block != BLOCK:
            # Firmware and the like stay in the stream. The record that named the block may have gone to the
            # image, or the one before may be of the image's block: so name it every time.
            name = bytes([len(self._block)]) + self._block
            self._kept.write(struct.pack(">Q", address | flags & ~_CONTINUE) + name)
            self._check_fill(flags, self._keep(body))
            return
        content = self._input.take(body)
        self._check_fill(flags, content)
        self._hand_on(flags, np.array([address], np.int64), np.frombuffer(content, np.uint8).reshape(1, body))
        while self._run_of_pages(flags | _CONTINUE):
            pass

    def _run_of_pages(self, flags: int) -> bool:
        """Take the equal records that are in the buffer already; False if there is none."""
        stride = 8 + (1 if flags & _ZERO else PAGE)
        source = self._input
        count = min((source.high - source.low) // stride, _BATCH)
        if not count:
            return False
        records = np.frombuffer(source.view[source.low : source.low + count * stride], np.uint8)
        records = records.reshape(count, stride)
        words = np.ascontiguousarray(records[:, :8]).view(">u8").ravel().astype(np.uint64)
        same = (words & np.uint64(_FLAGS)) == flags
        taken = count if same.all() else int(np.argmin(same))
        if not taken:
            return False
        content = records[:taken, 8:]
        if flags & _ZERO and content.any():
            raise StreamError("the migration stream fills a page with something else than zeros")
        addresses = (words[:taken] & ~np.uint64(_FLAGS)).view(np.int64)
        self._hand_on(flags, addresses, content)
        source.low += taken * stride
        return True

    def _hand_on(self, flags: int, addresses: Index, content: Pages) -> None:
        if int(addresses.max()) >= self._ram_bytes or int(addresses.min()) < 0:
            raise StreamError("the migration stream has a page that lies in no RAM block")
        if flags & _ZERO:
            self._sink.zero(addresses // PAGE)
        else:
            self._sink.put(addresses // PAGE, content)

    def _check_fill(self, flags: int, content: bytes) -> None:
        if flags & _ZERO and content != b"\0":
            raise StreamError("the migration stream fills a page with something else than zeros")

    def _keep(self, count: int) -> bytes:
        data = self._input.take(count)
        self._kept.write(data)
        return data


def check_tail(tail: bytes | bytearray) -> None:
    """Raise StreamError unless the device state is whole.

    It is not parsed; but QEMU ends it with an end mark and a description in JSON that carries its own length, so
    a cut anywhere shows."""
    end = len(tail)
    at = tail.rfind(b"\x00\x06")
    while at >= 0:
        begin = at + 6
        if begin <= end and begin + _u32(tail[at + 2 : begin]) == end:
            try:
                description = json.loads(tail[begin:])
            except ValueError:
                description = None
            if isinstance(description, dict) and "devices" in description:
                return
        at = tail.rfind(b"\x00\x06", 0, at + 1)
    raise StreamCut("the migration stream ended early, in the device state")


def _u32(data: bytes | bytearray) -> int:
    return int.from_bytes(data, "big")
