"""What files take of the host's memory: mapped in a process, and in the page cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from dataclasses import dataclass
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)


@dataclass(frozen=True)
class Mapped:
    """Mappings of files of one name in one process: bytes, and the inode of the first."""

    inode: str
    resident: int
    proportional: int  # what several processes have is divided among them


def mapped(pid: int, name: str) -> Mapped:
    """What a process has mapped of files of this name; unlinked ones count."""
    maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{pid}/smaps").read_text(), flags=re.MULTILINE)
    found = [text for text in maps if name in text]
    resident, own = (
        sum(1024 * int(re.findall(rf"^{field}: *(\d+)", text, re.MULTILINE)[0]) for text in found)
        for field in ("Rss", "Pss")
    )
    return Mapped(found[0].split()[4], resident, own)


def cached(path: Path) -> int:
    """Bytes of a file that are in the page cache."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # Writable, because ctypes wants that to tell the address; nothing is written.
        with mmap.mmap(file.fileno(), size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as view:
            first = ctypes.c_char.from_buffer(view)
            pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
            failed = _libc.mincore(ctypes.addressof(first), size, pages)
            del first
            assert not failed, os.strerror(ctypes.get_errno())
    return mmap.PAGESIZE * sum(byte & 1 for byte in pages.raw)
