"""How many commands run at a time: of a machine, of the machines of one owner, and of all."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.api import inside_cli
from openboxd.api.ports import NewMachine
from openboxd.model import MIB
from tests.inside.commands import boxd, start
from tests.inside.conftest import LIMIT, Doors, Visitor
from tests.worker.world import OWNER


async def stays(doors: Doors, name: str) -> tuple[Visitor, asyncio.Task[None]]:
    """A command that runs until its visitor leaves."""
    commands, before = doors.inside.commands, doors.inside.commands.running(doors.machine_id(name))
    visitor, task = doors.knock("cli", name)
    visitor.say(start("machine", "exec", "--", "cat"))
    await doors.world.until(lambda: commands.running(doors.machine_id(name)) > before)
    return visitor, task


async def refused(doors: Doors, name: str) -> str:
    done = await boxd(doors, "info", name=name)
    assert done.status == 125, done
    return done.err.removeprefix("error: ").removesuffix("; wait for one to end\n")


async def test_no_owner_shuts_out_another_one_and_who_is_refused_is_told_why(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = doors.world.control
    eve = control.authenticate((await control.add_user(OWNER, "eve"))[1])
    for owner, name in ((OWNER, "db"), (eve, "hers")):
        machine = await control.create_machine(owner, NewMachine(name=name, vcpu=1, memory_bytes=512 * MIB))
        await control.team.worker(machine.id).idle()
    for limit, value in (("PER_MACHINE", 2), ("PER_OWNER", 3), ("ALTOGETHER", 4)):
        monkeypatch.setattr(inside_cli, limit, value)
    visitor, task = await stays(doors, "web")
    await stays(doors, "web")
    assert await refused(doors, "web") == "2 boxd commands run in machine 'web' already"
    await stays(doors, "db")
    assert await refused(doors, "db") == "3 boxd commands run in the machines of the owner of machine 'db' already"
    await stays(doors, "hers")
    assert await refused(doors, "hers") == "4 boxd commands run in the machines of this host already"
    visitor.leave()
    await asyncio.wait_for(task, LIMIT)
    await doors.world.until(lambda: doors.inside.commands.running(doors.machine_id()) == 1)
    assert (await boxd(doors, "info", name="db")).status == 0
