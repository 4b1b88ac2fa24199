"""Migration streams made by hand, and the memory they describe."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from openboxd.qemu.stream import BLOCK, PAGE

ZERO, MEM_SIZE, NORMAL, EOS, CONTINUE = 0x02, 0x04, 0x08, 0x10, 0x20
RAM_ID = b"\0\0\0\2"
ROM = b"pc.bios"


@dataclass
class Record:
    """One page of a block; `content` None means zeros."""

    block: bytes
    page: int
    content: bytes | None


@dataclass
class StreamMaker:
    """Writes a stream as QEMU does, and what a right splitter must make of it."""

    ram_pages: int
    rom_pages: int = 4
    out: bytearray = field(default_factory=bytearray)
    kept: bytearray = field(default_factory=bytearray)
    memory: bytearray = field(default_factory=bytearray)
    _last: bytes = b""

    def __post_init__(self) -> None:
        self.memory = bytearray(self.ram_pages * PAGE)
        name = b"pc-q35-10.0"
        self._both(b"QEVM\0\0\0\3" + b"\x07" + struct.pack(">I", len(name)) + name)

    def _both(self, data: bytes) -> None:
        self.out += data
        self.kept += data

    def start(self) -> None:
        self._both(b"\x01" + RAM_ID + b"\x03ram" + struct.pack(">II", 0, 4))
        total = (self.ram_pages + self.rom_pages) * PAGE
        self._both(struct.pack(">Q", total | MEM_SIZE))
        for name, pages in ((BLOCK, self.ram_pages), (ROM, self.rom_pages)):
            self._both(bytes([len(name)]) + name + struct.pack(">Q", pages * PAGE))
        self._end_of_section()

    def section(self, records: Sequence[Record], *, last: bool = False) -> None:
        self._both((b"\x03" if last else b"\x02") + RAM_ID)
        for record in records:
            self._record(record)
        self._end_of_section()

    def _end_of_section(self) -> None:
        self._both(struct.pack(">Q", EOS) + b"\x7e" + RAM_ID)

    def _record(self, record: Record) -> None:
        kind = ZERO if record.content is None else NORMAL
        body = b"\0" if record.content is None else record.content
        name = bytes([len(record.block)]) + record.block
        address = record.page * PAGE
        if record.block == self._last:
            self.out += struct.pack(">Q", address | kind | CONTINUE) + body
        else:
            self.out += struct.pack(">Q", address | kind) + name + body
        self._last = record.block
        if record.block == BLOCK:
            self.memory[address : address + PAGE] = record.content or bytes(PAGE)
        else:
            self.kept += struct.pack(">Q", address | kind) + name + body

    def finish(self, state: bytes = b"device state \0\x06\0\0\0\x02{}") -> None:
        self._both(b"\x04\0\0\0\7\x05timer" + struct.pack(">II", 0, 2) + state + b"\x7e\0\0\0\7")
        description = json.dumps({"page_size": PAGE, "devices": [{"name": "timer"}]}).encode()
        self._both(b"\0\x06" + struct.pack(">I", len(description)) + description)


def source_of(data: bytes, chunk: Callable[[], int] = lambda: 1 << 20) -> Callable[[memoryview], int]:
    """A source that hands out `data` in pieces of `chunk()` bytes."""
    at = 0

    def read(view: memoryview) -> int:
        nonlocal at
        count = min(len(view), max(1, chunk()), len(data) - at)
        view[:count] = data[at : at + count]
        at += count
        return count

    return read
