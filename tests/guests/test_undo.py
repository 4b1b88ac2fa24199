"""The promise, on a real guest: what was captured is back, all of it, and nothing else."""

from __future__ import annotations

import re
import time

import pytest

from tests.guests import keeping
from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

ROUNDS = 20


def test_twenty_rounds_of_save_change_restore_keep_every_block_of_memory(daemon: Daemon) -> None:
    keeping.start(daemon)
    pauses, restores = [], []
    for number in range(ROUNDS):
        daemon.sh(f"echo {number} > kept; sync; echo {number} > unsynced")
        captured = keeping.ask(daemon, "scramble")
        saved = daemon.json("machine", "checkpoint", "save", GOLDEN, f"r{number}")
        pauses.append(saved["pause_us"] / 1000)
        keeping.ask(daemon, "scramble && echo wrecked > kept && rm unsynced && touch later")
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, f"r{number}", "-y")
        restores.append(daemon.json("machine", "get", GOLDEN)["boot"])

        after = keeping.ask(daemon, "blocks")
        differing = sum(a != b for a, b in zip(captured["blocks"], after["blocks"], strict=True))
        assert differing == 0, f"round {number}: {differing} of {len(after['blocks'])} blocks differ"
        assert after["pid"] == captured["pid"] and after["digest"] == captured["digest"]
        assert after["counter"] >= captured["counter"]
        assert daemon.sh("cat kept unsynced; ls") == f"{number}\n{number}\nkept\npattern.py\nunsynced\n"
        daemon.boxd("machine", "checkpoint", "remove", GOLDEN, f"r{number}", "-y")
    print("pauses, ms:", " ".join(f"{pause:.0f}" for pause in pauses), "restores:", " ".join(restores))


def test_the_counter_goes_on_from_the_captured_value(daemon: Daemon) -> None:
    keeping.start(daemon, pages=16)
    first = keeping.state(daemon)["counter"]
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "here")
    at_save = keeping.state(daemon)["counter"]
    daemon.sh("sleep 5")
    later = keeping.state(daemon)["counter"]
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "here", "-y")
    back = keeping.state(daemon)["counter"]
    assert first <= back < later, (first, at_save, later, back)


def test_a_restore_is_exact_also_for_what_came_after(daemon: Daemon) -> None:
    daemon.sh("mkdir old && echo x > old/file && chmod 640 old/file && sudo touch /etc/doomed")
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "here")
    daemon.sh(
        "echo new > new; sudo touch /etc/newfile; sudo rm /etc/doomed; chmod 600 old/file; sudo chown root old/file;"
        "sudo useradd bob; rm -rf old; sync"
    )
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "here", "-y")
    assert daemon.sh("ls; stat -c '%a %U' old/file; ls /etc/doomed; cat old/file") == (
        "old\n640 boxd\n/etc/doomed\nx\n"
    )
    assert daemon.boxd("machine", "exec", GOLDEN, "--", "id", "bob", check=False).returncode != 0
    assert daemon.boxd("machine", "exec", GOLDEN, "--", "ls", "/etc/newfile", check=False).returncode != 0


def test_memory_and_disk_are_of_one_instant(daemon: Daemon) -> None:
    """Files written without a sync are whole after the restore, from the cache and from the disk alike."""
    for cycle in range(2):
        daemon.sh(
            f"mkdir t{cycle}; for n in $(seq 150); do head -c $((n * 61 % 9000)) /dev/urandom > t{cycle}/$n; done;"
            f"find t* -type f -exec sha256sum {{}} + > sums"
        )
        daemon.boxd("machine", "checkpoint", "save", GOLDEN, f"c{cycle}")
        daemon.sh("rm -rf t*; head -c 50000000 /dev/urandom > big; sync")
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, f"c{cycle}", "-y")
        daemon.sh("sha256sum -c --quiet sums")
        daemon.sh("sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; sha256sum -c --quiet sums")
    kernel = daemon.sh("sudo dmesg")
    assert not re.search(r"ext4.*error|I/O error|corrupt", kernel, re.IGNORECASE), kernel
    daemon.boxd("machine", "reboot", GOLDEN)
    daemon.sh("sha256sum -c --quiet sums")


def test_identity_stays(daemon: Daemon) -> None:
    before = daemon.json("machine", "get", GOLDEN)
    inside = daemon.sh("hostname; cat /etc/machine-id; cat /sys/class/net/eth0/address; hostname -I")
    assert before["public_ip"] in inside
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "here")
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "here", "-y")
    assert daemon.sh("hostname; cat /etc/machine-id; cat /sys/class/net/eth0/address; hostname -I") == inside
    after = daemon.json("machine", "get", GOLDEN)
    moves_on = {"boot", "last_connected", "resident_bytes"}
    assert {k: after[k] for k in after if k not in moves_on} == {k: before[k] for k in before if k not in moves_on}


CLOCKS = "import time; print(time.time(), time.monotonic())"
WATCH = """
import os, time
last = time.monotonic()
while True:
    now = time.monotonic()
    if now < last:
        open("back", "a").write(f"from {last} to {now}\\n")
    if not os.path.exists("watching"):
        open("watching", "w").write(str(os.getpid()))
    last = now
    time.sleep(0.005)
"""


def clocks(daemon: Daemon) -> tuple[float, float]:
    """How far the guest's clock is from ours at least, in seconds; its monotonic clock."""
    before = time.time()
    answer = daemon.boxd("machine", "exec", GOLDEN, "--", "python3", "-c", CLOCKS).stdout.split()
    real, monotonic = map(float, answer)
    return max(before - real, real - time.time(), 0.0), monotonic


def test_the_clocks_after_a_restore(daemon: Daemon) -> None:
    """Wall-clock time is the host's; monotonic time goes on from the captured value and never steps back."""
    daemon.sh(f"cat > watch.py <<'END'\n{WATCH}END\nsetsid python3 watch.py >/dev/null 2>&1 </dev/null &")
    daemon.sh("for i in $(seq 600); do test -s watching && exit 0; sleep 0.1; done; exit 1")
    _, first = clocks(daemon)
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "here")
    _, last = clocks(daemon)
    daemon.sh("rm watching; sleep 15")
    _, later = clocks(daemon)
    for _ in range(3):
        began = time.monotonic()
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "here", "-y")
        skew, monotonic = clocks(daemon)
        took = time.monotonic() - began
        print(f"off by {skew:.3f} s; monotonic {monotonic:.2f}, captured between {first:.2f} and {last:.2f}")
        assert skew <= 1.0
        assert first <= monotonic <= last + took
        assert daemon.sh(
            "rm watching; for i in $(seq 600); do test -s watching && break; sleep 0.1; done; cat watching"
        )
        assert daemon.sh("cat back 2>/dev/null || echo never") == "never\n"
    print(f"before the restores monotonic time was {later:.2f}")


def test_random_numbers_are_new_after_each_restore(daemon: Daemon) -> None:
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "here")
    seen = set()
    for _ in range(3):
        daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "here", "-y")
        seen.add(daemon.sh("head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid"))
    assert len(seen) == 3
    assert "crng reseeded due to virtual machine fork" in daemon.sh("sudo dmesg")
