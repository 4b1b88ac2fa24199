"""A real daemon that ends itself by SIGKILL when a step is reached: `python -m tests.guests.killed_daemon POINT ...`.

POINT is a fault point ("before publish"); a save can also be cut inside the pause ("in the pause"): then the saver
kills the daemon while the vCPUs stand still. The rest are the arguments of `boxd daemon run`.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from pathlib import Path

import openboxd.daemon
from openboxd import settings
from openboxd.host import pidfd
from openboxd.qemu.hypervisor import QemuHypervisor
from openboxd.qemu.qmp import Monitor
from openboxd.qemu.saver import main as saver_main
from openboxd.worker.steps import Fault

IN_THE_PAUSE = "in the pause"

ROOT = Path(__file__).parents[2]
"""Where savers find this module: they are started elsewhere, with a clean environment."""


def main(point: str, home: str, listen: str) -> None:
    def fault(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    if point == IN_THE_PAUSE:
        use_saver(f"from tests.guests.killed_daemon import saver; saver({os.getpid()})")
    serve(home, listen, fault)


def serve(home: str, listen: str, fault: Fault) -> None:
    """`boxd daemon run` with a hook at its fault points."""
    openboxd.daemon.daemon = functools.partial(openboxd.daemon.daemon, fault=fault)
    openboxd.daemon.serve(settings.load(Path(home), listen))


def use_saver(statement: str) -> None:
    """Savers of this process run a Python statement instead of their own program."""
    command = (sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {statement}")
    openboxd.daemon.QemuHypervisor = functools.partial(  # type: ignore[misc,assignment]
        QemuHypervisor, saver_command=command
    )


def saver(victim: int) -> None:
    """A saver that kills the daemon `victim` while the vCPUs stand still, and goes on when it is gone."""

    async def kill(monitor: Monitor) -> None:
        descriptor = os.pidfd_open(victim)
        pidfd.send(descriptor, signal.SIGKILL)
        await pidfd.wait_gone(descriptor)
        os.close(descriptor)

    sys.exit(saver_main(sys.argv[1:], kill))


if __name__ == "__main__":
    main(*sys.argv[1:])
