"""The way out that pasta gives to a process in a namespace of its own, as an ordinary user, inside a test's world."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.network.namespaces import HOST, WORLD, World, world
from tests.network.test_bridge import Service

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces"),
    pytest.mark.skipif(shutil.which("pasta") is None, reason="needs pasta (apt install passt)"),
]

SOURCE = Path(__file__).parents[2] / "src"
OWN_DEVICE = 'mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && exec "$@"'
"""Debian lets everybody open it; not every container does."""
SYSTEM_PYTHON = "/usr/bin/python3"  # an ordinary user may not be able to get at ours

# In the place of QEMU: a process in the namespace, which connects where it is told and says what came of it.
PROGRAM = """
import asyncio, json, subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from openboxd.network.user import UserNetwork

CLIENT = '''
import socket, sys
for line in sys.stdin:
    host, port = line.split()
    s = socket.socket(); s.settimeout(2)
    try:
        s.connect((host, int(port))); print("got", s.recv(100).decode().strip(), flush=True)
    except OSError as error:
        print("error", error, flush=True)
'''

async def main():
    network = UserNetwork(Path(sys.argv[1]), sys.argv[2])
    machine = SimpleNamespace(address="10.213.0.10", name="web", run_id="a" * 12, egress_allow=())
    link = await network.prepare(machine, machine.run_id)
    client = subprocess.Popen(
        [*link.around, sys.executable, "-u", "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    client.stdin.write("127.0.0.1 1\\n"); client.stdin.flush()
    first = client.stdout.readline()  # it is apart by now, and reaches nothing
    await network.attach(machine, machine.run_id, client.pid)
    async with asyncio.timeout(10):
        while len(Path(f"/proc/{client.pid}/net/route").read_text().splitlines()) < 2:
            await asyncio.sleep(0.02)
    answers = []
    for place in sys.argv[3:]:
        client.stdin.write(place.replace(":", " ") + "\\n"); client.stdin.flush()
        answers.append(client.stdout.readline().strip())
    for allowed in sys.argv[3].split(",")[0:1], ["192.0.2.1"], []:
        machine.egress_allow = tuple(place.split(":")[0] for place in allowed)
        await network.refresh(machine)
        client.stdin.write(sys.argv[3].replace(":", " ") + "\\n"); client.stdin.flush()
        answers.append(client.stdout.readline().strip())
    kept = await network.open([machine])
    ended = await network.open([])
    await network.release(machine, machine.run_id)
    client.kill()
    client.wait()
    left = [path.name for path in Path(sys.argv[1]).iterdir()]
    print(json.dumps({"restricted": link.restricted, "answers": answers, "kept": kept, "ended": ended, "left": left}))

asyncio.run(main())
"""


@pytest.fixture
def place() -> Iterator[World]:
    with world() as made:
        yield made


def test_the_world_is_reached_and_the_hosts_loopback_is_not(place: World) -> None:
    services = [
        Service(place.world, WORLD, 80, socket.SOCK_STREAM, b"world for "),
        Service(place.host, "127.0.0.1", 5001, socket.SOCK_STREAM, b"loopback for "),
        Service(place.host, "0.0.0.0", 5000, socket.SOCK_STREAM, b"host for "),
    ]
    directory = Path(f"/tmp/boxd-pasta-{os.getpid()}")  # others may not enter a tmp_path
    directory.mkdir(mode=0o777)
    directory.chmod(0o777)
    (directory / "run").mkdir()
    (directory / "run").chmod(0o777)
    (directory / "program.py").write_text(PROGRAM)
    try:
        asked = [f"{WORLD}:80", "127.0.0.1:5001", "127.0.0.1:5000", f"{HOST}:5000", f"{WORLD}:5001"]
        command = [
            *[
                "ip",
                "netns",
                "exec",
                place.host,
                "unshare",
                "--mount",
                "sh",
                "-c",
                OWN_DEVICE,
                "sh",
                "setpriv",
                "--reuid",
                "1234",
                "--regid",
                "1234",
                "--clear-groups",
            ],
            *["env", f"PYTHONPATH={SOURCE}", f"HOME={directory}", SYSTEM_PYTHON, directory / "program.py"],
            *[directory / "run", shutil.which("pasta"), *asked],
        ]
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=60, check=False, cwd="/"
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(directory)
        for service in services:
            service.close()
    world_answer, *others = said["answers"][:-3]
    assert world_answer == f"got world for {HOST}"
    listed, not_listed, cleared = said["answers"][-3:]  # an egress list that has it, one that has not, none
    assert (listed, not_listed.split()[0], cleared) == (world_answer, "error", world_answer)
    assert [answer.split()[0] for answer in others] == ["error"] * 4, others
    assert (said["restricted"], said["kept"], said["ended"], said["left"]) == (False, 0, 1, [])
