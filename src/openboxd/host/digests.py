"""Digests of big sparse files, piece by piece: so that checking is parallel, and damage has a place.

    {"algorithm": "sha256-128", "piece": 1048576, "files": {"disk.raw": {"size": 2097152, "pieces": ["9f...", ""]}}}

A piece that is all hole has the empty digest and is never read. A piece that shares its blocks with a file whose
digests are known takes them over without being read, which makes digests of a clone nearly free.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from openboxd.host import extents, files
from openboxd.host.holes import data_ranges
from openboxd.model import Damage

NAME = "digests.json"

ALGORITHM = "sha256-128"
"""SHA-256, the first 128 bits: against rot and mistakes. Most processors compute it faster than disks deliver."""

PIECE = 1 << 20
"""Bytes of one piece: small enough that a change spoils little, big enough that the list stays short."""

HOLE = ""

_THREADS = 2  # hashing and reading let go of the interpreter; more would take the guests' processors
_BATCH = 64  # pieces that are handed to the threads together
_EMPTY = bytes(PIECE)


def digest(data: bytes | memoryview) -> str:
    """The digest of some bytes."""
    return hashlib.sha256(data).hexdigest()[:32]


def take(directory: Path, names: Iterable[str], parent: Path | None = None) -> None:
    """Write digests.json for these files of a directory, synced. `parent` may hold files that they were cloned from.

    Raises OSError. Blocks.
    """
    known = _known(parent)
    described = {name: _describe(directory / name, known.get(name), parent) for name in names}
    content = {"algorithm": ALGORITHM, "piece": PIECE, "files": described}
    files.write_atomic(directory / NAME, json.dumps(content, separators=(",", ":")).encode())


def load(directory: Path, seal: str | None = None) -> Mapping[str, Any]:
    """The digests of a directory's files, by name. `seal` is the digest of digests.json itself.

    Raises:
        OSError: it is missing. ValueError: it is damaged.
    """
    data = files.read_regular(directory / NAME)
    if seal is not None and digest(data) != seal:
        raise ValueError(f"{NAME} is not what it was")
    content = json.loads(data)
    if content["algorithm"] != ALGORITHM or content["piece"] != PIECE:
        raise ValueError(f"{NAME} is of another kind")
    return dict(content["files"])


def seal(directory: Path) -> str:
    """The digest of digests.json itself."""
    return digest(files.read_regular(directory / NAME))


def lost(directory: Path, name: str, described: Mapping[str, Any]) -> Damage | None:
    """What can be told of a file without reading it: is it there, as long as it was, and did no data become holes?"""
    try:
        with _opened(directory / name) as descriptor:
            if (size := os.fstat(descriptor).st_size) != described["size"]:
                return Damage(name, 0, 0, f"has {size} bytes instead of {described['size']}")
            there = _pieces_with_data(descriptor)
    except OSError as error:
        return Damage(name, 0, 0, f"cannot be opened ({error.strerror})")
    for number, expected in enumerate(described["pieces"]):
        if expected != HOLE and number not in there and expected != _digest_of_zeros(described["size"], number):
            return Damage(name, *_bounds(described["size"], number), "lost its data")
    return None


def damages(
    directory: Path, name: str, described: Mapping[str, Any], on_piece: Callable[[int], None] = lambda _: None
) -> list[Damage]:
    """Read a file and compare every piece; neighbouring damage is told as one. Blocks.

    `on_piece` is called with the number of bytes of each piece that was looked at; what it raises ends the reading.
    """
    if (gone := lost(directory, name, described)) is not None and gone.end == 0:
        return [gone]
    size, expected = described["size"], described["pieces"]
    found: list[Damage] = []
    with _opened(directory / name) as descriptor:
        numbers = sorted(_pieces_with_data(descriptor) | {n for n, e in enumerate(expected) if e != HOLE})
        for number, now in _read(descriptor, size, numbers):
            start, end = _bounds(size, number)
            on_piece(end - start)
            if now == expected[number] or (expected[number] == HOLE and now == _digest_of_zeros(size, number)):
                continue
            if found and found[-1].end == start:
                found[-1] = Damage(name, found[-1].start, end, found[-1].text)
            else:
                found.append(Damage(name, start, end, "is not what it was"))
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)  # whole disks were read, and nobody reads on
    return found


def _known(parent: Path | None) -> Mapping[str, Any]:
    if parent is None:
        return {}
    try:
        return load(parent)
    except (OSError, ValueError, KeyError):  # an older capture, or a damaged one: everything is read
        return {}


def _describe(path: Path, known: Mapping[str, Any] | None, parent: Path | None) -> dict[str, Any]:
    with _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        pieces = [HOLE] * -(-size // PIECE)
        unread = _pieces_with_data(descriptor)
        if known is not None and parent is not None and known["size"] == size:
            for number in _same(descriptor, parent / path.name) & unread:
                if known["pieces"][number] != HOLE:
                    pieces[number] = known["pieces"][number]
                    unread.discard(number)
        for number, found in _read(descriptor, size, sorted(unread)):
            pieces[number] = found
    return {"size": size, "pieces": pieces}


def _same(descriptor: int, other: Path) -> set[int]:
    """Pieces whose blocks are those of another file; none where the filesystem does not tell."""
    try:
        with _opened(other) as theirs:
            return extents.same_pieces(descriptor, theirs, PIECE)
    except OSError:
        return set()


def _read(descriptor: int, size: int, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(number, digest) of these pieces, in order."""

    def one(number: int) -> str:
        start, end = _bounds(size, number)
        data = os.pread(descriptor, end - start, start)
        if len(data) != end - start:
            raise OSError(f"a file became shorter than {size} bytes while it was read")
        return digest(data)

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="digest") as pool:
        for begin in range(0, len(numbers), _BATCH):
            batch = numbers[begin : begin + _BATCH]
            yield from zip(batch, pool.map(one, batch), strict=True)


def _pieces_with_data(descriptor: int) -> set[int]:
    found: set[int] = set()
    for start, end in data_ranges(descriptor):
        found.update(range(start // PIECE, -(-end // PIECE)))
    return found


def _bounds(size: int, number: int) -> tuple[int, int]:
    return number * PIECE, min(size, (number + 1) * PIECE)


def _digest_of_zeros(size: int, number: int) -> str:
    start, end = _bounds(size, number)
    return digest(memoryview(_EMPTY)[: end - start])


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = files.open_regular(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
