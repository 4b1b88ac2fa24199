"""memory.img: equal to what came, sharing what the parent has."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from openboxd.host import holes, reflink
from openboxd.host.extents import file_usage
from openboxd.qemu.memory_image import IncompleteImage, MemoryImage
from openboxd.qemu.stream import PAGE
from tests.host.xfs import mounted

PAGES = 700
CLONE = reflink.clone_file


@pytest.fixture(scope="module")
def xfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted(tmp_path_factory.mktemp("image")) as point:
        yield point


@pytest.fixture(params=["reflinks", "none"])
def directory(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Where a child is a reflink of its parent, and where it cannot be: the content is the same."""
    if request.param == "none":
        yield request.getfixturevalue("without_reflinks")
        return
    made = request.getfixturevalue("xfs") / f"image-{random.randrange(1 << 40):x}"
    made.mkdir()
    assert reflink.probe(made)[0]
    yield made
    shutil.rmtree(made)


@pytest.fixture
def without_reflinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in which no file can be cloned, whatever its filesystem can."""

    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EOPNOTSUPP, "no reflinks here")

    monkeypatch.setattr(reflink, "clone_file", refuse)
    return tmp_path


def page(seed: int) -> np.ndarray:
    return np.frombuffer(random.Random(seed).randbytes(PAGE), np.uint8)


def put(image: MemoryImage, pages: dict[int, int]) -> None:
    index = np.array(list(pages), np.int64)
    image.put(index, np.stack([page(seed) for seed in pages.values()]))


def zero(image: MemoryImage, pages: list[int]) -> None:
    image.zero(np.array(pages, np.int64))


def data_pages(path: Path) -> set[int]:
    with path.open("rb") as file:
        return {at for a, b in holes.data_ranges(file.fileno()) for at in range(a // PAGE, -(-b // PAGE))}


def shared(path: Path) -> int:
    """How many pages of the file lie in blocks that another file has too."""
    with path.open("rb") as file:
        return file_usage(file.fileno()).shared_bytes // PAGE


def take(path: Path, content: dict[int, int], parent: Path | None = None) -> MemoryImage:
    image = MemoryImage(path, PAGES * PAGE, parent)
    zero(image, [at for at in range(PAGES) if at not in content])
    put(image, content)
    image.finish()
    image.close()
    return image


def expected(content: dict[int, int]) -> bytes:
    return b"".join(page(content[at]).tobytes() if at in content else bytes(PAGE) for at in range(PAGES))


def test_zeros_are_holes(directory: Path) -> None:
    content = {5: 1, 6: 2, 300: 3}
    image = take(directory / "m", content)
    assert (directory / "m").read_bytes() == expected(content)
    assert image.written_pages == 3
    assert 0 not in data_pages(directory / "m")
    assert (directory / "m").stat().st_mode & 0o777 == 0o600


def test_a_child_is_right_and_writes_only_what_differs(directory: Path) -> None:
    first = {at: at for at in range(600)}
    take(directory / "a", first)
    second = {at: (at if at % 3 else at + 1000) for at in range(500)} | {650: 7}
    image = take(directory / "b", second, directory / "a")
    assert (directory / "b").read_bytes() == expected(second)
    assert (directory / "a").read_bytes() == expected(first)
    if reflink.clone_file is CLONE:
        changed = sum(1 for at in second if first.get(at) != second[at])
        assert image.written_pages == changed
        assert shared(directory / "b") == shared(directory / "a") == len(second) - changed
    else:
        assert image.written_pages == len(second)


def test_the_last_word_counts(directory: Path) -> None:
    """A page may come many times: changed, back to the parent's content, zero, and again."""
    take(directory / "a", {at: at for at in range(PAGES)})
    rng = random.Random(3)
    content: dict[int, int] = {}
    image = MemoryImage(directory / "b", PAGES * PAGE, directory / "a")
    for _ in range(300):
        some = rng.sample(range(PAGES), rng.randint(1, 20))
        if rng.random() < 0.4:
            zero(image, some)
            for at in some:
                content.pop(at, None)
        else:
            these = {at: (at if rng.random() < 0.5 else rng.randint(1000, 1010)) for at in some}
            put(image, these)
            content.update(these)
    zero(image, [at for at in range(PAGES) if at not in content])
    image.finish()
    image.close()
    assert (directory / "b").read_bytes() == expected(content)


def test_a_page_twice_in_one_batch(directory: Path) -> None:
    take(directory / "a", {3: 3})
    image = MemoryImage(directory / "b", PAGES * PAGE, directory / "a")
    image.put(np.array([3, 4, 3], np.int64), np.stack([page(9), page(4), page(3)]))
    image.zero(np.array([8, 8, 2], np.int64))
    image.close()
    assert (directory / "b").read_bytes() == expected({3: 3, 4: 4})


def test_a_missing_page_is_an_error(directory: Path) -> None:
    image = MemoryImage(directory / "m", PAGES * PAGE)
    zero(image, list(range(PAGES - 1)))
    with pytest.raises(IncompleteImage, match="1 of 700"):
        image.finish()
    zero(image, [PAGES - 1, PAGES - 1])
    image.finish()
    image.close()
    image.close()


def test_a_parent_of_another_size_is_not_used(directory: Path) -> None:
    take(directory / "a", {at: at for at in range(PAGES)})
    image = MemoryImage(directory / "b", 2 * PAGES * PAGE, directory / "a")
    image.close()
    assert data_pages(directory / "b") == set()
    assert (directory / "b").stat().st_size == 2 * PAGES * PAGE
