"""The front: what strangers send, gRPC in the clear and in TLS, listening and listening again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import time
from types import SimpleNamespace

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from openboxd.api import exchange_http, front_sniff
from openboxd.api.front_peer import address_of
from openboxd.api.server import serve
from openboxd.errors import HostUnfit
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.api.conftest import WithKey
from tests.api.sockets import GOOD, LIMIT, connect, converse, parse, post
from tests.api.test_exec_stream import run


@pytest.mark.parametrize("data", [b"", b"P", b"PR", b"\x16\x03"])
async def test_a_client_that_says_next_to_nothing(both, data):
    reader, writer = await connect(both.address)
    writer.write(data)
    writer.write_eof()
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), LIMIT) == b""
    writer.close()


@pytest.mark.parametrize("data", [b"PRI * HTTP/9.9\r\n\r\n" + b"\xff" * 100, b"\x16\x03\x01" + os.urandom(500)])
async def test_rubbish_ends_the_connection_and_nothing_else(both, data):
    await converse(both.address, data)
    assert parse(await converse(both.address, post(GOOD)))[0] == 200


async def test_a_client_that_dribbles_is_cut_off_and_costs_nothing(both, monkeypatch):
    monkeypatch.setattr(front_sniff, "LIMIT", 1.0)
    reader, writer = await connect(both.address)
    writer.write(b"P")
    before = time.process_time()
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), LIMIT) == b""
    assert time.process_time() - before < 0.5
    writer.close()


async def test_a_request_that_dribbles_is_cut_off(both, monkeypatch):
    monkeypatch.setattr(exchange_http, "REQUEST_LIMIT", 0.7)
    reader, writer = await connect(both.address)
    writer.write(b"POST /api/v1/auth/token HTTP/1.1\r\n")

    async def dribble():
        while True:
            await asyncio.sleep(0.1)
            writer.write(b"X: y\r\n")
            await writer.drain()

    task = asyncio.create_task(dribble())
    status, headers, _ = parse(await asyncio.wait_for(reader.read(), LIMIT))
    assert (status, headers["connection"]) == (408, "close")
    task.cancel()
    await asyncio.wait([task])
    writer.close()


async def test_an_idle_http_connection_is_ended(both, monkeypatch):
    monkeypatch.setattr(exchange_http, "IDLE_LIMIT", 2)
    reader, writer = await connect(both.address)
    writer.write(post(GOOD).replace(b"Connection: close\r\n", b""))
    assert (await asyncio.wait_for(reader.read(), LIMIT)).startswith(b"HTTP/1.1 200")
    writer.close()


async def test_a_plain_server_ends_tls(address):
    context = ssl.create_default_context()
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await connect(address, ssl=context, server_hostname="localhost")


@contextlib.asynccontextmanager
async def channel_to(both, *, tls):
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    if tls:
        credentials = grpc.ssl_channel_credentials(both.root)
        async with grpc.aio.secure_channel(both.address, credentials, options) as channel:
            yield channel
    else:
        async with grpc.aio.insecure_channel(both.address, options) as channel:
            yield channel


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_reflection_and_large_messages(both, keyed, tls):
    async with channel_to(both, tls=tls) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        async for answer in stub.ServerReflectionInfo(iter([request])):
            names = [found.name for found in answer.list_services_response.service]
            break
        assert "boxd.api.v1.BoxdApi" in names
        api = WithKey(BoxdApiStub(channel))
        await api.CreateVm(pb.CreateVmRequest(name="web"))
        await keyed.until(lambda: keyed.machine(None, "web").status == "running")
        size = 63 << 20
        chunks = [
            pb.UploadFileChunk(vm_id="web", path="big", total_size=size),
            pb.UploadFileChunk(data=bytes(size)),
        ]
        assert (await api.UploadFileStream(iter(chunks), timeout=60)).bytes_written == size
        chunks[1] = pb.UploadFileChunk(data=bytes(65 << 20))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await api.UploadFileStream(iter(chunks), timeout=60)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_half_close_and_cancel_pass_through(both, keyed, tls):
    async with channel_to(both, tls=tls) as channel:
        api = WithKey(BoxdApiStub(channel))
        await api.CreateVm(pb.CreateVmRequest(name="web"))
        await keyed.until(lambda: keyed.machine(None, "web").status == "running")

        assert await run(SimpleNamespace(boxd=api), "sort; exit 7", *_stdin(b"b\n", b"a\n")) == (b"a\nb\n", b"", 7)
        call = api.Exec(None)
        await call.write(pb.ExecChunk(vm_id="web", command="echo there; sleep 1000"))
        assert (await anext(aiter(call))).data == b"there\n"
        call.cancel()
        await asyncio.wait_for(keyed.sessions[-1].cancelled.wait(), LIMIT)


def _stdin(*pieces):
    return [pb.ExecChunk(data=piece, stdin=True) for piece in pieces]


def test_the_server_knows_who_calls():
    assert address_of("unix-abstract:boxd%2F0123456789abcdef%2F10.0.0.7:4711") == "10.0.0.7:4711"
    assert address_of("unix-abstract:boxd/0123456789abcdef/::1:4711") == "::1:4711"
    assert address_of("unix:") == "unix:"


async def test_a_restarted_server_gets_its_port_again(keyed):
    async with serve(keyed, "127.0.0.1:0") as address:
        reader, writer = await connect(address)  # will be in TIME_WAIT
        writer.write(post(GOOD))
        await asyncio.wait_for(reader.read(), LIMIT)
        writer.close()
    async with serve(keyed, address) as again:
        assert again == address
        assert parse(await converse(address, post(GOOD)))[0] == 200


async def test_ipv6(keyed):
    try:
        async with serve(keyed, "[::1]:0") as address:
            assert parse(await converse(address.replace("[::1]", "::1"), post(GOOD)))[0] == 200
    except HostUnfit:
        pytest.skip("this host has no IPv6")
