"""A machine that begins messages and calls without end: what the daemon holds is bounded, and others are served."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import grpc
import pytest

from openboxd.api.inside import CALLS, PER_MACHINE
from openboxd.api.inside_meter import OPEN_STREAMS, SHARE, Meter, Shares
from openboxd.errors import Exhausted, InvalidArgument
from openboxd.model import MIB
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.inside.conftest import LIMIT, Doors, Visitor
from tests.inside.program import connected

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
ACK = 1
MESSAGE = 5 * MIB // 4
STREAMS = 32


def frame(kind: int, stream: int, payload: bytes = b"", flags: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def request_head(path: str) -> bytes:
    """Headers of a call, none of them compressed."""
    headers = ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"))
    headers += (("te", "trailers"), ("content-type", "application/grpc"))
    return b"".join(b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in header) for header in headers)


class Hostile:
    """Speaks HTTP/2 by hand: as fast as the windows allow, and no message to its end."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.window, self.windows = 65535, {2 * n + 1: 65535 for n in range(STREAMS)}
        self.left = dict.fromkeys(self.windows, MESSAGE - 1)
        self._read = 0

    async def flood(self) -> int:
        """Until nothing more is taken; the bytes that were."""
        self.visitor.say(PREFACE + frame(SETTINGS, 0))
        for stream in self.windows:
            head = request_head("/boxd.api.v1.BoxdApi/UploadFile")
            self.visitor.say(
                frame(HEADERS, stream, head, 4) + frame(DATA, stream, b"\0" + MESSAGE.to_bytes(4, "big"))
            )
            self.windows[stream] -= 5
            self.window -= 5
        while not self.visitor.closed.is_set() and any(self.left.values()):
            await self._send()
            try:
                async with asyncio.timeout(LIMIT / 3):
                    await self.visitor.more(self._read)
            except TimeoutError:  # no window is opened any more
                break
            self._hear()
        return len(self.left) * (MESSAGE - 1) - sum(self.left.values())

    async def _send(self) -> None:
        for stream, window in self.windows.items():
            size = min(window, self.window, self.left[stream])
            for begin in range(0, size, 16384):
                self.visitor.say(frame(DATA, stream, bytes(min(16384, size - begin))))
                await asyncio.sleep(0)  # a guest's credit does not let it say much before it is heard, either
            self.window -= size
            self.windows[stream] -= size
            self.left[stream] -= size

    def _hear(self) -> None:
        heard = self.visitor.heard
        while len(heard) - self._read >= 9:
            begin, length = self._read + 9, int.from_bytes(heard[self._read : self._read + 3], "big")
            if len(heard) < begin + length:
                return
            kind, flags = heard[begin - 6], heard[begin - 5]
            stream = int.from_bytes(heard[begin - 4 : begin], "big")
            self._take(kind, flags, stream, bytes(heard[begin : begin + length]))
            self._read = begin + length

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == WINDOW_UPDATE and stream == 0:
            self.window += int.from_bytes(payload, "big")
        elif kind == WINDOW_UPDATE and stream in self.windows:
            self.windows[stream] += int.from_bytes(payload, "big")
        elif kind == RST_STREAM:
            self.left[stream] = 0
        elif kind in (PING, SETTINGS) and not flags & ACK:
            for begin in range(0, len(payload) if kind == SETTINGS else 0, 6):
                if payload[begin : begin + 2] == b"\0\4":
                    more = int.from_bytes(payload[begin + 2 : begin + 6], "big") - 65535
                    self.windows = {number: window + more for number, window in self.windows.items()}
            self.visitor.say(frame(kind, 0, payload if kind == PING else b"", ACK))


def resident() -> int:
    """Bytes of memory that this process, in which the daemon is, has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_messages_that_never_end_hold_no_more_than_a_share(doors: Doors) -> None:
    await doors.world.machine("db")
    before = resident()
    knocked = [doors.knock("api") for _ in range(PER_MACHINE)]
    async with asyncio.timeout(LIMIT):
        taken = await asyncio.gather(*(Hostile(visitor).flood() for visitor, _ in knocked))
    held = doors.inside._shares.held(doors.run_of())
    grown = resident() - before
    print(f"{sum(taken) // MIB} MiB were taken, {held // MIB} are held, the daemon has {grown // MIB} MiB more")
    assert 0 < held <= SHARE
    assert any(isinstance(task.exception(), Exhausted) for _, task in knocked if task.done())
    async with connected(doors, "db") as channel:  # nobody else is the worse for it
        assert (await BoxdApiStub(channel).GetVm(pb.GetVmRequest(vm_id="db"))).name == "db"
    for visitor, _ in knocked:
        visitor.leave()
        visitor.lose()
    await doors.world.until(lambda: not doors.inside._shares.held(doors.run_of()))
    assert grown < 7 * SHARE  # what was let go of stays with the process for a while; without a limit it is 10 shares


async def test_calls_that_are_not_read_are_so_many_and_no_more(doors: Doors) -> None:
    async with connected(doors) as one, connected(doors) as two, connected(doors) as three:
        watching = []
        for channel in (one, one, two, two, three)[: CALLS * 2 // STREAMS]:
            watching += [
                BoxdApiStub(channel).StreamLogs(pb.StreamLogsRequest(vm_id="web", follow=True)) for _ in range(16)
            ]
        await doors.world.until(lambda: doors.inside._calls[doors.run_of()] == CALLS)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await BoxdApiStub(three).GetVm(pb.GetVmRequest(vm_id="web"))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert f"{CALLS} calls of this machine" in caught.value.details()
        for call in watching:
            call.cancel()
        await doors.world.until(lambda: not doors.inside._calls[doors.run_of()])
        assert (await BoxdApiStub(three).GetVm(pb.GetVmRequest(vm_id="web"))).name == "web"


def begun(*streams: int) -> bytes:
    return b"".join(frame(HEADERS, stream, b"x", 4) for stream in streams)


def message(stream: int, size: int, promised: int) -> bytes:
    data = b"\0" + promised.to_bytes(4, "big") + bytes(size)
    return b"".join(frame(DATA, stream, data[begin : begin + 16384]) for begin in range(0, len(data), 16384))


@pytest.mark.parametrize("cut", [1, 7, 4096, 10**9])
def test_what_is_held_is_counted_however_it_is_cut(cut: int) -> None:
    shares = Shares()
    meter = Meter(shares, "run")
    said = PREFACE + frame(SETTINGS, 0) + begun(1, 3)
    said += message(1, 20_000, 20_000) + message(3, 500, 1000) + message(1, 40, 40)
    for begin in range(0, len(said), cut):
        meter.inwards(said[begin : begin + cut])
    assert shares.held("run") == 40 + 500  # the last message of the first stream, and the part of the other
    for answered in (frame(HEADERS, 1, b"x", 4), frame(HEADERS, 1, b"x", 5)):
        meter.outwards(answered)
    assert shares.held("run") == 500
    meter.inwards(frame(RST_STREAM, 3, bytes(4)))
    assert shares.held("run") == 0
    meter.inwards(begun(5) + message(5, 9, 10))
    assert shares.held("run") == 9
    meter.close()
    assert shares.held("run") == 0


def test_data_that_comes_after_the_end_of_its_call_is_not_held() -> None:
    shares = Shares()
    meter = Meter(shares, "run")
    meter.inwards(PREFACE)
    for stream in range(1, 4 * OPEN_STREAMS, 2):
        meter.inwards(begun(stream) + frame(DATA, stream, b"\0" + MIB.to_bytes(4, "big") + bytes(100)))
        assert shares.held("run") == 100
        refused = frame(HEADERS, stream, b"x", 5) if stream % 4 == 1 else frame(RST_STREAM, stream, bytes(4))
        meter.outwards(refused)
        meter.inwards(frame(DATA, stream, bytes(16384)) + frame(DATA, stream, bytes(9), 1))
        assert shares.held("run") == 0
    meter.inwards(begun(2**31 - 1) + frame(RST_STREAM, 2**31 - 1, bytes(4)) + begun(5) + message(5, 9, 10))
    assert shares.held("run") == 9  # a high number that gRPC refused hides no call after it
    meter.close()


async def test_uploads_that_are_refused_while_they_come_do_not_end_the_connection(doors: Doors) -> None:
    visitor, visit = doors.knock("api")
    visitor.say(PREFACE + frame(SETTINGS, 0) + frame(SETTINGS, 0, b"", ACK))
    unknown = pb.UploadFileChunk(vm_id="nope", path="/x", total_size=MIB).SerializeToString()
    head, first = (
        request_head("/boxd.api.v1.BoxdApi/UploadFileStream"),
        b"\0" + bytes([0, 0, 0, len(unknown)]) + unknown,
    )
    for wave in [range(begin, begin + 48, 2) for begin in range(1, 3 * OPEN_STREAMS, 48)]:
        for stream in wave:
            visitor.say(frame(HEADERS, stream, head, 4) + frame(DATA, stream, first))
        for stream in wave:
            await visitor.until(frame(RST_STREAM, stream, bytes(4)))
        for stream in wave:
            visitor.say(message(stream, 100, 1000))  # was on its way
    visitor.say(frame(PING, 0, b"are done"))
    await visitor.until(frame(PING, 0, b"are done", ACK))
    assert (doors.inside._shares.held(doors.run_of()), visit.done()) == (0, False)


def test_what_no_client_does_ends_the_connection() -> None:
    shares = Shares()
    with pytest.raises(InvalidArgument):
        Meter(shares, "run").inwards(PREFACE + frame(DATA, 1, bytes(9), 8))
    greedy = Meter(shares, "run")
    with pytest.raises(Exhausted, match="too many calls"):
        greedy.inwards(PREFACE + begun(*range(1, 201, 2)))
    greedy.close()
    greedy = Meter(shares, "run")
    with pytest.raises(Exhausted, match="48 MiB"):
        greedy.inwards(PREFACE + begun(1) + message(1, SHARE + 1, SHARE + 2))
    greedy.close()
    assert shares.held("run") == 0
