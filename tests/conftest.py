"""Fixtures for everybody."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import hypothesis
import pytest

from tests.lab import Daemon, Lab, mounted

os.environ.setdefault("BOXD_NETWORK", "user")  # no test's daemon sets up anything in this host's own network

# A shell starts background jobs with SIGINT ignored, and children inherit that: tests of Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


# What fails, fails again; and how long an example took says only how busy the host is.
hypothesis.settings.register_profile(
    "boxd", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("boxd")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses the lab is a test with real guests, wherever it stands."""
    for item in items:
        if "lab" in getattr(item, "fixturenames", ()):
            item.add_marker("guest")
            item.add_marker(_of_the_test_alone(item), append=False)


def _of_the_test_alone(item: pytest.Item) -> pytest.MarkDecorator:
    """The item's limit, without its fixtures: the first one may build the image."""
    own = item.get_closest_marker("timeout")
    limit = own.args[0] if own else float(item.config.getini("timeout"))
    return pytest.mark.timeout(limit, func_only=True)


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A place with an image and a machine that has booted once; see tests.lab."""
    with mounted() as mount:
        yield Lab(mount)


@pytest.fixture
def daemon(lab: Lab) -> Iterator[Daemon]:
    """A daemon of the test's own, in which machine `golden` runs, freshly restored."""
    with lab.daemon() as daemon:
        yield daemon
