"""The network of runs: who is prepared, joined and let go when."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openboxd.errors import BoxdError, OperationFailed
from openboxd.model import Machine, MachineStatus
from openboxd.ports import NetworkLink
from openboxd.worker.links import NoNetwork
from tests.worker.world import OWNER, World


class Recording(NoNetwork):
    """Keeps what is asked of it, in the order of the runs' coming, and hands out descriptors as a tap's."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []
        self.runs: list[str] = []
        self.taps: list[int] = []
        self.fails = ""

    def _note(self, what: str, run_id: str) -> None:
        if run_id not in self.runs:
            self.runs.append(run_id)
        self.done.append((what, self.runs.index(run_id)))
        if self.fails == what:
            raise OperationFailed("the network is broken")

    async def prepare(self, machine: Machine, run_id: str) -> NetworkLink:
        self._note("prepare", run_id)
        self.taps.append(os.open("/dev/null", os.O_RDONLY))
        return NetworkLink(16, "10.213.0.1", "", tap=self.taps[-1])

    async def attach(self, machine: Machine, run_id: str, pid: int) -> None:
        self._note("attach", run_id)

    async def release(self, machine: Machine, run_id: str) -> None:
        self._note("release", run_id)

    def take(self) -> list[tuple[str, int]]:
        """What was asked since the last time; the descriptors are closed by now."""
        for tap in self.taps:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(tap)
        done, self.done, self.taps = self.done, [], []
        return done


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path / "home")
    world.network = Recording()
    await world.start()
    await world.image()
    yield world
    await world.close()


@pytest.fixture
def network(world: World) -> Recording:
    assert isinstance(world.network, Recording)
    return world.network


async def test_a_run_is_joined_when_it_is_the_machines_and_let_go_when_it_is_not(
    world: World, network: Recording
) -> None:
    await world.machine()
    assert network.take() == [("prepare", 0), ("attach", 0)]
    await world.save("cp")
    assert network.take() == []
    await world.control.restore_checkpoint(OWNER, "web", "cp")
    assert network.take() == [("prepare", 1), ("release", 0), ("attach", 1)]
    await world.control.reboot_machine(OWNER, "web")
    assert network.take() == [("release", 1), ("prepare", 2), ("attach", 2)]
    await world.control.stop_machine(OWNER, "web")
    assert network.take() == [("release", 2)]


async def test_a_restore_that_does_not_load_leaves_the_old_network(world: World, network: Recording) -> None:
    await world.machine()
    await world.save("cp")
    network.take()

    def fail(point: str) -> None:
        if point == "after load":
            raise OperationFailed("on purpose")

    world.fault = fail
    with pytest.raises(BoxdError, match="is as it was"):
        await world.control.restore_checkpoint(OWNER, "web", "cp")
    assert network.take() == [("prepare", 1), ("release", 1)]


async def test_a_run_that_cannot_be_given_a_network_does_not_start(world: World, network: Recording) -> None:
    network.fails = "prepare"
    assert (await world.machine()).status is MachineStatus.STOPPED
    with pytest.raises(BoxdError, match="the network is broken"):
        await world.control.start_machine(OWNER, "web")
    assert network.take() == [("prepare", 0), ("prepare", 1)]


async def test_a_machine_that_cannot_be_joined_runs_without(world: World, network: Recording) -> None:
    network.fails = "attach"
    machine = await world.machine()
    assert machine.status is MachineStatus.RUNNING
    network.fails = "release"
    await world.control.stop_machine(OWNER, "web")
    assert world.control.machine(OWNER, "web").status is MachineStatus.STOPPED
