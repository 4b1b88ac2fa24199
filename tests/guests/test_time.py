"""Time goes on after a restore: services, timers, handles and pipes of the guest do not notice their absence."""

from __future__ import annotations

import time

import pytest

from tests.lab import GOLDEN, Daemon

pytestmark = pytest.mark.guest

AWAY = 75  # seconds: a minute of the calendar goes by, and many intervals of the timers below

UNITS = r"""
sudo tee /etc/systemd/system/dog.service >/dev/null <<'U'
[Service]
Type=notify
WatchdogSec=5
ExecStart=/usr/bin/python3 -u /home/boxd/dog.py
U
sudo tee /etc/systemd/system/tick.service >/dev/null <<'U'
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'date +%%s >> /run/ticks'
U
sudo tee /etc/systemd/system/tick.timer >/dev/null <<'U'
[Timer]
OnCalendar=*:0/1
OnUnitActiveSec=2
OnActiveSec=1
AccuracySec=100ms
U
cat > dog.py <<'P'
import os, socket, time
address = os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1)
link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
link.connect(address)
link.send(b"READY=1")
while True:
    link.send(b"WATCHDOG=1")
    time.sleep(1)
P
sudo systemctl daemon-reload
sudo systemctl start dog.service tick.timer
"""

HANDLES = r"""
cat > handles.py <<'P'
import os, subprocess, time
kept = open("unlinked", "w+")
os.unlink("unlinked")
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
number = 0
while True:
    number += 1
    kept.write(f"{number}\n"); kept.flush()
    child.stdin.write(b"%d\n" % number); child.stdin.flush()
    assert child.stdout.readline() == b"%d\n" % number
    kept.seek(0)
    assert len(kept.read().splitlines()) == number
    with open("alive.new", "w") as alive: alive.write(str(number))
    os.rename("alive.new", "alive")
    time.sleep(0.1)
P
setsid python3 handles.py >handles.log 2>&1 </dev/null &
"""


def test_services_timers_handles_and_pipes_go_on(daemon: Daemon) -> None:
    daemon.sh(UNITS)
    daemon.sh(HANDLES)
    daemon.sh("for i in $(seq 600); do test -s alive && test -s /run/ticks && exit 0; sleep 0.1; done; exit 1")
    daemon.boxd("machine", "checkpoint", "save", GOLDEN, "here")
    before = daemon.sh("systemctl show -P MainPID dog.service; cat alive; echo; wc -l < /run/ticks").split()
    time.sleep(AWAY)  # what is tested is that this much time has gone by
    daemon.boxd("machine", "checkpoint", "restore", GOLDEN, "here", "-y")
    daemon.sh("sleep 6")
    pid, restarts, state, alive, ticks, errors = daemon.sh(
        "systemctl show -P MainPID -P NRestarts -P ActiveState dog.service; cat alive; echo; wc -l < /run/ticks;"
        "wc -c < handles.log"
    ).split()
    assert (pid, restarts, state) == (before[0], "0", "active")
    assert int(alive) > int(before[1]) and errors == "0", "handles and pipes work on"
    missed = AWAY // 2
    came = int(ticks) - int(before[2])
    print(f"ticks in the 6 s after the restore: {came}, missed meanwhile: {missed}")
    assert 1 <= came < missed, "timers go on, and what they missed does not come all at once"
    assert daemon.sh("systemctl is-system-running || true").strip() in ("running", "degraded")
