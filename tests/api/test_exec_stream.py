"""Exec over a real connection: stdin, its end, the exit status, terminals, cancellation, back-pressure."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest

from openboxd.wire import boxd_api_pb2 as pb

LIMIT = 15


async def run(api, command, *chunks, half_close=True, **first):
    """Run to the end: (stdout, stderr, exit codes that were sent, in order)."""
    call = api.boxd.Exec(None)
    await call.write(pb.ExecChunk(vm_id="web", command=command, **first))
    for chunk in chunks:
        await call.write(chunk)
    if half_close:
        await call.done_writing()
    out, err, last = b"", b"", None
    async with asyncio.timeout(LIMIT):
        async for last in call:
            if last.is_stderr:
                err += last.data
            else:
                out += last.data
    assert last is not None
    assert not last.data
    return out, err, last.exit_code


async def test_output_comes_apart_and_the_status_last(api, web):
    assert await run(api, "echo out; echo err >&2; exit 5") == (b"out\n", b"err\n", 5)


async def test_a_half_close_ends_stdin_and_nothing_else(api, web):
    assert await run(api, "cat; sleep 0.2; echo still here") == (b"still here\n", b"", 0)


async def test_an_open_stdin_does_not_hold_the_command(api, web):
    assert await run(api, "echo hi", half_close=False) == (b"hi\n", b"", 0)


async def test_stdin_is_passed_on_binary(api, web):
    data = bytes(range(256)) * 400
    chunks = [pb.ExecChunk(data=data[i : i + 1000], stdin=True) for i in range(0, len(data), 1000)]
    assert await run(api, "cat", *chunks) == (data, b"", 0)


async def test_death_by_signal_is_a_status(api, web):
    assert (await run(api, "kill -9 $$"))[2] == 137


async def test_a_terminal_merges_the_streams_and_follows_its_size(api, web):
    resize = pb.ExecChunk(cols=100, rows=40, window_change=True)
    go = pb.ExecChunk(data=b"go\n", stdin=True)
    command = "stty size; read x; stty size; echo err >&2"
    out, err, code = await run(api, command, resize, go, half_close=False, tty=True, cols=81, rows=25)
    assert (err, code) == (b"", 0)
    assert b"40 100" in out
    assert b"err" in out


async def test_cancelling_ends_the_whole_group(api, web, service):
    call = api.boxd.Exec(None)
    await call.write(pb.ExecChunk(vm_id="web", command="trap '' TERM; echo up; sleep 1000 & sleep 1001"))
    async with asyncio.timeout(LIMIT):
        assert (await call.read()).data == b"up\n"
        (session,) = service.sessions
        call.cancel()
        await session.cancelled.wait()
        await asyncio.to_thread(session.process.wait)


async def test_a_deadline_ends_it_too(api, web, service):
    call = api.boxd.Exec(None, timeout=3)
    await call.write(pb.ExecChunk(vm_id="web", command="sleep 1000"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async with asyncio.timeout(LIMIT):
            async for _ in call:
                pass
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    await asyncio.wait_for(service.sessions[0].cancelled.wait(), LIMIT)


async def test_a_command_that_ended_is_not_cancelled(api, web, service):
    await run(api, "true")
    assert not service.sessions[0].cancelled.is_set()


async def test_a_reader_who_stops_holds_the_command(api, web, service):
    call = api.boxd.Exec(None)
    await call.write(pb.ExecChunk(vm_id="web", command="exec head -c 200000000 /dev/zero"))
    await call.done_writing()
    chunks = aiter(call)
    assert (await anext(chunks)).data
    (session,) = service.sessions
    seen, sent = -1, 0
    async with asyncio.timeout(60):
        while seen != sent or sent == 0:  # until nothing moves any more
            seen = sent
            await asyncio.sleep(0.3)
            sent = bytes_written(session.process.pid)
    print(f"{sent >> 10} KiB on the way to a reader who does not read")
    assert sent < 100_000_000
    assert session.process.poll() is None
    total = 0
    async with asyncio.timeout(60):
        async for chunk in chunks:
            total += len(chunk.data)
    assert total > 199_000_000


def bytes_written(pid: int) -> int:
    """By a process so far, in write calls that have returned."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(fields["wchar"])


async def test_a_restore_cuts_the_stream_with_words(api, web, service):
    await api.boxd.CreateCheckpoint(pb.CreateCheckpointRequest(vm="web", name="one"))
    await service.checkpoint_done(None, "web", "one")
    call = api.boxd.Exec(None)
    await call.write(pb.ExecChunk(vm_id="web", command="echo up; sleep 1000"))
    async with asyncio.timeout(LIMIT):
        chunks = aiter(call)
        assert (await anext(chunks)).data == b"up\n"
        await api.boxd.RestoreCheckpoint(pb.RestoreCheckpointRequest(vm="web", name="one"))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anext(chunks)
    assert caught.value.code() == grpc.StatusCode.ABORTED
    assert caught.value.details() == "machine 'web' was restored to checkpoint 'one'"


@pytest.mark.parametrize("first", [None, pb.ExecChunk(vm_id="web"), pb.ExecChunk(vm_id="ghost", command="id")])
async def test_a_bad_beginning_is_refused(api, web, first):
    call = api.boxd.Exec(iter([first] if first else []))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in call:
            pass
    ghost = first is not None and first.vm_id == "ghost"
    assert caught.value.code() == (grpc.StatusCode.NOT_FOUND if ghost else grpc.StatusCode.INVALID_ARGUMENT)
