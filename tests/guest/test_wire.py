"""Whatever is cut, torn or mixed in: no wrong record, and the next SYNC is found."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from openboxd.guest import wire

NONCE = bytes(range(1, 17))
LATER = bytes(range(101, 117))

fragments = st.one_of(
    st.binary(max_size=40),
    st.just(wire.MARKER),
    st.integers(1, 15).map(lambda n: wire.MARKER[:n]),
    st.integers(1, 15).map(lambda n: wire.MARKER[n:]),
    st.just(wire.sync(NONCE)),
    st.integers(1, 30).map(bytes),
)
payloads = st.lists(fragments, max_size=8).map(b"".join)


def stream_of(payload: bytes, kind: int = wire.DATA) -> bytes:
    return b"".join(wire.data_frames(kind, 7, payload))


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    points = sorted({0, len(data), *(c % (len(data) + 1) for c in cuts)})
    return [data[a:b] for a, b in pairwise(points)]


def read(parser: wire.Parser, chunks: list[bytes]) -> list[wire.Record]:
    return [record for chunk in chunks for record in parser.feed(chunk)]


def content(records: list[wire.Record]) -> bytes:
    return b"".join(payload for kind, _, payload in records if kind == wire.DATA)


def test_a_full_frame_is_one_write() -> None:
    assert len(wire.frame(wire.DATA, 1, bytes(wire.MAX_PAYLOAD))) == 32 * 1024
    assert 0 not in wire.MARKER
    assert not wire.MARKER.isascii()


@given(st.lists(payloads, max_size=4), st.lists(st.integers(0, 10_000), max_size=12))
def test_payloads_arrive_however_they_are_chunked(sent: list[bytes], cuts: list[int]) -> None:
    data = wire.sync(NONCE) + b"".join(map(stream_of, sent))
    parser = wire.Parser(hunting=True)
    records = read(parser, cut(data, cuts))
    assert records[0] == (wire.SYNC, 0, NONCE)
    assert [kind for kind, _, _ in records].count(wire.SYNC) == 1
    assert content(records) == b"".join(sent)
    assert not parser.hunting


@settings(max_examples=30)
@given(payloads, payloads, payloads, st.lists(st.integers(0, 10_000), max_size=6))
def test_a_stream_cut_anywhere_is_found_again(old: bytes, torn: bytes, new: bytes, cuts: list[int]) -> None:
    """Every position: half frames, half SYNCs, then a whole SYNC and what belongs to it."""
    before = stream_of(old) + wire.sync(NONCE) + stream_of(torn)
    after = wire.sync(LATER) + stream_of(new)
    for position in range(len(before) + 1):
        records = read(wire.Parser(), cut(before[:position] + after, cuts))
        start = records.index((wire.SYNC, 0, LATER))
        assert content(records[start:]) == new
        assert (old + torn).startswith(content(records[:start]))


@given(st.binary(max_size=300), payloads, st.lists(st.integers(0, 10_000), max_size=6))
def test_garbage_before_a_sync_is_passed_over(garbage: bytes, new: bytes, cuts: list[int]) -> None:
    data = garbage + wire.sync(NONCE) + stream_of(new)
    for hunting in (False, True):
        records = read(wire.Parser(hunting), cut(data, cuts))
        assert content(records[records.index((wire.SYNC, 0, NONCE)) :]) == new


def test_a_torn_sync_is_not_taken_for_one() -> None:
    for length in range(wire.SYNC_SIZE):
        records = wire.Parser().feed(wire.sync(NONCE)[:length] + wire.sync(LATER))
        assert records == [(wire.SYNC, 0, LATER)]


def test_a_hunting_parser_keeps_next_to_nothing() -> None:
    parser = wire.Parser(hunting=True)
    for _ in range(100):
        assert parser.feed(b"\xe7" * 100_000) == []
    assert parser.dropped > 100 * 100_000 - 20
