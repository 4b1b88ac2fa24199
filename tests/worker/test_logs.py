"""What the log tells of an operation, from its order to its outcome, bears one id, whatever becomes of it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openboxd import logs
from openboxd.errors import BoxdError, OperationFailed, OutcomeUnknown
from tests.worker.world import OWNER, World

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    await world.start()
    await world.machine()
    yield world
    await world.close()


@contextmanager
def logging_json(capfd: pytest.CaptureFixture[str]) -> Iterator[Lines]:
    """Log as the daemon does with BOXD_LOG=json; the value tells what was logged since."""
    root = logging.getLogger()
    present, level = root.handlers[:], root.level
    root.handlers.clear()
    capfd.readouterr()
    try:
        logs.set_up("json", logging.INFO)
        yield lambda: [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    finally:
        root.handlers[:] = present
        root.setLevel(level)


@pytest.mark.parametrize(
    ("error", "seen", "levels"),
    [
        (OperationFailed("it was made to fail"), OperationFailed, ["info", "warning"]),
        (ZeroDivisionError("a fault inside"), OutcomeUnknown, ["info", "error", "warning"]),
    ],
    ids=["expected", "unexpected"],
)
async def test_a_failure_is_told_under_the_id_of_its_operation(
    world: World,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    seen: type[BoxdError],
    levels: list[str],
) -> None:
    await world.save("a")
    machine = await world.settled()

    async def journal(kind: str, detail: object) -> int:
        raise error

    monkeypatch.setattr(world.control.team.worker(machine.id), "journal", journal)
    with logging_json(capfd) as lines:
        with pytest.raises(seen):
            await world.control.restore_checkpoint(OWNER, "web", "a")
        await world.settled()
        told = [line for line in lines() if line["logger"] == "openboxd.worker.machine"]
    assert [line["level"] for line in told] == levels
    assert {line.get("machine") for line in told} == {machine.id}
    assert len({line.get("operation") for line in told}) == 1
    assert re.fullmatch(r"op-[0-9a-f]{8}", told[0]["operation"])


async def test_a_save_and_a_snapshot_end_with_what_they_cost(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    with logging_json(capfd) as lines:
        await world.save("a")
        await world.snapshot("base")
        await world.settled()
        told = lines()
    wanted = r"machine [0-9a-f-]+: (saved|snapshot saved), pause [0-9.]+ ms, ready after [0-9]+ ms"
    ends = [line for line in told if re.fullmatch(wanted, line["message"])]
    assert [line["message"].split(":")[1].split(",")[0].strip() for line in ends] == ["saved", "snapshot saved"]
    assert [line["operation"] for line in ends] == list(dict.fromkeys(line["operation"] for line in told))


async def test_a_hibernation_ends_with_a_line(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    with logging_json(capfd) as lines:
        await world.control.hibernate_machine(OWNER, "web")
        machine = await world.settled()
        last = lines()[-1]
    assert re.fullmatch(rf"machine {machine.id}: hibernated after [0-9]+ ms", last["message"])
    assert last["operation"].startswith("op-")
