"""Every call of the API as everybody: over the real service with a fake host, through the real servers.

People come to the API's port, machines over the channel of their run to what the daemon has for those inside.

A call without a row in `matrix.ROWS` fails the first test. Refusals are looked at exactly: what a caller may not see
is answered in the words for what does not exist.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from openboxd.api import server
from openboxd.api.ports import NewMachine
from openboxd.control import accounts
from openboxd.errors import BoxdError
from openboxd.model import MEMBER_KEY, MIB, ORG_KEY, Caller, Machine, MachineStatus, Membership, Org, OrgRole, User
from tests.api.matrix import (
    AS,
    COLUMNS,
    EXPECTED,
    MACHINES,
    OWNERS_SSH_KEY,
    ROWS,
    SHUT_IN,
    SHUT_OUT,
    Is,
    Kind,
    Row,
    Thing,
    Who,
)
from tests.inside.conftest import Doors
from tests.inside.program import ask, bearer, connected
from tests.worker.world import LIMIT, OWNER, World

FAULTS = ("UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED", "INTERNAL", "UNKNOWN", "no answer")
"""No call that is granted ends so."""

MACHINE_FIELDS = ("vm_id", "vm", "ref", "source_vm_id")
ORG_FIELDS = ("org_id", "org")
ORG_KINDS = (Kind.ORG, Kind.ORG_ADMIN, Kind.ORG_OWNER)
MACHINE_KINDS = (Kind.USE, Kind.MANAGE, Kind.LIMIT, Kind.REMOVE, Kind.SHARE, Kind.KEEP, Kind.USAGE)

CALLS: dict[str, MethodDescriptor] = {
    **server.BOXD_API.methods_by_name,
    **{f"Host.{name}": call for name, call in server.HOST.methods_by_name.items()},
}
OFFERED = {*server.METHODS, *(f"Host.{name}" for name in server.HOST_METHODS)}

DOMAIN = "web.owners.example.org"
ORG = Org("o_team", "team", 1)
MADE = (
    ("web", Who.OWNER, True),
    ("solo", Who.OWNER, False),
    ("side", Who.OWNER, False),
    ("sealed", Who.OWNER, False),
    ("strange", Who.OTHER, False),
)
"""What they are made as, whose they are, and whether they are shared. `sealed` is isolated."""

SPEAKERS = {
    Who.ITSELF: "solo",
    Who.BARE: "solo",
    Who.ANOTHERS: "solo",
    Who.LATE: "solo",
    Who.FORMER: "side",
    Who.NEIGHBOUR: "side",
    Who.SHARED_ITSELF: "web",
    Who.SHARED_NEIGHBOUR: "web",
    Who.ISOLATED: "sealed",
    Who.STRANGER: "strange",
}
"""The machine whose channel a call comes over."""

PRIVATE = {Who.FENCED, Who.ITSELF, Who.BARE, Who.ANOTHERS, Who.LATE, Who.FORMER, Who.NEIGHBOUR, Who.SHARED_NEIGHBOUR}
"""Those who call about the private machine `solo`."""

PEOPLE = {
    Who.OWNER: OWNER,
    Who.MEMBER: Caller("u_bob", "key_bob"),
    Who.OTHER: Caller("u_eve", "key_eve"),
    Who.ADMIN: Caller("u_ann", "key_ann"),
}


class Stage:
    """A service with four users, an organization, and machines; put in order before each call."""

    def __init__(self, doors: Doors, address: str) -> None:
        self.world, self.doors = doors.world, doors
        self.tokens: dict[Who, str] = {}
        self.things: dict[Thing, str] = {}
        self.channel = grpc.aio.insecure_channel(address)
        self.former_run = ""
        self._ids: dict[str, str] = {}

    async def furnish(self) -> None:
        """Users with keys; nobody's token is ever the key of somebody else."""
        store = self.world.store
        for who, caller in PEOPLE.items():
            if who is not Who.OWNER:
                await store.add_user(User(caller.user_id, caller.user_id))
            self.tokens[who] = accounts.new_key()
            await accounts.add_api_key(store, caller.user_id, "key", self.tokens[who])
        key = store.api_keys(OWNER.user_id)[0]
        self.tokens[Who.EXPIRED] = accounts.new_secret("bxt_")
        expired = accounts.digest_of(self.tokens[Who.EXPIRED])
        await store.add_token(key.id, expired, int(time.time()) - 1, int(time.time()) - 3600)
        await self.world.image()

    async def in_order(self) -> None:
        """Everything as it was before anybody called."""
        store = self.world.store
        if not any(org.id == ORG.id for org in store.orgs()):
            await store.add_org(ORG, OWNER.user_id)
            for who, kind in ((Who.ORG, ORG_KEY), (Who.FENCED, MEMBER_KEY)):
                _, self.tokens[who] = await self.world.control.create_api_key(OWNER, who.name, 0, ORG.id, kind)
        await store.put_member(Membership(ORG.id, "u_bob", OrgRole.MEMBER, 1))
        await store.put_member(Membership(ORG.id, "u_ann", OrgRole.ADMIN, 1))
        if any(member.user_id == "u_eve" for member in store.members(ORG.id)):
            await store.remove_member(ORG.id, "u_eve")
        present = {machine.id: machine for machine in store.machines()}
        for label, who, shared in MADE:
            await self._machine(present.pop(self._ids.get(label, ""), None), label, PEOPLE[who], shared=shared)
        for made in present.values():  # by what was called
            await self.world.control.team.destroy(made.id, made.owner_id)
        if not self.former_run:
            self.former_run = self.named("side").run_id
            await self.world.control.reboot_machine(OWNER, self.named("side").id)

    async def provide(self, row: Row, who: Who) -> None:
        """Let there be what the request of a row names."""
        for thing in row.fields.values():
            if isinstance(thing, Thing):
                self.things[thing] = await self._provide(thing, self.target(who))

    async def _provide(self, thing: Thing, target: Machine) -> str:
        """A thing of the owner's, by what calls name it."""
        control, store = self.world.control, self.world.store
        match thing:
            case Thing.SNAPSHOT:
                found = store.snapshot_named(OWNER.user_id, "base")
                if found is None:
                    found = await control.save_snapshot(OWNER, target.id, "base")
                    await control.snapshot_done(OWNER, found.id)
                return found.id
            case Thing.API_KEY:
                spare = next((key for key in store.api_keys(OWNER.user_id) if key.name == "spare"), None)
                if spare is None:
                    spare, _ = await control.create_api_key(OWNER, "spare", 0)
                return spare.id
            case Thing.SSH_KEY:
                await control.link_ssh_key(OWNER, OWNERS_SSH_KEY, "desk", "")
                return next(key.fingerprint for key in store.ssh_keys(OWNER.user_id) if key.device_id == "desk")
            case Thing.INVITATION:
                return (await control.invite(OWNER, ORG.id, "dan@example.org", "member"))[1]
            case Thing.DOMAIN:
                for machine in store.machines():
                    if DOMAIN in [row.domain for row in store.custom_domains(machine.id)]:
                        await control.remove_custom_domain(OWNER, DOMAIN)
                return (await control.add_custom_domain(OWNER, target.id, DOMAIN)).domain

    async def _machine(self, machine: Machine | None, label: str, owner: Caller, *, shared: bool) -> None:
        """Make it, unless it is there, and let it be as it was made."""
        control = self.world.control
        if machine is None:
            new = NewMachine(name=label, vcpu=1, memory_bytes=512 * MIB, isolated=label == "sealed")
            machine = await control.create_machine(owner, new)
            self._ids[label] = machine.id
        await control.team.worker(machine.id).idle()
        machine = self.named(label)
        if machine.status is not MachineStatus.RUNNING:
            await control.start_machine(owner, machine.id)
        if (machine.shared, machine.org_id) != (shared, ORG.id if shared else ""):
            await self.world.store.update_machine(machine.id, shared=shared, org_id=ORG.id if shared else "")

    def named(self, label: str) -> Machine:
        """A machine by what it was made as: calls rename them."""
        machine = self.world.store.machine(self._ids[label])
        assert machine is not None
        return machine

    async def credential(self, who: Who) -> str:
        """What this caller proves itself with; nothing where the channel is all that proves it."""
        match who:
            case Who.NOBODY | Who.BARE | Who.FORMER | Who.ISOLATED:
                return ""
            case Who.ELSEWHERE:
                return await self.minted("solo")
            case Who.ANOTHERS:
                return await self.minted("side")
            case Who.LATE:
                token, now = accounts.new_secret("bxm_"), int(time.time())
                digest = accounts.digest_of(token)
                await self.world.store.add_machine_token(self.named("solo").id, digest, now - 1, now - 900)
                return token
            case speaker if speaker in SPEAKERS:
                return await self.minted(SPEAKERS[speaker])
        return self.tokens[who]

    async def minted(self, label: str) -> str:
        """A token that the metadata of a machine give it."""
        status, answer = await ask(self.doors, "GET", "/v1/auth/token", run_id=self.named(label).run_id)
        assert status == 200, answer
        return str(answer["token"])

    def target(self, who: Who) -> Machine:
        """The machine that the call is about."""
        return self.named("solo" if who in PRIVATE else "sealed" if who is Who.ISOLATED else "web")

    def request(self, name: str, row: Row, who: Who) -> Message:
        """The request of a row about the caller's target."""
        kind = GetMessageClass(CALLS[name].input_type)
        known, values = {f.name for f in CALLS[name].input_type.fields}, dict(row.fields)
        if row.kind in MACHINE_KINDS:
            values |= {next(f for f in MACHINE_FIELDS if f in known): self.target(who).id}
        if row.kind in ORG_KINDS:
            values |= {next(f for f in ORG_FIELDS if f in known): ORG.id}
        values = {field: self.things[each] if isinstance(each, Thing) else each for field, each in values.items()}
        return kind(**{field: value for field, value in values.items() if field in known})

    async def told(self, name: str, row: Row, who: Who) -> str:
        """What the caller is told: "OK", or status and sentence."""
        request, token = self.request(name, row, who), await self.credential(who)
        metadata = bearer(token) if token else ()
        try:
            async with asyncio.timeout(LIMIT):
                if who not in SPEAKERS:
                    await self._call(self.channel, name, request, metadata, who)
                    return "OK"
                run_id = self.former_run if who is Who.FORMER else self.named(SPEAKERS[who]).run_id
                async with connected(self.doors, run_id=run_id) as channel:
                    await self._call(channel, name, request, metadata, who)
        except grpc.aio.AioRpcError as error:
            return self._not_let_in(who) or f"{error.code().name}: {error.details()}"
        except TimeoutError:
            return "no answer"
        return "OK"

    def _not_let_in(self, who: Who) -> str:
        """What kept a machine's connection out, before it could call anything."""
        if who not in SPEAKERS:
            return ""
        visit = self.doors.tasks[-1]
        error = visit.exception() if visit.done() and not visit.cancelled() else None
        return f"{error.status}: {error.message}" if isinstance(error, BoxdError) else ""

    async def _call(self, channel: grpc.aio.Channel, name: str, request: Message, metadata: Any, who: Who) -> None:
        call = CALLS[name]
        path = f"/{call.containing_service.full_name}/{call.name}"
        arity = f"{'stream' if call.client_streaming else 'unary'}_{'stream' if call.server_streaming else 'unary'}"
        stub = getattr(channel, arity)(path, type(request).SerializeToString, bytes)
        under_way = stub(iter([request]) if call.client_streaming else request, metadata=metadata)
        if not call.server_streaming:
            await under_way
            return
        stirring = asyncio.create_task(self._stir(who)) if name == "Host.WatchMachine" else None
        try:
            async for _ in under_way:
                break
        finally:
            under_way.cancel()
            if stirring is not None:
                stirring.cancel()
                await asyncio.wait([stirring])

    async def _stir(self, who: Who) -> None:
        """Let something happen on the machine again and again, for those who watch it. Its run stays."""
        machine = self.target(who)
        owner = next(caller for caller in PEOPLE.values() if caller.user_id == machine.owner_id)
        while True:
            await self.world.control.team.worker(machine.id).idle()
            await self.world.control.suspend_machine(owner, machine.id)
            await self.world.control.resume_machine(owner, machine.id)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with set_up(World(tmp_path)) as stage:
        yield stage


@asynccontextmanager
async def set_up(world: World) -> AsyncIterator[Stage]:
    control = await world.start()
    run_dir = Path(tempfile.mkdtemp(prefix="boxd-in-"))
    async with (
        server.serve_inside(control, run_dir) as inside,
        server.serve(control, "127.0.0.1:0") as address,
    ):
        doors = Doors(world, inside)
        stage = Stage(doors, address)
        await stage.furnish()
        yield stage
        await stage.channel.close()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*doors.tasks, return_exceptions=True)
    await world.close()
    shutil.rmtree(run_dir)


def expected(row: Row, who: Who) -> Is:
    who = AS.get(who, who)
    return EXPECTED[row.kind][COLUMNS.index(who)] if who in COLUMNS else SHUT_OUT.get(who, Is.UNKNOWN)


def unseen(stage: Stage, row: Row, machine: Machine) -> str:
    """What somebody is told who may not see what the call is about: what everybody is told of what is not there."""
    if row.kind in ORG_KINDS:
        return f"NOT_FOUND: organization '{ORG.id}' not found"
    for thing in row.fields.values():
        if isinstance(thing, Thing):
            return f"NOT_FOUND: {thing.value.format(stage.things[thing])}"
    return f"NOT_FOUND: VM '{machine.id}' not found"


def agrees(wanted: Is, told: str, unseen: str) -> bool:
    """Whether that is what the caller was to be told."""
    status = told.partition(":")[0]
    match wanted:
        case Is.UNSEEN:
            return told == unseen
        case Is.GRANTED:
            return status not in FAULTS and told != unseen
        case refusal:
            return status == refusal.value


def test_every_call_has_a_row() -> None:
    assert ROWS.keys() == CALLS.keys()
    assert [name for name in OFFERED if ROWS[name].kind is Kind.LATER] == []
    assert EXPECTED.keys() == set(Kind) - {Kind.LATER}


async def test_everybody_is_told_what_the_matrix_says(stage: Stage) -> None:
    wrong: list[str] = []
    for name in sorted(ROWS.keys() & OFFERED):
        row = ROWS[name]
        for who in Who:
            await stage.in_order()
            machine = stage.target(who)
            await stage.provide(row, who)
            told = await stage.told(name, row, who)
            if not agrees(expected(row, who), told, unseen(stage, row, machine)):
                wrong.append(f"{name} as {who.value}: {told} instead of {expected(row, who).name}")
    assert not wrong, "\n".join(wrong)


async def test_where_they_reach_nothing_but_themselves_machines_are_told_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.reach = "self"
    wrong: list[str] = []
    async with set_up(world) as stage:
        for name in sorted(name for name in ROWS.keys() & OFFERED if ROWS[name].kind in SHUT_IN):
            row = ROWS[name]
            for who, wanted in zip(MACHINES, SHUT_IN.get(name, SHUT_IN[row.kind]), strict=True):
                await stage.in_order()
                machine = stage.target(who)
                await stage.provide(row, who)
                told = await stage.told(name, row, who)
                if not agrees(wanted, told, unseen(stage, row, machine)):
                    wrong.append(f"{name} as {who.value}: {told} instead of {wanted.name}")
    assert not wrong, "\n".join(wrong)


async def test_what_is_not_offered_is_nobodys(stage: Stage) -> None:
    await stage.in_order()
    wrong: list[str] = []
    for name in sorted(ROWS.keys() - OFFERED):
        for who in Who:
            told = await stage.told(name, Row(Kind.LATER), who)
            known = AS.get(who, who) in COLUMNS
            status = "UNIMPLEMENTED" if known else SHUT_OUT.get(who, Is.UNKNOWN).value
            if not told.startswith(status):
                wrong.append(f"{name} as {who.value}: {told}")
    assert not wrong, "\n".join(wrong)
