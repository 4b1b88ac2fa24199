"""The hypervisor's contract, with QEMU and a tiny guest."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from openboxd.ports import Run, RunSpec
from openboxd.qemu.hypervisor import QemuHypervisor
from tests.contracts.hypervisor import HypervisorContract
from tests.qemu.conftest import Bench


@pytest.mark.guest
class TestQemu(HypervisorContract):
    @pytest.fixture
    def hypervisor(self, bench: Bench) -> QemuHypervisor:
        return bench.hypervisor()

    @pytest.fixture
    def again(self, bench: Bench) -> Callable[[], QemuHypervisor]:
        return bench.hypervisor

    @pytest.fixture
    def new_spec(self, bench: Bench) -> Callable[..., RunSpec]:
        return bench.spec

    @pytest.fixture
    def new_staging(self, bench: Bench) -> Callable[[], Path]:
        return bench.staging

    @pytest.fixture
    def connect(self, bench: Bench) -> Callable[[Path], Awaitable[Any]]:
        return bench.connect

    @pytest.fixture
    def crash(self) -> Callable[[Run], None]:
        return lambda run: os.kill(run.pid, signal.SIGKILL)

    @pytest.fixture
    def power_off(self, bench: Bench) -> Callable[[Run], Awaitable[None]]:
        async def power_off(run: Run) -> None:
            port = await bench.connect(run.agent_socket)
            port.writer.write(b"poweroff -f\n")

        return power_off
