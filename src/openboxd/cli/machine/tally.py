"""What a copy has done so far: counted, shown on a terminal while it runs, and told at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from openboxd.cli.output import size
from openboxd.cli.progress import Show, bar


@dataclass
class Tally:
    """Files, links and bytes that were copied, and what was left out with the reason."""

    show: Show
    files: int = 0
    links: int = 0
    bytes: int = 0
    skipped: list[str] = field(default_factory=list)
    _name: str = ""
    _size: int = 0
    _done: int = 0

    def begin(self, name: str, length: int = 0) -> None:
        """The next file, of so many bytes; 0 = not known yet."""
        self._name, self._size, self._done = name, length, 0
        self.add(0)

    def add(self, count: int, length: int = 0) -> None:
        """So many bytes more of the present file."""
        self._done += count
        self._size = length or self._size
        from openboxd.wire.openboxd_host_pb2 import Progress  # loading it takes longer than --help may take

        fraction = min(1.0, self._done / self._size) if self._size else None
        self.show(Progress(step=self._name, detail=size(self._done), fraction=fraction))

    def end(self) -> None:
        """The present file is whole."""
        self.files += 1
        self.bytes += self._done

    def skip(self, what: str, why: str) -> None:
        """Something was not copied."""
        self.skipped.append(f"{what}: {why}")

    def text(self) -> str:
        """In words, as in `copied 2 files and 1 link, 3.4M`."""
        words = [_counted(self.files, "file")]
        if self.links:
            words.append(_counted(self.links, "link"))
        return f"copied {' and '.join(words)}, {size(self.bytes)}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


@asynccontextmanager
async def counting(title: str) -> AsyncIterator[Tally]:
    """A tally that is shown for the time of the block."""
    async with bar(title) as show:
        yield Tally(show)
