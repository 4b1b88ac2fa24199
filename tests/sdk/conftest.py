"""A daemon for the conformance suite, and the environment that holds the published SDK with what its tests need."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import sdk_python
from tests.lab import Daemon, Lab, locked

__all__ = ["sdk_python"]

collect_ignore = ["suite"]  # runs in the SDK's environment, not in ours

TOOLS = ("pytest==9.2.0", "hypothesis==6.170.17")


@pytest.fixture(scope="session")
def sdk_tests(sdk_python: Path) -> Path:
    """The Python that has the SDK and a test runner; made once and kept between runs."""
    home = sdk_python.parent.parent
    ready = home / f"has-{'-'.join(TOOLS)}"
    with locked(home.with_suffix(".lock")):  # another run may be making it
        if not ready.exists():
            subprocess.run([sdk_python, "-m", "pip", "install", "--quiet", *TOOLS], check=True)
            ready.touch()
    return sdk_python


@pytest.fixture(scope="module")
def served(lab: Lab) -> Iterator[Daemon]:
    """One daemon for all files of the suite; machine `golden` runs."""
    with lab.daemon() as daemon:
        yield daemon


@pytest.fixture(scope="module")
def other_key(served: Daemon) -> str:
    """The key of a second user of that daemon."""
    return served.boxd("admin", "user", "add", "other").stdout.strip()
