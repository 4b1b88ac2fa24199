"""The published SDK with an API key: exchange, renewal, refusals; in the clear and in TLS, sync and async."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from openboxd.api import exchange_limit
from openboxd.api.server import serve
from openboxd.api.tls import kept_tls
from openboxd.host.ca import open_authority
from tests.fakes.service import KEY
from tests.fakes.service_accounts import open_service

LIMIT = 60

PRELUDE = """
import asyncio, json, sys, time
import boxd
from boxd import errors
url, key = sys.argv[1:3]
def done(value): print(json.dumps(value))
def outcome(call):
    try:
        call()
        return "ok"
    except errors.BoxdError as error:
        return [type(error).__name__, str(error)]
"""


@pytest.fixture
async def service(tmp_path):
    opened = await open_service(tmp_path / "fake")
    yield opened
    await opened.close()


async def start_sdk(sdk_python, url, script, key=KEY, env=None, stdin=asyncio.subprocess.DEVNULL):
    return await asyncio.create_subprocess_exec(
        sdk_python,
        "-c",
        PRELUDE + script,
        url,
        key,
        env={"PATH": "/usr/bin:/bin", **(env or {})},
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def result(process):
    out, err = await asyncio.wait_for(process.communicate(), LIMIT)
    assert process.returncode == 0, err.decode()
    return json.loads(out)


async def run_sdk(*arguments, **options):
    return await result(await start_sdk(*arguments, **options))


SYNC = """
with boxd.Boxd(base_url=url, api_key=key) as client:
    client.machines.create(name="web")
    client.machines.wait_until_ready("web")
    result = client.machines.exec("web", "cat; echo out; echo err >&2; exit 3")
    with client.machines.stream_exec("web", command="cat; exit 4") as stream:
        stream.write("ping"); stream.write_eof()
        echoed = "".join(piece if isinstance(piece, str) else piece.decode() for piece in stream)
        code = stream.exit_code
    client.machines.files.upload("web", "f", b"x" * 3_000_000)
    size = len(client.machines.files.download("web", "f"))
    account = client.account.get()
    done([result.stdout, result.stderr, result.exit_code, echoed, code, size, account.display_name])
"""

ASYNC = """
async def main():
    async with boxd.AsyncBoxd(base_url=url, api_key=key) as client:
        await client.machines.create(name="web")
        await client.machines.wait_until_ready("web")
        result = await client.machines.exec("web", "cat; echo out; echo err >&2; exit 3")
        stream = client.machines.stream_exec("web", command="cat; exit 4")
        async with stream as stream:
            await stream.write("ping"); await stream.write_eof()
            echoed = ""
            async for piece in stream:
                echoed += piece if isinstance(piece, str) else piece.decode()
            code = stream.exit_code
        await client.machines.files.upload("web", "f", b"x" * 3_000_000)
        size = len(await client.machines.files.download("web", "f"))
        account = await client.account.get()
        done([result.stdout, result.stderr, result.exit_code, echoed, code, size, account.display_name])
asyncio.run(main())
"""


@pytest.mark.parametrize("script", [SYNC, ASYNC], ids=["sync", "async"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_key_is_all_it_takes(sdk_python, service, tmp_path, script, scheme):
    authority = open_authority(tmp_path / "tls")
    leaf = authority.issue("server", ["localhost", "127.0.0.1"])
    trust = {"SSL_CERT_FILE": str(authority.root), "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(authority.root)}
    async with kept_tls(lambda: (leaf, leaf)) as tls, serve(service, "127.0.0.1:0", tls=tls) as address:
        got = await run_sdk(sdk_python, f"{scheme}://{address}", script, env=trust)
    assert got == ["out\n", "err\n", 3, "ping", 4, 3_000_000, "ada"]


async def test_tls_by_name_and_without_trust(sdk_python, service, tmp_path):
    authority = open_authority(tmp_path / "tls")
    leaf = authority.issue("server", ["localhost", "127.0.0.1"])
    trust = {"SSL_CERT_FILE": str(authority.root), "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(authority.root)}
    script = "done(outcome(lambda: boxd.Boxd(base_url=url, api_key=key).machines.list()))"
    async with kept_tls(lambda: (leaf, leaf)) as tls, serve(service, "127.0.0.1:0", tls=tls) as address:
        url = f"https://localhost:{address.rpartition(':')[2]}"
        assert await run_sdk(sdk_python, url, script, env=trust) == "ok"
        kind, text = await run_sdk(sdk_python, url, script)
        assert (kind, "certificate" in text.lower()) == ("AuthenticationError", True)


async def test_the_token_is_kept_and_renewed_near_its_end(sdk_python, service, address):
    script = """
client = boxd.Boxd(base_url=url, api_key=key)
creds = client._transport._credentials
client.machines.list(); first = creds._cached
client.machines.list(); second = creds._cached
creds._expires_at = time.time() + 200   # nearer to its end than the 300 s at which clients renew
client.machines.list(); third = creds._cached
done([first[:4], first == second, first != third, 3500 < creds._expires_at - time.time() <= 3600])
"""
    assert await run_sdk(sdk_python, f"http://{address}", script) == ["bxt_", True, True, True]


async def test_wrong_and_expired_keys(sdk_python, service, address):
    script = """
def use(**credential): return outcome(lambda: boxd.Boxd(base_url=url, **credential).machines.list())
done([use(api_key="bxd_" + "x" * 40), use(api_key="rubbish"), use(token="bxt_" + "x" * 40), use(token=key)])
"""
    wrong, rubbish, token, direct = await run_sdk(sdk_python, f"http://{address}", script)
    assert wrong == rubbish == ["AuthenticationError", "invalid or expired API key"]
    assert token[0] == "AuthenticationError"
    assert direct == "ok", "a key is a credential by itself, too"


async def test_a_deleted_key_is_cut_off_at_once(sdk_python, service, address):
    row, key = await service.create_api_key(service.authenticate(KEY), "ci", 0)
    script = """
client = boxd.Boxd(base_url=url, api_key=key)
client.machines.create(name="web"); client.machines.wait_until_ready("web")
with client.machines.stream_exec("web", command="echo there; cat") as stream:
    pieces = iter(stream)
    print(repr(next(pieces)), flush=True)
    sys.stdin.readline()
    cut = outcome(lambda: list(pieces))
done([cut, outcome(lambda: client.machines.list()),
      outcome(lambda: boxd.Boxd(base_url=url, api_key=key).machines.list())])
"""
    process = await start_sdk(sdk_python, f"http://{address}", script, key, stdin=asyncio.subprocess.PIPE)
    assert b"there" in await asyncio.wait_for(process.stdout.readline(), LIMIT)
    await service.delete_api_key(service.authenticate(KEY), row.id)
    process.stdin.write(b"\n")
    cut, listing, anew = await result(process)
    assert [cut[0], listing[0], anew[0]] == ["AuthenticationError"] * 3
    assert "deleted" in cut[1]
    await asyncio.wait_for(service.sessions[-1].cancelled.wait(), 60)


async def test_too_many_exchanges_wait_and_then_fail(sdk_python, service, address, monkeypatch):
    monkeypatch.setattr(exchange_limit, "PERIOD", 3.0)
    script = """
def once(): boxd.Boxd(base_url=url, api_key=key).machines.suggest_name()
outcomes = [outcome(once) for _ in range(30)]
began = time.monotonic()
waited = outcome(once)                       # told to wait, waits, comes through
done([outcomes.count("ok"), waited, time.monotonic() - began])
"""
    ok, waited, took = await run_sdk(sdk_python, f"http://{address}", script)
    assert (ok, waited) == (30, "ok")
    print(f"waited {took:.1f} s")


async def test_a_limit_that_does_not_end_is_a_rate_limit_error(sdk_python, service, address, monkeypatch):
    monkeypatch.setattr(exchange_limit.RateLimit, "admit", lambda self, source: 1)
    script = "done(outcome(lambda: boxd.Boxd(base_url=url, api_key=key).machines.list()))"
    began = time.monotonic()
    kind, text = await run_sdk(sdk_python, f"http://{address}", script)
    assert (kind, "try again in 1 s" in text) == ("RateLimitError", True)
    assert time.monotonic() - began >= 1
