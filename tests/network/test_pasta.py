"""The way out that pasta gives to a process in a namespace of its own, as an ordinary user, inside a test's world."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.host import pidfd
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

# In the place of QEMU: a process in the namespace, which connects where it is told and says what came of it. A second
# is the run that a restore goes over to: it stands ready beside the first, and is attached when that has ended.
PROGRAM = """
import asyncio, json, os, subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from openboxd.host import pidfd
from openboxd.network.user import UserNetwork

CLIENT = '''
import socket, sys
for line in sys.stdin:
    host, port, limit = line.split()
    s = socket.socket(); s.settimeout(float(limit))
    try:
        s.connect((host, int(port))); print("got", s.recv(100).decode().strip(), flush=True)
    except OSError as error:
        print("error", error, flush=True)
'''
RUNS, PLACES = sys.argv[1], sys.argv[3:]
ANSWER, SILENCE = 20, 2  # seconds for an answer that has to come, and in which none comes

class Client:
    def __init__(self, link):
        argv = [*link.around, sys.executable, "-u", "-c", CLIENT]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, place, limit=ANSWER):
        self.process.stdin.write(f"{place.replace(':', ' ')} {limit}\\n"); self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def ask_all(self):
        return [self.ask(PLACES[0]), *(self.ask(place, SILENCE) for place in PLACES[1:])]

    async def connected(self):
        async with asyncio.timeout(20):
            while len(Path(f"/proc/{self.process.pid}/net/route").read_text().splitlines()) < 2:
                await asyncio.sleep(0.02)

    def end(self):
        self.process.kill()
        self.process.wait()

def pastas():
    def ours(argv):
        return len(argv) > 1 and "pasta" in Path(argv[0]).name and any(RUNS in word for word in argv)
    found = pidfd.find(ours)
    for process in found:
        os.close(process.pidfd)
    return len(found)

async def main():
    network = UserNetwork(Path(RUNS), sys.argv[2])
    machine = SimpleNamespace(address="10.213.0.10", name="web", run_id="a" * 12, egress_allow=())
    link = await network.prepare(machine, machine.run_id)
    client = Client(link)
    client.ask("127.0.0.1:1", SILENCE)  # it is apart by now, and reaches nothing
    await network.attach(machine, machine.run_id, client.process.pid)
    await client.connected()
    answers = client.ask_all()
    for allowed in [PLACES[0]], ["192.0.2.1"], []:
        machine.egress_allow = tuple(place.split(":")[0] for place in allowed)
        await network.refresh(machine)
        reached = not allowed or allowed == [PLACES[0]]
        answers.append(client.ask(PLACES[0], ANSWER if reached else SILENCE))
    moved = await go_over(network, machine, client)
    left = [path.name for path in Path(RUNS).iterdir()]
    print(json.dumps({"restricted": link.restricted, "answers": answers, "left": left, **moved}))

async def go_over(network, machine, first):
    following = "b" * 12
    second = Client(await network.prepare(machine, following))
    before = second.ask(PLACES[0], SILENCE)
    beside = first.ask(PLACES[0])
    first.end()
    await network.release(machine, machine.run_id)
    counts = [pastas()]
    machine.run_id = following
    for _ in range(2):  # a swap may be carried out twice
        await network.attach(machine, following, second.process.pid)
    await second.connected()
    answers = second.ask_all()
    async with asyncio.timeout(20):
        while pastas() > 1:  # the one too many finds the device there, and ends
            await asyncio.sleep(0.02)
    counts.append(pastas())
    later = UserNetwork(Path(RUNS), sys.argv[2])  # of the next daemon
    kept = await later.open([machine])
    answers.append(second.ask(PLACES[0]))
    ended = await later.open([])
    counts.append(pastas())
    await later.release(machine, following)
    second.end()
    return {"before": before, "beside": beside, "moved": answers, "kept": kept, "ended": ended, "counts": counts}

asyncio.run(main())
"""


@pytest.fixture
def place() -> Iterator[World]:
    with world() as made:
        yield made


def end_all(directory: Path) -> None:
    """Nothing that works in the directory outlives a test that has failed."""
    found = pidfd.find(lambda argv: any(word.startswith(f"{directory}/") for word in argv))
    asyncio.run(pidfd.kill_all(found))


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
            list(map(str, command)), capture_output=True, text=True, timeout=200, check=False, cwd="/"
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
    finally:
        end_all(directory)
        shutil.rmtree(directory)
        for service in services:
            service.close()
    world_answer, *others = said["answers"][:-3]
    assert world_answer == f"got world for {HOST}"
    listed, not_listed, cleared = said["answers"][-3:]  # an egress list that has it, one that has not, none
    assert (listed, not_listed.split()[0], cleared) == (world_answer, "error", world_answer)
    assert [answer.split()[0] for answer in others] == ["error"] * 4, others
    assert said["restricted"] is False
    # The second run reaches nothing until it is the machine's, and then what the first one did.
    assert said["before"].split()[0] == "error"
    assert said["beside"] == world_answer
    world_answer, *others, after = said["moved"]
    assert (world_answer, after) == (f"got world for {HOST}", world_answer)
    assert [answer.split()[0] for answer in others] == ["error"] * 4, others
    # Of pasta: none after the first run, one of the second, none after a daemon has started that knows of no run.
    assert (said["counts"], said["kept"], said["ended"], said["left"]) == ([0, 1, 0], 0, 1, [])
