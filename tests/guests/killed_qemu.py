"""A real daemon whose QEMUs are killed under it when a step is reached: `python -m tests.guests.killed_qemu ...`.

The arguments are those of `boxd daemon run`. What is to be killed, and where, is written into a file of the home by
the test (`order`), so that one daemon and one guest serve many kills: {"point": ..., "victims": "old" | "new" |
"both", "old": [pids that run now]}. The victim is gone when the step goes on; nobody has told the daemon.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from openboxd.host import pidfd
from openboxd.qemu.qmp import Monitor
from openboxd.qemu.saver import main as saver_main
from tests.guests.killed_daemon import IN_THE_PAUSE, serve, use_saver

LIMIT = 10.0
"""Seconds for a killed process to be gone."""


def order(home: Path, point: str, victims: str, old: list[int]) -> None:
    """Let the next operation that reaches `point` lose its QEMU there. Carried out once."""
    new = home / "kill.new"
    new.write_text(json.dumps({"point": point, "victims": victims, "old": old}))
    new.rename(home / "kill")


def carried_out(home: Path) -> bool:
    """Whether the point was reached."""
    return not (home / "kill").exists()


def strike(home: Path, reached: str) -> None:
    """Carry the order out if this is its point."""
    try:
        found = json.loads((home / "kill").read_text())
    except FileNotFoundError:
        return
    if found["point"] != reached:
        return
    (home / "kill").unlink()
    for process in pidfd.find(lambda argv: bool(argv) and "qemu-system" in argv[0] and str(home) in " ".join(argv)):
        is_old = process.pid in found["old"]
        if found["victims"] in ("both", "old" if is_old else "new"):
            pidfd.send(process.pidfd, signal.SIGKILL)
            _until_gone(process.pidfd)
        os.close(process.pidfd)


def _until_gone(descriptor: int) -> None:
    deadline = time.monotonic() + LIMIT
    while not pidfd.is_gone(descriptor):
        if time.monotonic() > deadline:
            raise TimeoutError("a killed process does not end")
        time.sleep(0.002)


def saver(home: str) -> None:
    """A saver whose QEMU may be killed while the vCPUs stand still."""

    async def kill(monitor: Monitor) -> None:
        strike(Path(home), IN_THE_PAUSE)

    sys.exit(saver_main(sys.argv[1:], kill))


def main(home: str, listen: str) -> None:
    use_saver(f"from tests.guests.killed_qemu import saver; saver({home!r})")
    serve(home, listen, lambda reached: strike(Path(home), reached))


if __name__ == "__main__":
    main(*sys.argv[1:])
