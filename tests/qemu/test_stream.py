"""The splitter: right in every chunking, and never wrong in silence."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openboxd.qemu import stream
from openboxd.qemu.stream import BLOCK, PAGE, Index, Pages, Splitter, StreamError
from tests.qemu.streams import CONTINUE, EOS, RAM_ID, ROM, Record, StreamMaker, source_of

PAGES = 24


class Memory:
    """Takes pages as the image does, the simple way."""

    def __init__(self, pages: int) -> None:
        self.data = bytearray(pages * PAGE)

    def put(self, index: Index, pages: Pages) -> None:
        for page, content in zip(index.tolist(), pages, strict=True):
            self.data[page * PAGE : (page + 1) * PAGE] = content.tobytes()

    def zero(self, index: Index) -> None:
        for page in index.tolist():
            self.data[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)


def split(data: bytes, chunk: int = 1 << 20, pages: int = PAGES) -> tuple[bytes, bytes]:
    """Memory and kept bytes of a stream."""
    memory, kept = Memory(pages), io.BytesIO()
    Splitter(source_of(data, lambda: chunk), memory, kept, pages * PAGE).run()
    return bytes(memory.data), kept.getvalue()


def content(seed: int) -> bytes:
    return random.Random(seed).randbytes(16) * (PAGE // 16)


def small_stream() -> StreamMaker:
    maker = StreamMaker(4)
    maker.start()
    maker.section([Record(BLOCK, 0, content(1)), Record(ROM, 1, content(2)), Record(BLOCK, 1, None)])
    maker.section([Record(BLOCK, 2, None), Record(BLOCK, 3, content(3)), Record(ROM, 0, None)], last=True)
    maker.finish()
    return maker


records = st.lists(
    st.builds(
        Record,
        st.sampled_from([BLOCK, BLOCK, BLOCK, ROM]),
        st.integers(0, 3),
        st.one_of(st.none(), st.integers(0, 9).map(content)),
    )
    | st.builds(Record, st.just(BLOCK), st.integers(0, PAGES - 1), st.none() | st.integers(0, 9).map(content)),
    max_size=40,
)


@settings(max_examples=150)
@given(st.lists(records, min_size=1, max_size=4), st.randoms(use_true_random=False), st.integers(1, 9000))
def test_any_stream_in_any_chunks(sections: list[list[Record]], rng: random.Random, most: int) -> None:
    maker = StreamMaker(PAGES)
    maker.start()
    for number, section in enumerate(sections):
        maker.section(section, last=number == len(sections) - 1)
    maker.finish()
    memory, kept = Memory(PAGES), io.BytesIO()
    Splitter(source_of(bytes(maker.out), lambda: rng.randint(1, most)), memory, kept, PAGES * PAGE).run()
    assert bytes(memory.data) == bytes(maker.memory)
    assert kept.getvalue() == bytes(maker.kept)


def test_long_runs_cross_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_BUFFER", 3 * PAGE + 100)
    maker = StreamMaker(600)
    maker.start()
    maker.section([Record(BLOCK, page, content(page) if page % 7 else None) for page in range(600)], last=True)
    maker.finish()
    assert split(bytes(maker.out), pages=600) == (bytes(maker.memory), bytes(maker.kept))


def test_a_cut_at_every_position_is_an_error() -> None:
    data = bytes(small_stream().out)
    assert split(data, pages=4)[1]
    for position in range(len(data)):
        with pytest.raises(StreamError):
            split(data[:position], pages=4)


def test_pages_of_other_blocks_are_named_again() -> None:
    """In the stream the name comes only where the block changes; without the guest's pages it would be missing."""
    maker = StreamMaker(4)
    maker.start()
    page = content(1)
    maker.section([Record(ROM, 0, page), Record(BLOCK, 0, page), Record(ROM, 1, page), Record(ROM, 2, page)])
    maker.section([Record(ROM, 3, None)], last=True)  # goes on with the block of the section before
    maker.finish()
    _, kept = split(bytes(maker.out), pages=4)
    assert kept == bytes(maker.kept)
    assert kept.count(bytes([len(ROM)]) + ROM) == 1 + 4  # the list of sizes, and each of the four pages


def replaced(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new, 1)


RAM_PART = b"\x02" + RAM_ID


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"QEVM\0\0\0\3", b"QEVM\0\0\0\4", "known version"),
        (RAM_PART, b"\x05" + RAM_ID, "unknown type"),
        (RAM_PART, b"\x02\0\0\0\x63", "did not begin"),
        (b"\x7e" + RAM_ID, b"\x7e\0\0\0\x63", "did not begin"),
        (b"\x04\0\0\0\7\x05timer", b"\x01\0\0\0\7\x05timer", "unexpected section"),
        (b"\x03" + RAM_ID, b"\x02" + RAM_ID, "before the end of RAM"),
        (b"\x03mem" + (4 * PAGE).to_bytes(8, "big"), b"\x03mem" + (3 * PAGE).to_bytes(8, "big"), "do not add up"),
        (b"\x03mem", b"\x03nem", "is not of"),
        (b"\x07pc.bios" + bytes(6) + b"\x40", b"\x07pc.bios" + bytes(6) + b"\xf0", "do not add up"),
        ((PAGE | CONTINUE | 2).to_bytes(8, "big"), (PAGE | CONTINUE | 0x40).to_bytes(8, "big"), "unknown flags"),
        (EOS.to_bytes(8, "big"), (EOS | 2).to_bytes(8, "big"), "unknown flags"),
        (b'"devices"', b'"nothing"', "ended early"),
    ],
)
def test_what_is_not_understood_is_an_error(old: bytes, new: bytes, words: str) -> None:
    maker = StreamMaker(4)
    maker.start()
    maker.section([Record(BLOCK, 0, content(1)), Record(BLOCK, 2, None), Record(BLOCK, 1, None)])
    maker.section([Record(BLOCK, 3, None)], last=True)
    maker.finish()
    with pytest.raises(StreamError, match=words):
        split(replaced(bytes(maker.out), old, new), pages=4)


def test_a_page_beyond_the_end_is_an_error() -> None:
    maker = StreamMaker(4)
    maker.start()
    maker.memory = bytearray(8 * PAGE)
    maker.section([Record(BLOCK, 0, content(1)), Record(BLOCK, 5, content(1))], last=True)
    maker.finish()
    with pytest.raises(StreamError, match="lies in no"):
        split(bytes(maker.out), pages=4)


def test_a_page_of_a_block_that_was_not_listed_is_an_error() -> None:
    maker = StreamMaker(4)
    maker.start()
    maker.section([Record(b"nem", 0, content(1))], last=True)
    maker.finish()
    with pytest.raises(StreamError, match="lies in no"):
        split(bytes(maker.out), pages=4)


def test_a_page_filled_with_something_else_is_an_error() -> None:
    maker = StreamMaker(4)
    maker.start()
    maker.section([Record(BLOCK, page, None) for page in range(4)], last=True)
    data = bytes(maker.out)
    at = data.rindex((3 * PAGE | CONTINUE | 2).to_bytes(8, "big")) + 8
    with pytest.raises(StreamError, match="else than zeros"):
        split(data[:at] + b"\x55" + data[at + 1 :], pages=4)


@settings(max_examples=200)
@given(st.data())
def test_a_flipped_byte_is_an_error_or_changes_nothing_else(data: st.DataObject) -> None:
    """Damage is found, or stays inside what it hit: the splitter never crashes and never invents."""
    good = bytes(small_stream().out)
    position = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[position] ^= data.draw(st.integers(1, 255))
    try:
        memory, _ = split(bytes(bad), pages=4)
    except StreamError:
        return
    differing = np.flatnonzero(np.frombuffer(memory, np.uint8) != np.frombuffer(small_stream().memory, np.uint8))
    pages = {int(at) // PAGE for at in differing}
    assert len(pages) <= 2  # a content, or a page that went to another place


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_rubbish_is_an_error(rubbish: bytes) -> None:
    with pytest.raises(StreamError):
        split(rubbish)
    with pytest.raises(StreamError):
        split(bytes(small_stream().out[:40]) + rubbish)
