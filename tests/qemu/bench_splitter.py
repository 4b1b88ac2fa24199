"""How fast the splitter is: `python -m tests.qemu.bench_splitter DIRECTORY [MiB]`, the directory on a pool.

A figure to look at, not a test: it depends on the host. The stream is made in memory and read without a pipe.
"""

from __future__ import annotations

import io
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from openboxd.qemu.memory_image import MemoryImage
from openboxd.qemu.stream import BLOCK, PAGE, Splitter
from tests.qemu.streams import Record, StreamMaker, source_of


def stream(pages: int, order: list[int], zero_every: int, salt: int = 0) -> bytes:
    """Every page once; one in `zero_every` runs of 64 is zeros."""
    maker = StreamMaker(pages)
    maker.start()
    noise = random.Random(7).randbytes(PAGE * 64)
    records = []
    for page in order:
        is_zero = zero_every and page // 64 % zero_every == 0
        at = (page + salt) % 64 * PAGE
        records.append(Record(BLOCK, page, None if is_zero else page.to_bytes(8, "big") + noise[at + 8 : at + PAGE]))
    for start in range(0, len(records), 20000):
        maker.section(records[start : start + 20000])
    maker.section([], last=True)
    maker.finish()
    return bytes(maker.out)


def measure(label: str, data: bytes, pages: int, path: Path, parent: Path | None) -> None:
    image = MemoryImage(path, pages * PAGE, parent)
    wall, cpu = time.perf_counter(), time.process_time()
    Splitter(source_of(data), image, io.BytesIO(), pages * PAGE).run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    start = time.perf_counter()
    image.finish()
    image.close()
    print(
        f"{label:42} {len(data) / wall / 1e6:7.0f} MB/s of stream ({len(data) / cpu / 1e6:5.0f} per second of CPU), "
        f"{image.written_pages * PAGE / 1e6:6.0f} MB written, fsync {time.perf_counter() - start:.2f} s"
    )


def main() -> None:
    directory = Path(tempfile.mkdtemp(dir=sys.argv[1]))
    pages = int(sys.argv[2] if len(sys.argv) > 2 else "512") * 256
    ordered = list(range(pages))
    gaps = ordered[::2] + ordered[1::2]
    scattered = random.Random(1).sample(ordered, len(ordered))
    first, second = directory / "first.img", directory / "second.img"
    measure("first save, no parent", stream(pages, ordered, 0), pages, first, None)
    measure("second save, nothing changed", stream(pages, ordered, 0), pages, second, first)
    measure("second save, a quarter now zeros", stream(pages, ordered, 4), pages, directory / "3", first)
    measure("second save, everything changed", stream(pages, ordered, 0, 1), pages, directory / "4", first)
    measure("nothing changed, every other page", stream(pages, gaps, 0), pages, directory / "7", first)
    measure("all changed, every other page", stream(pages, gaps, 0, 1), pages, directory / "8", first)
    measure("nothing changed, pages in random order", stream(pages, scattered, 0), pages, directory / "5", first)
    measure("all changed, pages in random order", stream(pages, scattered, 0, 1), pages, directory / "6", first)
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    print(f"most memory resident {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB, streams included")


if __name__ == "__main__":
    main()
