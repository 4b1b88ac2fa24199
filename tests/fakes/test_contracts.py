"""The fakes keep the contracts that the real drivers keep."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.host.reflink import copy_file
from openboxd.model import MIB, Size
from openboxd.ports import Plan, Run, RunSpec
from tests.contracts.agent import AgentContract
from tests.contracts.hypervisor import HypervisorContract
from tests.contracts.service import OWNER, ServiceContract
from tests.fakes.agent import FakeAgent, FakeAgentConnector
from tests.fakes.host import FakeHost
from tests.fakes.hypervisor import FakeHypervisor
from tests.fakes.service import FakeService


@pytest.fixture
def host() -> Iterator[FakeHost]:
    made = FakeHost()
    yield made
    made.close()


def a_spec(directory: Path, plan: Plan | None = None) -> RunSpec:
    """A new run, with a fresh disk unless one was put in its place."""
    run_id = secrets.token_hex(6)
    for name in ("vmlinuz", "initrd"):
        (directory / name).touch()
    disk = directory / f"{run_id}.raw"
    disk.write_bytes(bytes(1 * MIB))
    return RunSpec(
        run_id=run_id,
        machine_id="m-1",
        name="web",
        size=Size(2, 256 * MIB),
        disk=disk,
        kernel=directory / "vmlinuz",
        initrd=directory / "initrd",
        cmdline="",
        console=directory / "console.log",
        address="10.77.0.9",
        mac="52:54:00:12:34:56",
        plan=plan,
    )


class TestFakeHypervisor(HypervisorContract):
    @pytest.fixture
    def hypervisor(self, host: FakeHost) -> FakeHypervisor:
        return FakeHypervisor(host)

    @pytest.fixture
    def again(self, host: FakeHost) -> Callable[[], FakeHypervisor]:
        return lambda: FakeHypervisor(host)

    @pytest.fixture
    def stagings(self) -> list[Path]:
        return []

    @pytest.fixture
    def new_staging(self, tmp_path: Path, stagings: list[Path]) -> Callable[[], Path]:
        def make() -> Path:
            stagings.append(tmp_path / f"staging-{len(stagings)}")
            stagings[-1].mkdir()
            return stagings[-1]

        return make

    @pytest.fixture
    def new_spec(self, tmp_path: Path, stagings: list[Path]) -> Callable[..., RunSpec]:
        def make(plan: Plan | None = None) -> RunSpec:
            spec = a_spec(tmp_path, plan)
            if plan is not None:  # a fake guest notices a disk of another instant than its memory
                spec.disk.unlink()
                copy_file(stagings[0] / "disk.raw", spec.disk)
            return spec

        return make

    @pytest.fixture
    def connect(self, host: FakeHost) -> Callable[[Path], Awaitable[FakeAgent]]:
        connector = FakeAgentConnector(host)
        return lambda socket: connector.connect(socket, "web")

    @pytest.fixture
    def crash(self, host: FakeHost) -> Callable[[Run], None]:
        return lambda run: host.processes[run.run_id].crash()

    @pytest.fixture
    def power_off(self, host: FakeHost) -> Callable[[Run], Awaitable[None]]:
        async def power_off(run: Run) -> None:
            host.processes[run.run_id].power_off()

        return power_off


class TestFakeAgent(AgentContract):
    say_error = "err oops"
    block = "wait"

    @pytest.fixture
    async def agent(self, host: FakeHost, tmp_path: Path) -> AsyncIterator[FakeAgent]:
        run = await FakeHypervisor(host).boot(a_spec(tmp_path))
        agent = await FakeAgentConnector(host).connect(run.agent_socket, "web")
        await agent.wait_ready(1)
        yield agent
        await agent.close("the test is over")


class TestFakeService(ServiceContract):
    @pytest.fixture
    async def service(self, tmp_path: Path) -> AsyncIterator[FakeService]:
        service = FakeService(tmp_path)
        await service.create_machine(OWNER, NewMachine(name="web"))
        await service.start_machine(OWNER, "web")
        yield service
        await service.close()
