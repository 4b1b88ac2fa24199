"""Where commands of machines run: nothing of the host is there, for root's daemon and for an ordinary user's."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = """
import json, os, socket, sys
from pathlib import Path
from openboxd.cli.inside import sandbox

def tried(action):
    try:
        return repr(action())
    except OSError as error:
        return error.strerror

if sys.argv[2] == "user":
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
sandbox.enter(Path(sys.argv[1]), 7)
door = socket.socket(socket.AF_UNIX)
door.connect("/api.sock")
print(json.dumps({
    "files": sorted(os.listdir("/")),
    "up": sorted(os.listdir("/../..")),
    "passwd": tried(lambda: os.open("/etc/passwd", os.O_RDONLY)),
    "write": tried(lambda: os.open("/x", os.O_CREAT | os.O_WRONLY)),
    "net": tried(lambda: socket.socket().connect(("127.0.0.1", int(sys.argv[3])))),
    "abstract": tried(lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[4])),
    "kill": tried(lambda: os.kill(os.getppid(), 0)),
    "user": os.getuid(),
    "groups": os.getgroups() if sys.argv[2] == "root" else [],
}))
"""


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="boxd-box-") as name:
        base = Path(name)
        base.chmod(0o755)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(base / "api.sock"))
            (base / "api.sock").chmod(0o777)
            door.listen()
            yield base


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be both")
@pytest.mark.parametrize("who", ["root", "user"])
def test_there_is_a_socket_and_nothing_else(root: Path, who: str) -> None:
    with socket.socket() as service, socket.socket(socket.AF_UNIX) as hidden:
        service.bind(("127.0.0.1", 0))
        service.listen()
        name = f"\0boxd-test-{os.getpid()}"
        hidden.bind(name)
        hidden.listen()
        arguments = [root, who, str(service.getsockname()[1]), name.replace("\0", "@")]
        script = SCRIPT.replace("sys.argv[4]", '"\\0" + sys.argv[4][1:]')
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["files"] == found["up"] == ["api.sock"]
    assert found["passwd"] == "No such file or directory"
    # In a namespace of an ordinary user its own directory is its own; not a byte goes into a file all the same.
    assert found["write"] == "Permission denied" or who == "user"
    assert found["net"] == "Network is unreachable"
    assert found["abstract"] == "Connection refused"
    if who == "root":
        assert (found["kill"], found["user"], found["groups"]) == ("Operation not permitted", 2_000_000_007, [])
