"""The API port of a real daemon: the published SDK with a key, in the clear and in TLS under its own root."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from openboxd.api.server import SOCKET
from openboxd.settings import load
from tests.api.conftest import sdk_python
from tests.lab import GOLDEN, Daemon, Lab

__all__ = ["sdk_python"]

pytestmark = pytest.mark.guest

SCRIPT = """
import json, sys
import boxd
from boxd import errors
url, key, machine = sys.argv[1:]
client = boxd.Boxd(base_url=url, api_key=key)
result = client.machines.exec(machine, "uname -n; echo err >&2; exit 3")
print(json.dumps([result.stdout.strip(), result.stderr, result.exit_code]))
"""


def sdk(python: Path, daemon: Daemon, scheme: str, key: str, **environ: str) -> subprocess.CompletedProcess[str]:
    argv = [python, "-c", SCRIPT, f"{scheme}://localhost:{daemon.port}", key, GOLDEN]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, env={**environ, "PATH": ""})


def test_the_sdk_with_a_key_of_its_own(daemon: Daemon, sdk_python: Path) -> None:
    key = daemon.boxd("auth", "keys", "create", "sdk").stdout.strip()
    root = daemon.home / "tls/ca.crt"
    trust = {"SSL_CERT_FILE": str(root), "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(root)}
    for scheme, environ in (("http", {}), ("https", trust)):
        done = sdk(sdk_python, daemon, scheme, key, **environ)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [GOLDEN, "err\n", 3]
    (row,) = [row for row in daemon.json("auth", "keys", "list") if row["name"] == "sdk"]
    assert row["last_used_at"] is not None
    daemon.boxd("auth", "keys", "remove", "sdk", "-y")
    assert "invalid or expired API key" in sdk(sdk_python, daemon, "http", key).stderr
    assert key not in daemon.log


def test_restarts_keep_the_root_and_nothing_is_open_to_others(lab: Lab) -> None:
    with lab.daemon(running=False) as daemon:
        root = (daemon.home / "tls/ca.crt").read_bytes()
        daemon.end()
        daemon.start()
        assert (daemon.home / "tls/ca.crt").read_bytes() == root
        socket = load(environ=daemon.env).run_dir / SOCKET
        assert socket.is_socket()
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (socket.parent, *daemon.home.glob("tls/*"))}
        assert all(mode & 0o077 == 0 for mode in modes.values()), modes
