"""A session of tests that was killed in the middle leaves nothing that the next one does not clean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openboxd.host import pidfd

ROOT = Path(__file__).parents[2]

SLOT = "91"
"""A lab of this test's own, beside those that are in use."""

INTERRUPTED = """
import subprocess, sys
from tests import lab
with lab.mounted() as mount:
    (mount / "t-left").mkdir()
    (mount / "base").mkdir()
    lab.RUN_ROOT.mkdir()
    # Not a shell: until its child is another program, that has the same arguments.
    left = [sys.executable, "-c", "import time; time.sleep(600)", str(mount / "t-left")]
    subprocess.Popen(left, start_new_session=True)
    print("there", flush=True)
    sys.stdin.read()
"""

NEXT = """
import json
from tests import lab
with lab.mounted() as mount:
    found = sorted(path.name for path in mount.iterdir()), lab.RUN_ROOT.exists()
print(json.dumps([*found, lab.MOUNT.is_mount()]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_the_next_session_cleans_what_a_killed_one_left(tmp_path: Path) -> None:
    env = os.environ | {"BOXD_TEST_SLOT": SLOT, "BOXD_TEST_HOME": str(tmp_path)}
    options = {"cwd": ROOT, "env": env, "text": True}

    def working() -> list[int]:
        found = pidfd.find(lambda argv: any(f"{tmp_path}/mnt/" in argument for argument in argv))
        for process in found:
            os.close(process.pidfd)
        return [process.pid for process in found]

    session = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
    )
    with session:
        assert session.stdout is not None and session.stdout.readline() == "there\n"
        session.kill()
    assert (tmp_path / "mnt").is_mount()
    deadline = time.monotonic() + 30
    while len(working()) != 1:  # a program that is just being started has no arguments yet
        assert time.monotonic() < deadline, working()
        time.sleep(0.01)
    done = subprocess.run([sys.executable, "-c", NEXT], capture_output=True, check=True, timeout=120, **options)
    assert json.loads(done.stdout) == [["base"], False, False]
    assert working() == []
