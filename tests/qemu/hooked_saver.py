"""A saver that stops at the worst moment: the vCPUs stand still, the disk is cloned, nobody has resumed.

`python -m tests.qemu.hooked_saver MODE ...`: "die" kills itself there, "hang" stops itself, "fail" raises.
"""

from __future__ import annotations

import os
import signal
import sys

from openboxd.qemu.qmp import Monitor
from openboxd.qemu.saver import main


async def die(monitor: Monitor) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def fail(monitor: Monitor) -> None:
    raise OSError("a fault on purpose")


async def wait_for_word(monitor: Monitor) -> None:
    """Stand still until SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


MODES = {"die": die, "fail": fail, "hang": wait_for_word}

if __name__ == "__main__":
    sys.exit(main(sys.argv[2:], MODES[sys.argv[1]]))
