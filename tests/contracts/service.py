"""What a service keeps, the real one and the one that API and CLI are tested with: outcomes, states and sentences.

A subclass provides `service`: one with a built image and a running machine `web` of the user OWNER.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from typing import Any

import pytest

from openboxd.api.ports import NewMachine, Service
from openboxd.errors import AlreadyExists, BoxdError, InvalidArgument, NotFound, WrongState
from openboxd.model import GIB, MIB, Caller, ExecRequest, MachineStatus

OWNER = Caller("u_owner", "key_owner")
LIMIT = 20.0

MACHINE_RULE = "a machine name has 1 to 40 characters of a-z 0-9 - and starts and ends with a letter or digit"
CHECKPOINT_RULE = (
    "a checkpoint name has 1 to 63 characters of a-z 0-9 . _ - and starts and ends with a letter or digit"
)


async def refused(kind: type[BoxdError], sentence: str, work: Awaitable[Any]) -> None:
    """The work fails with exactly this class and sentence."""
    with pytest.raises(BoxdError) as caught:
        async with asyncio.timeout(LIMIT):
            await work
    assert (type(caught.value), caught.value.message) == (kind, sentence)


async def now(call: Any, *arguments: Any) -> Any:
    """A call that answers at once, as one that can be awaited."""
    return call(*arguments)


async def saved(service: Service, name: str) -> None:
    await service.save_checkpoint(OWNER, "web", name)
    async with asyncio.timeout(LIMIT):
        assert (await service.checkpoint_done(OWNER, "web", name)).checkpoint.status == "ready"


async def until_running(service: Service, name: str) -> None:
    """A machine that was made boots by itself; a start joins that, or finds it done."""
    async with asyncio.timeout(LIMIT):
        assert (await service.start_machine(OWNER, name)).status is MachineStatus.RUNNING


class ServiceContract:
    """See the module."""

    async def test_an_unknown_machine(self, service: Service) -> None:
        calls = [
            now(service.machine, OWNER, "ghost"),
            service.start_machine(OWNER, "ghost"),
            service.stop_machine(OWNER, "ghost"),
            service.reboot_machine(OWNER, "ghost"),
            service.destroy_machine(OWNER, "ghost"),
            service.rename_machine(OWNER, "ghost", "new"),
            service.resize_machine(OWNER, "ghost", 1, 0),
            service.save_checkpoint(OWNER, "ghost", "one"),
            service.checkpoints(OWNER, "ghost"),
            service.restore_checkpoint(OWNER, "ghost", "one"),
            service.remove_checkpoint(OWNER, "ghost", "one"),
            service.exec(OWNER, "ghost", ExecRequest("true")),
            service.set_delete_after(OWNER, "ghost", 60, ""),
            service.list_dir(OWNER, "ghost", "."),
        ]
        for call in calls:
            await refused(NotFound, "VM 'ghost' not found", call)

    async def test_machines_that_cannot_be_made(self, service: Service) -> None:
        def make(**values: Any) -> Awaitable[Any]:
            return service.create_machine(OWNER, NewMachine(**values))

        for name in ("A", "-a", "a b", "..", "x" * 41):
            await refused(InvalidArgument, MACHINE_RULE, make(name=name))
        sentence = "'app' cannot be a machine's name: it is reserved; choose another one"
        await refused(InvalidArgument, sentence, make(name="app"))
        await refused(AlreadyExists, "a machine named 'web' exists already; choose another name", make(name="web"))
        await refused(NotFound, "image 'none' not found; see: boxd image list", make(name="new", image="none"))
        sentence = "the restart policy is 'always' or 'never', not 'maybe'"
        await refused(InvalidArgument, sentence, make(name="new", restart_policy="maybe"))
        with pytest.raises(InvalidArgument, match="vCPU"):
            await make(name="new", vcpu=1000)
        assert [machine.name for machine in service.machines(OWNER)] == ["web"]

    async def test_a_machine_without_a_name_gets_a_free_one(self, service: Service) -> None:
        machine = await service.create_machine(OWNER, NewMachine(vcpu=1, memory_bytes=512 * MIB))
        assert re.fullmatch(r"[a-z]+-[a-z]+(-\d+)?", machine.name)
        await until_running(service, machine.name)
        assert service.suggest_name(OWNER) != machine.name

    async def test_states(self, service: Service) -> None:
        assert (await service.stop_machine(OWNER, "web")).status == "stopped"
        assert (await service.stop_machine(OWNER, "web")).status == "stopped"
        sentence = "machine 'web' must be running to be rebooted; it is stopped; start it instead"
        await refused(WrongState, sentence, service.reboot_machine(OWNER, "web"))
        sentence = "machine 'web' must be running to save a checkpoint; it is stopped"
        await refused(WrongState, sentence, service.save_checkpoint(OWNER, "web", "one"))
        sentence = "machine 'web' is stopped; start it first"
        await refused(WrongState, sentence, service.exec(OWNER, "web", ExecRequest("true")))
        assert (await service.start_machine(OWNER, "web")).status == "running"
        assert (await service.start_machine(OWNER, "web")).status == "running"
        assert (await service.reboot_machine(OWNER, "web")).status == "running"

    async def test_checkpoints_that_cannot_be(self, service: Service) -> None:
        await saved(service, "one")
        for name in ("A", ".a", "a/b", "x" * 64):
            await refused(InvalidArgument, CHECKPOINT_RULE, service.save_checkpoint(OWNER, "web", name))
            await refused(InvalidArgument, CHECKPOINT_RULE, service.restore_checkpoint(OWNER, "web", name))
            await refused(InvalidArgument, CHECKPOINT_RULE, service.remove_checkpoint(OWNER, "web", name))
        sentence = "machine 'web' already has a checkpoint 'one'; it was not changed"
        await refused(AlreadyExists, sentence, service.save_checkpoint(OWNER, "web", "one"))
        sentence = "checkpoint 'none' not found on machine 'web'"
        for call in (service.restore_checkpoint, service.remove_checkpoint, service.checkpoint_done):
            await refused(NotFound, sentence, call(OWNER, "web", "none"))
        for number in range(2, 11):
            await saved(service, f"c{number}")
        sentence = "machine 'web' has 10 of 10 checkpoints; remove one first (the oldest is 'one')"
        await refused(WrongState, sentence, service.save_checkpoint(OWNER, "web", "c11"))

    async def test_what_a_machine_descends_from(self, service: Service) -> None:
        for name in ("one", "two"):
            await saved(service, name)

        async def descent() -> list[tuple[str, str, bool]]:
            views = await service.checkpoints(OWNER, "web")
            return [(view.checkpoint.name, view.parent_name, view.is_current) for view in views]

        assert await descent() == [("one", "", False), ("two", "one", True)]
        assert (await service.restore_checkpoint(OWNER, "web", "one")).status == "running"
        assert await descent() == [("one", "", True), ("two", "one", False)]
        await saved(service, "three")
        assert (await descent())[-1] == ("three", "one", True)
        await service.remove_checkpoint(OWNER, "web", "one")
        assert await descent() == [("two", "", False), ("three", "", True)]

    async def test_a_checkpoint_without_a_name_gets_its_time(self, service: Service) -> None:
        names = {(await service.save_checkpoint(OWNER, "web", "")).name}
        async with asyncio.timeout(LIMIT):
            await service.checkpoint_done(OWNER, "web", next(iter(names)))
        names.add((await service.save_checkpoint(OWNER, "web", "")).name)
        assert len(names) == 2
        assert all(re.fullmatch(r"cp-\d{8}-\d{6}(-\d+)?", name) for name in names)

    async def test_changes(self, service: Service) -> None:
        await service.create_machine(OWNER, NewMachine(name="other", vcpu=1, memory_bytes=512 * MIB))
        await until_running(service, "other")
        await refused(InvalidArgument, MACHINE_RULE, service.rename_machine(OWNER, "web", "A"))
        sentence = "a machine named 'other' exists already; choose another name"
        await refused(AlreadyExists, sentence, service.rename_machine(OWNER, "web", "other"))
        sentence = "say how many vCPUs or how much memory the machine is to have"
        await refused(InvalidArgument, sentence, service.resize_machine(OWNER, "web", 0, 0))
        machine, rebooted = await service.resize_machine(OWNER, "web", 2, 2 * GIB)
        assert (machine.size.vcpu, machine.size.memory_bytes, rebooted) == (2, 2 * GIB, True)
        machine, rebooted = await service.resize_machine(OWNER, "web", 2, 2 * GIB)
        assert not rebooted
        assert (await service.rename_machine(OWNER, "web", "www2")).status == "running"
        with pytest.raises(InvalidArgument, match="a label key has 1 to 63"):
            await service.update_labels(OWNER, "www2", {"A": "b"}, [], replace_all=False)
        assert await service.update_labels(OWNER, "www2", {"a": "b"}, [], replace_all=False) == {"a": "b"}
        assert [machine.name for machine in service.machines(OWNER, ["a=b"])] == ["www2"]

    async def test_a_removed_machine_is_gone_with_its_checkpoints_and_its_name_is_free(
        self, service: Service
    ) -> None:
        await saved(service, "one")
        await service.destroy_machine(OWNER, "web")
        assert list(service.machines(OWNER)) == []
        await refused(NotFound, "VM 'web' not found", service.checkpoints(OWNER, "web"))
        await service.create_machine(OWNER, NewMachine(name="web", vcpu=1, memory_bytes=512 * MIB))
        await until_running(service, "web")
        assert list(await service.checkpoints(OWNER, "web")) == []

    async def test_images(self, service: Service) -> None:
        (image,) = service.images(OWNER)
        assert image.name == service.default_image() == service.machine(OWNER, "web").image_name
        with pytest.raises(WrongState) as caught:
            await service.remove_image(OWNER, image.name)
        assert caught.value.message == f"image '{image.name}' was not removed: it is used by web; remove them first"
        with pytest.raises(NotFound, match="image 'none' not found"):
            await service.remove_image(OWNER, "none")
