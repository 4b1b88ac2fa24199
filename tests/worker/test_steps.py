"""Steps: whatever fails, the undos run in reverse, each once, and never hide the first error."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.worker.steps import Steps, to_the_end

NAMES = ["one", "two", "three"]


async def operation(done: list[str], fault: str = "", *, commit_after: str = "") -> None:
    """Three steps, each undone by removing its name."""

    def fail(point: str) -> None:
        if point == fault:
            raise OSError(point)

    steps = Steps("test", fault=fail)
    try:
        for name in NAMES:

            async def forget(name: str = name) -> None:
                if name in done:
                    done.remove(name)

            async def act(name: str = name) -> None:
                done.append(name)

            steps.undo(f"forget {name}", forget)
            await steps.run(name, act)
            if name == commit_after:
                steps.commit()
    except OSError:
        assert not await steps.unwind()
        assert not await steps.unwind(), "unwinding twice is harmless"
        raise


@pytest.mark.parametrize("point", [f"{when} {name}" for name in NAMES for when in ("before", "after")])
async def test_a_failure_anywhere_leaves_nothing(point: str) -> None:
    done: list[str] = []
    with pytest.raises(OSError, match=point):
        await operation(done, point)
    assert done == []


async def test_what_is_committed_stays() -> None:
    done: list[str] = []
    with pytest.raises(OSError):
        await operation(done, "before three", commit_after="two")
    assert done == ["one", "two"]


async def test_an_undo_that_fails_does_not_stop_the_others() -> None:
    undone: list[str] = []

    async def broken() -> None:
        raise OSError("broken")

    async def fine() -> None:
        undone.append("fine")

    steps = Steps("test")
    steps.undo("fine", fine)
    steps.undo("broken", broken)
    failures = await steps.unwind()
    assert [str(f) for f in failures] == ["broken"]
    assert undone == ["fine"]


async def test_work_is_carried_to_its_end_also_when_its_caller_is_cancelled() -> None:
    begun, release, finished = asyncio.Event(), asyncio.Event(), []

    async def work() -> None:
        begun.set()
        await release.wait()
        finished.append(True)

    async def caller() -> None:
        await to_the_end(work())

    task = asyncio.create_task(caller())
    await begun.wait()
    task.cancel()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert finished == [True]
