"""`boxd daemon run` where it cannot start: one sentence, and nothing is left behind."""

from __future__ import annotations

import socket

import pytest

from openboxd import settings


async def test_an_address_in_use_leaves_nothing_behind(boxd, tmp_path):
    home = tmp_path / "home"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = await boxd("daemon", "run", "--home", str(home), "--listen", address)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"error: cannot listen on {address}: it is in use")
    assert not home.exists()


@pytest.mark.parametrize("home", ["/proc", "/proc/x", "/dev/null/x", "/dev/null"])
async def test_a_home_that_cannot_be_is_one_sentence(boxd, home):
    done = await boxd("daemon", "run", "--home", home, "--listen", "127.0.0.1:0")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"error: the data directory {home} cannot be used: ")


@pytest.mark.parametrize("what", ["empty", "missing"])
async def test_a_lost_store_is_no_first_start(boxd, tmp_path, what):
    """Its machines would be ended and its only key replaced."""
    home = tmp_path / "home"
    (home / "pool/machines/m1").mkdir(parents=True)
    (home / "admin.key").write_text("bxd_kept")
    if what == "empty":
        (home / "boxd.db").touch()
    done = await boxd("daemon", "run", "--home", str(home), "--listen", "127.0.0.1:0")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"error: {home}/boxd.db is missing or empty, but {home} was in use: ")
    assert (home / "admin.key").read_text() == "bxd_kept" and (home / "pool/machines/m1").is_dir()


@pytest.mark.parametrize(("text", "port"), [("off", 0), ("127.0.0.1:8443", 8443), ("[::1]:443", 443)])
def test_the_port_of_https_is_the_one_that_is_set(text, port):
    assert settings.load(environ={"BOXD_HTTPS": text}).https_port == port
