"""Copies in real guests: a fork of a running machine, and a machine that goes on from its image's template."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

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


def facts(daemon: Daemon, machine: str, wanted: dict[str, str]) -> dict[str, str]:
    """What a machine says about itself, all in one command."""
    line = "; ".join(f"echo '== {name}'; {command}" for name, command in wanted.items())
    parts = re.split(r"^== (.*)\n", daemon.sh(line, machine), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (text.strip() for text in parts[1::2]), strict=True))


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
    inode, resident, proportional = _memory(pid)
    assert inode in {_memory(other)[0] for other in before}, "the source goes on from the same checkpoint"
    print(f"guest memory of the copy: {resident} KiB resident, {proportional} KiB if what is shared is divided")
    assert proportional < 0.85 * resident, "what neither has written is in the host's memory twice"


def _memory(pid: int) -> tuple[str, int, int]:
    """What a QEMU's guest memory is mapped from, and its resident and proportional KiB."""
    maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{pid}/smaps").read_text(), flags=re.MULTILINE)
    memory = [text for text in maps if "memory.img" in text]
    resident, own = (
        sum(int(re.findall(rf"^{name}: *(\d+)", text, re.MULTILINE)[0]) for text in memory) for name in ("Rss", "Pss")
    )
    return memory[0].split()[4], resident, own


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
