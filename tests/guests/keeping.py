"""Drives pattern.py in a machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.lab import GOLDEN, Daemon

PROGRAM = Path(__file__).with_name("pattern.py")
SOCKET = "/tmp/pattern.sock"


def start(daemon: Daemon, pages: int = 2048, machine: str = GOLDEN) -> dict[str, Any]:
    """Start the program in the machine, detached from the command that starts it; its first state."""
    daemon.boxd("machine", "cp", PROGRAM, f"{machine}:pattern.py")
    daemon.sh(f"setsid python3 pattern.py serve {SOCKET} {pages} >/dev/null 2>&1 </dev/null &", machine)
    daemon.sh(f"for i in $(seq 600); do test -S {SOCKET} && exit 0; sleep 0.1; done; exit 1", machine)
    return state(daemon, machine)


def ask(daemon: Daemon, question: str, machine: str = GOLDEN) -> Any:
    """An answer of the program. Fails if it does not run."""
    return json.loads(daemon.sh(f"python3 pattern.py ask {SOCKET} {question}", machine))


def state(daemon: Daemon, machine: str = GOLDEN) -> dict[str, Any]:
    """Its pid, counter and digest."""
    answer: dict[str, Any] = ask(daemon, "state", machine)
    return answer
