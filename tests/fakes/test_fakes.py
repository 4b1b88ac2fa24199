"""The fakes keep state like the real thing: what a worker could get wrong against QEMU it gets wrong here."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from openboxd.errors import (
    AlreadyExists,
    BoxdError,
    Interrupted,
    InvalidArgument,
    MachineLost,
    NotFound,
    OperationFailed,
    OutcomeUnknown,
    Unavailable,
    WrongState,
)
from openboxd.host.reflink import copy_file
from openboxd.model import MIB, ExecRequest, Progress, Size
from openboxd.ports import Agent, AgentConnector, Hypervisor, Run, RunSpec, RunState, SaveJob
from tests.fakes.agent import FakeAgent, FakeAgentConnector
from tests.fakes.host import FakeHost
from tests.fakes.hypervisor import FakeHypervisor, FakeRun
from tests.fakes.killing import DaemonKilled, Switch, mortal


class Lab:
    """A host, a daemon's drivers on it, and a directory with one disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.host = FakeHost()
        self.fail_at = ""
        self.failure: BaseException = OperationFailed("on purpose")
        self.hypervisor = FakeHypervisor(self.host, self._fault)
        self.connector = FakeAgentConnector(self.host, self._fault)
        for name in ("disk.raw", "vmlinuz", "initrd"):
            (directory / name).write_bytes(b"pristine")

    def _fault(self, point: str) -> None:
        if point == self.fail_at:
            raise self.failure

    def spec(self, run_id: str, disk: str = "disk.raw", plan: object = None) -> RunSpec:
        return RunSpec(
            run_id=run_id,
            machine_id="m1",
            name="web",
            size=Size(2, 512 * MIB),
            disk=self.directory / disk,
            kernel=self.directory / "vmlinuz",
            initrd=self.directory / "initrd",
            cmdline="",
            console=self.directory / "console.log",
            address="10.0.0.2",
            mac="52:54:00:00:00:02",
            plan=plan if isinstance(plan, dict) else None,
        )

    async def boot(self, run_id: str = "aa") -> tuple[FakeRun, FakeAgent]:
        run = await self.hypervisor.boot(self.spec(run_id))
        agent = await self.connector.connect(run.agent_socket, "web")
        await agent.wait_ready(1)
        return run, agent

    async def save(self, run: Run, name: str, parent: str = "") -> Path:
        staging = self.directory / name
        staging.mkdir()
        job = SaveJob(staging, self.directory / "disk.raw", self.directory / parent if parent else None)
        self.report = await run.save(job, _ignore)
        return staging

    async def load(self, capture: Path, run_id: str = "bb", disk: Path | None = None) -> tuple[FakeRun, FakeAgent]:
        copy_file(disk or capture / "disk.raw", self.directory / f"disk.{run_id}")
        agents: list[FakeAgent] = []

        async def connect(socket: Path) -> None:
            agents.append(await self.connector.connect(socket, "web"))

        plan = {"machine": "fake", "size": {"vcpu": 2, "memory_bytes": 512 * MIB}}
        run = await self.hypervisor.load(self.spec(run_id, f"disk.{run_id}", plan), capture, connect)
        return run, agents[0]


def _ignore(progress: Progress) -> None:
    """Progress nobody looks at."""


async def run(
    agent: Agent, command: str, stdin: bytes | None = None, tty: bool = False
) -> tuple[str, str, int | None]:
    """Output, errors and exit code of a command."""
    session = await agent.exec(ExecRequest(command, tty))
    if stdin is not None:
        await session.write(stdin)
    await session.write_eof()
    pieces = [piece async for piece in session.output()]
    out = b"".join(piece.data for piece in pieces if not piece.is_stderr)
    err = b"".join(piece.data for piece in pieces if piece.is_stderr)
    return out.decode(), err.decode(), session.exit_code


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.host.close()


async def test_they_have_the_ports(lab: Lab) -> None:
    hypervisor: Hypervisor = lab.hypervisor  # mypy compares the signatures
    connector: AgentConnector = lab.connector
    booted: Run = await hypervisor.boot(lab.spec("aa"))
    agent: Agent = await connector.connect(booted.agent_socket, "web")
    assert agent.ready


async def test_a_restored_guest_goes_on_from_the_captured_instant(lab: Lab) -> None:
    first, agent = await lab.boot()
    await run(agent, "set k captured; write notes before")
    counter = (await run(agent, "counter"))[0]
    capture = await lab.save(first, "c1")
    assert await first.state() is RunState.RUNNING
    await run(agent, "set k later; write notes after; write more x")
    second, after = await lab.load(capture)
    assert await second.state() is RunState.PAUSED
    assert not after.ready
    assert (await run(agent, "get k; read notes"))[0] == "later\nafter", "the old one goes on beside it"
    await first.kill()
    await second.resume()
    await after.wait_ready(1)
    assert (await run(after, "get k; read notes"))[0] == "captured\nbefore"
    assert (await run(after, "read more"))[2] == 1
    assert int((await run(after, "counter"))[0]) == int(counter) + 4
    assert second.process.epochs == 1
    assert [process.spec.run_id for process in lab.host.alive()] == ["bb"]


async def test_a_boot_forgets_memory_and_keeps_the_disk(lab: Lab) -> None:
    first, agent = await lab.boot()
    before = await run(agent, "boot-id")
    await run(agent, "set k v; write notes kept")
    await first.powerdown()
    assert (await first.ended()).clean
    _, again = await lab.boot("bb")
    assert (await run(again, "get k"))[2] == 1
    assert (await run(again, "read notes; boots"))[0] == "kept2\n"
    assert await run(again, "boot-id") != before


async def test_a_disk_of_another_instant_is_found_out(lab: Lab) -> None:
    first, agent = await lab.boot()
    capture = await lab.save(first, "c1")
    await run(agent, "write notes later")
    with pytest.raises(OperationFailed, match="crashed"):
        await lab.load(capture, disk=lab.directory / "disk.raw")
    assert [process.spec.run_id for process in lab.host.alive()] == ["aa"]


async def test_a_damaged_capture_or_another_plan_does_not_load(lab: Lab) -> None:
    first, _ = await lab.boot()
    capture = await lab.save(first, "c1")
    with pytest.raises(OperationFailed, match="plan"):
        await lab.hypervisor.load(lab.spec("bb", plan={"machine": "other"}), capture, lambda _: asyncio.sleep(0))
    (capture / "devices.state").write_text("{")
    with pytest.raises(OperationFailed, match="does not load"):
        await lab.load(capture, "cc")
    assert len(lab.host.alive()) == 1


async def test_a_save_writes_what_its_parent_does_not_have(lab: Lab) -> None:
    first, agent = await lab.boot()
    await run(agent, "set big " + "x" * 5000)
    await lab.save(first, "c1")
    full = lab.report.written_bytes
    await lab.save(first, "c2", parent="c1")
    assert full > 5000
    assert lab.report.written_bytes < 10
    assert lab.report.seen_bytes >= full


@pytest.mark.parametrize("point", ["save memory", "save pause", "save disk", "save resume", "save sync"])
@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (OperationFailed("x"), OperationFailed),
        (OSError(errno.ENOSPC, "full"), WrongState),
        (OSError(5, "io"), OperationFailed),
    ],
)
async def test_a_failed_save_leaves_the_guest_running(
    lab: Lab, point: str, failure: Exception, expected: type[BoxdError]
) -> None:
    first, agent = await lab.boot()
    lab.fail_at, lab.failure = point, failure
    with pytest.raises(expected):
        await lab.save(first, "c1")
    lab.fail_at = ""
    assert await first.state() is RunState.RUNNING
    assert (await run(agent, "echo hi"))[0] == "hi\n"
    await lab.save(first, "c2")


async def test_a_held_save_has_the_vcpus_stopped_and_cancelling_it_resumes_them(lab: Lab) -> None:
    first, agent = await lab.boot()
    with lab.host.hold("save disk") as hold:
        save = asyncio.create_task(lab.save(first, "c1"))
        await hold.reached()
        assert await first.state() is RunState.PAUSED
        assert not agent.ready
        save.cancel()
        with pytest.raises(asyncio.CancelledError):
            await save
    assert await first.state() is RunState.RUNNING


async def test_a_save_of_a_run_that_ends_meanwhile_says_so(lab: Lab) -> None:
    first, _ = await lab.boot()
    with lab.host.hold("save memory") as hold:
        save = asyncio.create_task(lab.save(first, "c1"))
        await hold.reached()
        first.process.crash()
    with pytest.raises(MachineLost):
        await save
    assert not (await first.ended()).clean


@pytest.mark.parametrize("point", ["boot", "booted", "load", "load connect", "load state", "loaded"])
async def test_a_failed_start_leaves_nothing(lab: Lab, point: str) -> None:
    first, _ = await lab.boot()
    capture = await lab.save(first, "c1")
    lab.fail_at, lab.failure = point, OSError("no")
    with pytest.raises((OperationFailed, OSError)):
        await (lab.hypervisor.boot(lab.spec("cc")) if point.startswith("boot") else lab.load(capture))
    assert [process.spec.run_id for process in lab.host.alive()] == ["aa"]


async def test_another_daemon_adopts_what_an_earlier_one_left(lab: Lab) -> None:
    first, agent = await lab.boot()
    await run(agent, "set k v")
    later = FakeHypervisor(lab.host)
    assert list(await later.leftovers()) == ["aa"]
    adopted = await later.adopt("aa")
    assert adopted is not None
    again = await FakeAgentConnector(lab.host).connect(adopted.agent_socket, "web")
    await again.wait_ready(1)
    assert (await run(again, "get k"))[0] == "v\n"
    await adopted.kill()
    await adopted.kill()
    assert (await first.ended()) == (await adopted.ended())
    assert await later.adopt("aa") is None
    assert list(await later.leftovers()) == []


async def test_a_killed_daemon_leaves_a_guest_paused_and_has_no_more_effect(lab: Lab, tmp_path: Path) -> None:
    switch = Switch()
    doomed = FakeHypervisor(lab.host, switch.killing_at("save disk"), switch)
    first = await doomed.boot(lab.spec("aa"))
    with pytest.raises(DaemonKilled):
        await lab.save(first, "c1")
    assert first.process.state is RunState.PAUSED
    for call in (first.kill(), first.resume(), doomed.boot(lab.spec("bb"))):
        with pytest.raises(DaemonKilled):
            await call
    with pytest.raises(DaemonKilled):
        mortal(tmp_path, switch).exists()
    adopted = await lab.hypervisor.adopt("aa")
    assert adopted is not None
    assert await adopted.state() is RunState.PAUSED
    await adopted.resume()
    await lab.save(adopted, "c2")


async def test_a_hung_qemu_does_not_answer_but_can_be_killed(lab: Lab) -> None:
    first, _ = await lab.boot()
    first.process.hung = True
    for call in (first.state, first.resume, first.pause, first.powerdown):
        with pytest.raises(OutcomeUnknown):
            await call()
    await first.kill()
    assert lab.host.alive() == []


async def test_a_guest_may_ignore_the_power_button(lab: Lab) -> None:
    first, _ = await lab.boot()
    first.process.ignores_power_button = True
    await first.powerdown()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await first.ended()


async def test_an_agent_is_in_step_only_while_its_guest_runs_and_answers(lab: Lab) -> None:
    lab.host.new_guests_answer = False
    first = await lab.hypervisor.boot(lab.spec("aa"))
    agent = await lab.connector.connect(first.agent_socket, "web")
    with pytest.raises(Unavailable):
        await agent.wait_ready(0.01)
    with pytest.raises(Unavailable):
        await agent.exec(ExecRequest("true"))
    waiting = asyncio.create_task(agent.wait_ready(5))
    await asyncio.sleep(0)
    first.process.set_answers(True)
    await waiting
    assert agent.ready
    await first.pause()
    assert not agent.ready
    await first.resume()
    await agent.close("over")
    await agent.close("again")
    with pytest.raises(Interrupted, match="over"):
        await agent.wait_ready(1)
    with pytest.raises(Unavailable):
        await lab.connector.connect(Path("/nowhere"), "web")


async def test_commands(lab: Lab) -> None:
    _, agent = await lab.boot()
    assert await run(agent, "echo 'a  b' && err oops; exit 3") == ("a  b\n", "oops\n", 3)
    assert await run(agent, "err oops", tty=True) == ("oops\n", "", 0)
    assert await run(agent, "false && echo no; true && echo yes") == ("yes\n", "", 0)
    assert await run(agent, "cat", b"stdin") == ("stdin", "", 0)
    assert (await run(agent, "nonsense"))[2] == 127
    session = await agent.exec(ExecRequest("yes"))
    seen = 0
    async for piece in session.output():
        seen += len(piece.data)
        if seen >= 200:
            await session.cancel()
            await session.cancel()
            break
    assert session.exit_code == 143
    await session.write(b"late")


@pytest.mark.parametrize("how", ["close", "crash"])
async def test_a_command_is_interrupted_when_its_machine_goes(lab: Lab, how: str) -> None:
    first, agent = await lab.boot()
    session = await agent.exec(ExecRequest("echo begun; wait"))
    output = session.output()
    assert (await anext(output)).data == b"begun\n"
    if how == "close":
        await agent.close("the machine was restored")
    else:
        first.process.crash()
    with pytest.raises(Interrupted, match="restored" if how == "close" else "signal 9"):
        await anext(output)
    assert session.exit_code is None


async def test_files(lab: Lab) -> None:
    _, agent = await lab.boot()
    assert await agent.upload("a.bin", 6, _pieces(b"\x00\xff", b"four")) == 6
    with pytest.raises(InvalidArgument):
        await agent.upload("a.bin", 9, _pieces(b"short"))
    with pytest.raises(NotFound):
        await agent.upload("none/a", 1, _pieces(b"x"))
    size, content = await agent.download("/home/boxd/a.bin")
    assert (size, b"".join([piece async for piece in content])) == (6, b"\x00\xfffour")
    await agent.mkdir("d")
    for call in (
        agent.mkdir("d"),
        agent.mkdir("d/e/f"),
        agent.download("d"),
        agent.download("none"),
        agent.delete("x"),
    ):
        with pytest.raises((AlreadyExists, NotFound, WrongState)):
            await call
    await agent.copy("a.bin", "d/b.bin")
    await agent.rename("d", "e")
    listing = await agent.list_dir("e", 10)
    assert [(entry.name, entry.is_dir, entry.size_bytes) for entry in listing.entries] == [("b.bin", False, 6)]
    everything = await agent.list_dir(".", 1)
    assert [entry.name for entry in everything.entries] == ["a.bin"]
    assert everything.truncated
    with pytest.raises(WrongState):
        await agent.list_dir("a.bin", 10)
    with pytest.raises(WrongState):
        await agent.copy("e", "e/inside")
    await agent.delete("e")
    with pytest.raises(NotFound):
        await agent.list_dir("e", 10)
