"""The published SDK, unmodified, against a real daemon with a real guest: what client programs may rely on.

The files in suite/ use the SDK alone. Each is run by a pytest of its own in the SDK's environment, which holds
nothing of ours. What they measure is printed, never asserted.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.lab import EXPOSED_PORTS, Daemon

SUITE = Path(__file__).with_name("suite")
LIMIT = 300

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("file", sorted(SUITE.glob("test_*.py")), ids=lambda path: path.stem.removeprefix("test_"))
def test_conformance(file: Path, served: Daemon, sdk_tests: Path, other_key: str, tmp_path: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SDK_URL": served.url,
        "SDK_KEY": served.key,
        "SDK_OTHER_KEY": other_key,
        "SDK_EXPOSED_PORTS": EXPOSED_PORTS,
        "BOXD_NO_UPDATE_NOTICE": "1",
    }
    argv = ["-m", "pytest", "-q", "-rA", "--durations=5", "-p", "no:cacheprovider", "--confcutdir", SUITE]
    done = subprocess.run(
        [sdk_tests, *map(str, argv), "--rootdir", str(SUITE), "-c", os.devnull, str(file)],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:] + served.log[-3000:]
