"""Copies in real guests: a fork of a running machine, and a machine that goes on from its image's template."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path

import pytest

from openboxd.client.client import Client
from openboxd.model import MIB
from tests.guests.direct import direct, sh
from tests.host.resident import mapped
from tests.lab import BOOTED, GOLDEN, Daemon, Lab, run

pytestmark = pytest.mark.guest

TALKER = Path(__file__).with_name("talking.py")

FACTS = {
    "hostname": "hostname; cat /etc/hostname 2>/dev/null; true",
    "machine-id": "cat /etc/machine-id",
    "address": "ip -4 -o addr show eth0 | awk '{print $4}'",
    "mac": "cat /sys/class/net/eth0/address",
    "host key": "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
    "certificate": "ssh-keygen -Lf /etc/ssh/ssh_host_ed25519_key-cert.pub | grep -A1 Principals | tail -1",
    "random": "head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid",
}
SHARED = {
    "boot": "cat /proc/sys/kernel/random/boot_id",
    "routes": "ip route | sed 's/ src .*//'",
    "file": "cat /home/boxd/unsynced /dev/shm/memory",
}


def questions(wanted: dict[str, str]) -> str:
    """All commands in one line of shell; `answers` takes its output apart."""
    return "; ".join(f"echo '== {name}'; {command}" for name, command in wanted.items())


def answers(text: str) -> dict[str, str]:
    parts = re.split(r"^== (.*)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))


def facts(daemon: Daemon, machine: str, wanted: dict[str, str]) -> dict[str, str]:
    """What a machine says about itself, all in one command."""
    return answers(daemon.sh(questions(wanted), machine))


def is_itself(daemon: Daemon, machine: str, found: dict[str, str]) -> None:
    """The guest is who its row says, in everything that the outside sees of it."""
    row = daemon.json("machine", "get", machine)
    assert found["hostname"] == machine
    assert found["machine-id"] == row["id"].replace("-", "")
    assert row["id"] in found["certificate"]
    assert abs(float(daemon.sh("date +%s.%N", machine)) - time.time()) < 5
    assert f"Address={found['address']}" in daemon.sh("cat /run/systemd/network/*.network", machine)
    assert daemon.sh("sudo journalctl -q -n 1 --no-pager | wc -l", machine).strip() == "1"


def talk(daemon: Daemon, machine: str, kind: str, good: bool) -> None:
    """Wait until the machine's talker has something to say about its connections of a kind, from now on."""
    daemon.sh("truncate -s 0 talk", machine)
    deadline = time.monotonic() + 60
    while not (said := re.findall(rf"^{kind} (.*)$", daemon.sh("cat talk", machine), flags=re.MULTILINE)):
        assert time.monotonic() < deadline, "the talker is silent"
        time.sleep(0.2)
    assert (said[-1] == "ok") is good, (machine, kind, said)


def test_a_fork_and_a_warm_machine_are_machines_of_their_own(lab: Lab) -> None:
    with lab.daemon(extra={"BOXD_WARM": "on"}) as daemon:
        daemon.boxd("machine", "cp", TALKER, f"{GOLDEN}:/home/boxd/talking.py")
        daemon.sh("echo file > unsynced; echo memory > /dev/shm/memory; setsid python3 talking.py >/dev/null 2>&1 &")
        talk(daemon, GOLDEN, "far", good=True)
        begun = time.monotonic()
        twin = daemon.json("machine", "fork", GOLDEN, "twin")
        print(f"fork: {time.monotonic() - begun:.2f} s at the command line, boot {twin['boot']}")
        print(re.findall(r"put aside.*", daemon.log), re.findall(r"made from.*", daemon.log))
        ours, theirs = facts(daemon, GOLDEN, FACTS), facts(daemon, "twin", FACTS)
        print(json.dumps([ours, theirs], indent=1))
        assert not {name for name in FACTS if ours[name] == theirs[name]}
        assert facts(daemon, GOLDEN, SHARED) == facts(daemon, "twin", SHARED)
        is_itself(daemon, "twin", theirs)
        for kind, good in (("far", False), ("near", True)):  # reset at once, and not left hanging
            talk(daemon, "twin", kind, good)
        for kind in ("far", "near"):
            talk(daemon, GOLDEN, kind, good=True)
        _new(daemon, [ours, theirs])
        _from_checkpoint(daemon, [ours, theirs])
        daemon.boxd("machine", "reboot", "twin")
        daemon.sh("until hostname -I | grep -q . && [ -e /sys/class/net/eth0 ]; do sleep 0.5; done", "twin")
        again = facts(daemon, "twin", FACTS)
        is_itself(daemon, "twin", again)
        assert {n: again[n] for n in FACTS if n != "random"} == {n: theirs[n] for n in FACTS if n != "random"}
        assert daemon.sh("cat unsynced", "twin") == "file\n"


def _from_checkpoint(daemon: Daemon, others: list[dict[str, str]]) -> None:
    """A machine as the source was at a checkpoint; the source goes on, and what both never wrote is there once."""
    before, begun = set(daemon.qemus()), time.monotonic()
    old = daemon.json("machine", "fork", GOLDEN, "old", "--from-checkpoint", BOOTED)
    print(f"fork from a checkpoint: {time.monotonic() - begun:.2f} s, boot {old['boot']}")
    [pid] = set(daemon.qemus()) - before
    assert before < set(daemon.qemus()), "the source's run is the one that it was"
    found = facts(daemon, "old", FACTS)
    for other in others:
        assert not {name for name in FACTS if found[name] == other[name]}
    assert found["hostname"] == "old" and old["id"] in found["certificate"]
    assert daemon.sh("ls unsynced /dev/shm/memory 2>/dev/null || echo none", "old") == "none\n"
    _presents_its_own_key(daemon, "old", found["host key"])
    memory = mapped(pid, "memory.img")
    inodes = {mapped(other, "memory.img").inode for other in before}
    assert memory.inode in inodes, "the source goes on from the same checkpoint"
    print(f"guest memory of the copy: {memory}")
    assert memory.proportional < 0.85 * memory.resident, "what neither has written is in the host's memory twice"


def _presents_its_own_key(daemon: Daemon, machine: str, fingerprint: str) -> None:
    """Whoever comes by the machine's SSH port is shown the key that the guest has."""
    port = daemon.json("machine", "get", machine)["ssh_port"]
    shown = run("ssh-keyscan", "-T", 60, "-t", "ed25519", "-p", port, "127.0.0.1")
    [key] = [line.split(None, 1)[1] for line in shown.splitlines() if not line.startswith("#")]
    assert run("ssh-keygen", "-lf", "-", input=key).split()[1] == fingerprint.split()[1]


def _new(daemon: Daemon, others: list[dict[str, str]]) -> None:
    """A machine that goes on from the template is nobody else either."""
    begun = time.monotonic()
    made = daemon.json("machine", "new", "fresh", "--vcpu", 1, "--memory", "1G")
    daemon.sh("true", "fresh")
    print(f"new: {time.monotonic() - begun:.2f} s until a command has run, boot {made['boot']}")
    found = facts(daemon, "fresh", FACTS)
    for other in others:
        assert not {name for name in FACTS if found[name] == other[name]}
    is_itself(daemon, "fresh", found)
    assert "made from the template" in daemon.log, "it was booted"


AT_ONCE = 10

EACH = 400 * MIB
"""Of the host's memory, for a guest of 1 GiB that uses 150 MiB, and QEMU with the code that it has translated."""


async def test_ten_forks_of_one_machine_at_once_are_ten_machines(daemon: Daemon) -> None:
    """All go on where the source stood when the first was asked for, each as itself, and the source with them."""
    daemon.sh("echo memory >/dev/shm/memory; setsid sleep 98765 >/dev/null 2>&1 </dev/null &")
    names = [f"many-{number}" for number in range(AT_ONCE)]
    async with direct(daemon) as client:
        begun = time.monotonic()
        await asyncio.gather(*(client.fork(GOLDEN, name) for name in names))
        print(f"{AT_ONCE} forks after {time.monotonic() - begun:.1f} s, {daemon.log.count('put aside')} captures")
        wanted = {**FACTS, "memory": "cat /dev/shm/memory", "process": "pgrep -x -f 'sleep 98765'"}
        said = await asyncio.gather(*(sh(client, questions(wanted), name) for name in (GOLDEN, *names)))
        print(f"all have told who they are after {time.monotonic() - begun:.1f} s")
        found = dict(zip((GOLDEN, *names), map(answers, said), strict=True))
        for name in FACTS:
            assert len({each[name] for each in found.values()}) == AT_ONCE + 1, (name, found)
        assert {(each["memory"], each["process"]) for each in found.values()} == {
            ("memory", found[GOLDEN]["process"])
        }
        await _are_who_they_say(client, found)
    assert len(daemon.qemus()) == AT_ONCE + 1
    _memory_of_all(daemon)
    assert daemon.sh("pgrep -x -f 'sleep 98765'").strip() == found[GOLDEN]["process"]


async def _are_who_they_say(client: Client, found: dict[str, dict[str, str]]) -> None:
    """Row and guest agree."""
    rows = {row.name: row for row in await client.machines()}
    assert {rows[name].status for name in found} == {"running"}
    assert len({rows[name].ssh_port for name in found}) == len(found)
    for name, told in found.items():
        row = rows[name]
        assert (told["hostname"], told["machine-id"]) == (name, row.vm_id.replace("-", ""))
        assert row.vm_id in told["certificate"]


def _memory_of_all(daemon: Daemon) -> None:
    """Real bytes: what several QEMUs share counts once."""
    total = 0
    for pid in daemon.qemus():
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += 1024 * int(re.findall(r"^Pss: *(\d+)", rollup, re.MULTILINE)[0])
    print(f"{AT_ONCE + 1} machines: {total / MIB:,.0f} MiB of the host's memory")
    assert total < (AT_ONCE + 1) * EACH
