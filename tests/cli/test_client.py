"""The client's address, credential, configuration file and error table."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from openboxd.client import errors as client_errors
from openboxd.client.client import open_client
from openboxd.client.config import Config, read_config, write_config
from openboxd.client.endpoint import parse_url, resolve
from openboxd.errors import BoxdError, InvalidArgument, OutcomeUnknown, Unauthenticated, Unavailable
from openboxd.wire.metadata import ERROR_KEY
from tests.fakes.service import KEY


@pytest.mark.parametrize(
    ("url", "target", "tls"),
    [
        ("http://127.0.0.1:9443", "127.0.0.1:9443", False),
        ("https://boxd.example:9443/", "boxd.example:9443", True),
        ("boxd.example:9443", "boxd.example:9443", True),
        ("localhost:9443", "localhost:9443", False),
        ("127.0.0.1:9443", "127.0.0.1:9443", False),
        ("http://[::1]:9443", "[::1]:9443", False),
        ("https://boxd.example", "boxd.example:443", True),
    ],
)
def test_addresses(url, target, tls):
    address = parse_url(url)
    assert (address.target, address.tls) == (target, tls)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "localhost",
        "boxd.example/",
        "http://",
        "ftp://h:1",
        "http://h:1/path",
        "http://h:port",
        "http://u@h:1",
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InvalidArgument):
        parse_url(url)


def test_the_order_of_address_and_credential(tmp_path):
    path = tmp_path / "boxd/config.json"
    environ = {"BOXD_CONFIG": str(path)}
    with pytest.raises(Unauthenticated, match="BOXD_API_KEY"):
        resolve(environ=environ)
    write_config("http://127.0.0.1:7777", "bxd_file", path)
    assert resolve(environ=environ).token == "bxd_file"
    assert resolve(environ=environ).address.target == "127.0.0.1:7777"
    environ |= {"BOXD_API_KEY": "bxd_env", "BOXD_API_URL": "http://localhost:1"}
    assert resolve(environ=environ).token == "bxd_env"
    environ |= {"BOXD_TOKEN": "tok", "BOXD_BASE_URL": "http://localhost:2"}
    found = resolve(environ=environ)
    assert (found.token, found.address.target) == ("tok", "localhost:2")
    found = resolve("http://localhost:3", "given", environ)
    assert (found.token, found.address.target) == ("given", "localhost:3")


def test_the_files_key_goes_to_its_own_daemon_only(tmp_path):
    path = write_config("http://127.0.0.1:7777", "bxd_file", tmp_path / "config.json")
    environ = {"BOXD_CONFIG": str(path)}
    assert resolve("http://localhost:8888", environ=environ).token == "bxd_file"
    with pytest.raises(Unauthenticated):
        resolve("https://elsewhere.example:9443", environ=environ)


def test_the_configuration_file_is_private_and_checked(tmp_path):
    path = write_config("http://a:1", "k", tmp_path / "new/config.json")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert read_config(path) == Config("http://a:1", "k")
    assert list(path.parent.iterdir()) == [path]
    for text in ("{", "[]", '{"api_key": 1}'):
        path.write_text(text)
        with pytest.raises(InvalidArgument, match="damaged"):
            read_config(path)


def all_errors(cls=BoxdError):
    yield cls
    for child in cls.__subclasses__():
        yield from all_errors(child)


@pytest.mark.parametrize("cls", list(all_errors()), ids=lambda cls: cls.__name__)
def test_every_error_class_comes_back_as_itself_or_its_status(cls):
    code = grpc.StatusCode[cls.status]
    named = grpc.aio.Metadata((ERROR_KEY, cls.__name__))
    worded = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), named, "what happened", "")
    back = client_errors.error_of(worded, "http://d")
    assert (type(back), back.message) == (cls, "what happened")
    assert code in client_errors.BY_STATUS
    if code is not grpc.StatusCode.UNAVAILABLE:
        plain = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), "what happened", "")
        assert client_errors.error_of(plain, "http://d").status == cls.status


def test_a_connection_that_breaks_is_not_a_refusal():
    broken = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), "reset", "")
    assert isinstance(client_errors.error_of(broken, "http://d"), OutcomeUnknown)


async def test_nobody_there_is_told_at_once(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    endpoint = resolve("http://127.0.0.1:1", KEY, {})
    with pytest.raises(Unavailable, match="boxd daemon run"):
        async with asyncio.timeout(5), open_client(endpoint):
            pass
