"""`POST /api/v1/auth/token` at the level of sockets: answers, refusals, limits, and what is never logged."""

from __future__ import annotations

import asyncio
import json
import time

import grpc
import pytest

from openboxd.api import exchange_http
from openboxd.api.exchange_limit import KNOCKS, PERIOD, RateLimit, source_of
from openboxd.wire import boxd_api_pb2 as pb
from openboxd.wire.boxd_api_pb2_grpc import BoxdApiStub
from tests.api.sockets import GOOD, LIMIT, connect, converse, parse, post
from tests.fakes.service import KEY


async def test_an_exchange_in_the_clear_and_in_tls(both, keyed):
    for options in ({}, {"ssl": both.trust, "server_hostname": "localhost"}):
        status, headers, content = parse(await converse(both.address, post(GOOD), **options))
        assert (status, headers["cache-control"]) == (200, "no-store")
        assert content.keys() == {"token", "expires_at", "user_id"}
        assert keyed.authenticate(content["token"]).user_id == content["user_id"]
        assert content["expires_at"] == pytest.approx(time.time() + 3600, abs=5)


CHUNKED = post(b"", Transfer_Encoding="chunked").replace(b"Content-Length: 0\r\n", b"")
REFUSALS = [
    (post(GOOD, path="/"), 404),
    (post(GOOD, path="/api/v1/auth/token/"), 404),
    (post(GOOD, method="GET"), 405),
    (post(b""), 400),
    (post(b"{"), 400),
    (post(b"[" * 10_000), 400),
    (post(b'"bxd_"'), 400),
    (post(b'{"api_key": 7}'), 400),
    (post(b'{"api_key": ""}'), 400),
    (post(b'{"api_key": "\xff"}'), 400),
    (post(json.dumps({"api_key": "x" * 300}).encode()), 400),
    (post(json.dumps({"api_key": "bxd_" + "x" * 40}).encode()), 401),
    (post(b"x" * (exchange_http.BODY_LIMIT + 1)), 413),
    (
        post(b"", Transfer_Encoding="chunked").replace(b"Content-Length: 0\r\n", b"") + b"4001\r\n" + b"x" * 0x4001,
        413,
    ),
    (b"POST /api HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 20_000, 431),
    (b"GET / HTTP/1.1\r\n\r\n", 400),  # without a host
    (b"rubbish\r\n\r\n", 400),
    (b"\x00\x01\x02\x03" * 64 + b"\r\n\r\n", 400),
    (post(GOOD, Content_Length="3"), 400),
]


@pytest.mark.parametrize(
    ("data", "wanted"), REFUSALS, ids=[f"{i}-{status}" for i, (_, status) in enumerate(REFUSALS)]
)
async def test_refusals_are_json(both, data, wanted):
    status, headers, content = parse(await converse(both.address, data))
    assert status == wanted
    assert list(content) == ["error"]
    assert headers.get("allow") == ("post" if wanted == 405 else None)
    assert KEY not in json.dumps(content)


async def test_a_connection_serves_several_requests(both):
    reader, writer = await connect(both.address)
    body = post(GOOD).replace(b"Connection: close\r\n", b"")
    writer.write(body + body)  # the second one before the first answer
    for _ in range(2):
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LIMIT)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        json.loads(await reader.readexactly(length))
    writer.close()


async def test_expect_100_continue(both):
    reader, writer = await connect(both.address)
    head, _, body = post(GOOD, Expect="100-continue").partition(b"\r\n\r\n")
    writer.write(head + b"\r\n\r\n")
    assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LIMIT)).startswith(b"HTTP/1.1 100")
    writer.write(body)
    assert parse(await asyncio.wait_for(reader.read(), LIMIT))[0] == 200
    writer.close()


async def test_the_31st_exchange_is_told_when_to_come_back(both):
    wrong = json.dumps({"api_key": "bxd_" + "x" * 40}).encode()
    for number in range(KNOCKS):
        assert parse(await converse(both.address, post(wrong)))[0] == 401, number
    status, headers, content = parse(await converse(both.address, post(GOOD)))
    assert (status, 0 < int(headers["retry-after"]) <= PERIOD) == (429, True)
    assert "too many" in content["error"]


def test_the_limit_slides_and_its_memory_is_bounded():
    now = 0.0
    limit = RateLimit(lambda: now, addresses=100)
    assert [limit.admit("10.0.0.1") for _ in range(KNOCKS)] == [0] * KNOCKS
    now = 20.0
    assert limit.admit("10.0.0.1") == 40
    assert limit.admit("10.0.0.2") == 0
    now = 60.5
    assert limit.admit("10.0.0.1") == 0
    for number in range(1000):
        limit.admit(f"10.1.{number // 250}.{number % 250}")
    assert len(limit._seen) == 100


def test_what_counts_as_one_source():
    assert source_of("2001:db8:1:2:aaaa::1") == source_of("2001:db8:1:2:bbbb::2")
    assert source_of("2001:db8:1:2::1") != source_of("2001:db8:1:3::1")
    assert source_of("::ffff:10.0.0.1") == source_of("10.0.0.1")
    assert source_of("fe80::1%eth0") == source_of("fe80::2")


async def test_neither_keys_nor_tokens_reach_the_log(both, caplog):
    caplog.set_level("DEBUG")
    _, _, content = parse(await converse(both.address, post(GOOD)))
    wrong = "bxd_" + "x" * 40
    parse(await converse(both.address, post(json.dumps({"api_key": wrong}).encode())))
    async with grpc.aio.insecure_channel(both.address) as channel:
        metadata = (("authorization", f"Bearer {wrong}"),)
        with pytest.raises(grpc.aio.AioRpcError):
            await BoxdApiStub(channel).Whoami(pb.WhoamiRequest(), metadata=metadata)
    assert "refused Whoami of 127.0.0.1:" in caplog.text
    assert "refused to exchange a key for 127.0.0.1" in caplog.text
    for secret in (KEY, wrong, content["token"]):
        assert secret not in caplog.text
