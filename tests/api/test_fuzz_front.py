"""Arbitrary bytes at the front, in the clear and inside TLS: whatever comes, the next client is served."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openboxd.api import exchange_http, front_sniff
from openboxd.api.server import serve
from openboxd.api.tls import kept_tls
from openboxd.host.ca import open_authority
from tests.api.sockets import GOOD, connect, converse, parse, post
from tests.fakes.service_accounts import open_service

OPENINGS = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"POST /api/v1/auth/token HTTP/1.1\r\nHost: x\r\n",
    post(GOOD),
    b"GET ",
    b"",
)
pieces = st.lists(st.binary(max_size=300), max_size=4)


async def throw(address, data, tls) -> None:
    """Send in pieces, as far as the server lets us, then leave without a farewell or wait for its answer."""
    options = {"ssl": tls, "server_hostname": "localhost"} if tls else {}
    with contextlib.suppress(ConnectionError, TimeoutError):
        reader, writer = await connect(address, **options)
        try:
            for piece in data:
                writer.write(piece)
                await writer.drain()
            if not tls:
                writer.write_eof()
            async with asyncio.timeout(0.05):
                await reader.read()
        finally:
            writer.transport.abort()


async def bombard(root, monkeypatch, attacks) -> list[str]:
    monkeypatch.setattr(exchange_http, "FAREWELL_LIMIT", 0.1)
    monkeypatch.setattr(front_sniff, "LIMIT", 0.3)
    authority = open_authority(root / "tls")
    leaf = authority.issue("server", ["localhost"])
    trust = ssl.create_default_context(cafile=authority.root)
    service = await open_service(root / "fake")
    faults: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(str(context)))
    try:
        async with kept_tls(lambda: (leaf, leaf)) as tls, serve(service, "127.0.0.1:0", tls=tls) as address:
            for opening, data, inside in attacks:
                await throw(address, [opening, *data], trust if inside else None)
            status = parse(await converse(address, post(b"{}", path="/")))[0]
            assert status == 404
    finally:
        await service.close()
    return faults


@given(st.lists(st.tuples(st.sampled_from(OPENINGS), pieces, st.booleans()), min_size=5, max_size=15))
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_rubbish_in_every_place(tmp_path_factory, caplog, attacks):
    caplog.clear()
    with pytest.MonkeyPatch.context() as monkeypatch:
        faults = asyncio.run(bombard(tmp_path_factory.mktemp("fuzz"), monkeypatch, attacks))
    assert faults == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
