"""Every call of the API as everybody: over the real service with a fake host, through a real server.

A call without a row in `matrix.ROWS` fails the first test. Refusals are looked at exactly: what a caller may not see
is answered in the words for what does not exist.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
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
from openboxd.model import MIB, Caller, Machine, Membership, Org, OrgRole, User
from tests.api.matrix import COLUMNS, EXPECTED, OWNERS_SSH_KEY, ROWS, Is, Kind, Row, Thing, Who
from tests.worker.world import LIMIT, OWNER, World

FAULTS = ("UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED", "INTERNAL", "UNKNOWN", "no answer")
"""No call that is granted ends so."""

MACHINE_FIELDS = ("vm_id", "vm", "ref", "source_vm_id")
ORG_FIELDS = ("org_id", "org")
ORG_KINDS = (Kind.ORG, Kind.ORG_ADMIN, Kind.ORG_OWNER)
MACHINE_KINDS = (Kind.USE, Kind.MANAGE, Kind.REMOVE, Kind.SHARE, Kind.KEEP, Kind.USAGE)

CALLS: dict[str, MethodDescriptor] = {
    **server.BOXD_API.methods_by_name,
    **{f"Host.{name}": call for name, call in server.HOST.methods_by_name.items()},
}
OFFERED = {*server.METHODS, *(f"Host.{name}" for name in server.HOST_METHODS)}

DOMAIN = "web.owners.example.org"
ORG = Org("o_team", "team", 1)
PEOPLE = {Who.OWNER: OWNER, Who.MEMBER: Caller("u_bob", "key_bob"), Who.OTHER: Caller("u_eve", "key_eve")}


class Stage:
    """A service with three users, an organization, and machines; put in order before each call."""

    def __init__(self, world: World, address: str) -> None:
        self.world, self.address = world, address
        self.tokens: dict[Who, str] = {}
        self.things: dict[Thing, str] = {}
        self.channel = grpc.aio.insecure_channel(address)
        self._orders: set[asyncio.Task[Any]] = set()

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
        await store.put_member(Membership(ORG.id, "u_bob", OrgRole.MEMBER, 1))
        if any(member.user_id == "u_eve" for member in store.members(ORG.id)):
            await store.remove_member(ORG.id, "u_eve")
        for name, owner, shared in (("web", OWNER, True), ("solo", OWNER, False), ("side", OWNER, False)):
            await self._machine(name, owner, shared=shared)
        await self._machine("strange", PEOPLE[Who.OTHER], shared=False)
        if Who.ELSEWHERE not in self.tokens:
            solo = self.find("solo")
            assert solo is not None
            self.tokens[Who.ELSEWHERE] = (await self.world.control.mint_token(solo.id)).token

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

    async def _machine(self, label: str, owner: Caller, *, shared: bool) -> None:
        machine = self.find(label)
        if machine is None:
            new = NewMachine(name=label, vcpu=1, memory_bytes=512 * MIB, labels={"label": label})
            machine = await self.world.control.create_machine(owner, new)
            await self.world.control.team.worker(machine.id).idle()
        if (machine.shared, machine.org_id) != (shared, ORG.id if shared else ""):
            await self.world.store.update_machine(machine.id, shared=shared, org_id=ORG.id if shared else "")

    def find(self, label: str) -> Machine | None:
        """A machine by what it was made as: calls rename them."""
        machines = self.world.store.machines()
        return next((machine for machine in machines if machine.labels.get("label") == label), None)

    def token(self, who: Who) -> str:
        """What this caller proves itself with."""
        speakers = {
            Who.ITSELF: "solo",
            Who.NEIGHBOUR: "side",
            Who.SHARED_ITSELF: "web",
            Who.SHARED_NEIGHBOUR: "web",
            Who.STRANGER: "strange",
        }
        if who not in speakers:
            return self.tokens[who]
        speaker = self.find(speakers[who])
        assert speaker is not None
        return speaking(speaker)

    def target(self, who: Who) -> Machine:
        """The machine that the call is about."""
        private = (Who.ITSELF, Who.NEIGHBOUR, Who.SHARED_NEIGHBOUR)
        machine = self.find("solo" if who in private else "web")
        assert machine is not None
        return machine

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
        request = self.request(name, row, who)
        metadata = () if who is Who.NOBODY else (("authorization", f"Bearer {self.token(who)}"),)
        try:
            async with asyncio.timeout(LIMIT):
                await self._call(name, request, metadata, who)
        except grpc.aio.AioRpcError as error:
            return f"{error.code().name}: {error.details()}"
        except TimeoutError:
            return "no answer"
        return "OK"

    async def _call(self, name: str, request: Message, metadata: Any, who: Who) -> None:
        call = CALLS[name]
        path = f"/{call.containing_service.full_name}/{call.name}"
        arity = f"{'stream' if call.client_streaming else 'unary'}_{'stream' if call.server_streaming else 'unary'}"
        stub = getattr(self.channel, arity)(path, type(request).SerializeToString, bytes)
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
        """Let something happen on the machine again and again, for those who watch it."""
        machine = self.target(who)
        owner = next(caller for caller in PEOPLE.values() if caller.user_id == machine.owner_id)
        while True:
            await self.world.control.team.worker(machine.id).idle()
            await self.world.control.stop_machine(owner, machine.id)
            await self.world.control.start_machine(owner, machine.id)


def speaking(machine: Machine) -> str:
    """What stands here for a call over the machine's own channel, by which alone it is known."""
    return f"machine:{machine.id}"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    world = World(tmp_path)
    control = await world.start()
    authenticate = control.authenticate

    def with_machines(credential: str) -> Caller:
        if credential.startswith("machine:"):
            machine = world.store.machine(credential.removeprefix("machine:"))
            assert machine is not None
            return Caller(machine.owner_id, "", machine.id)
        return authenticate(credential)

    control.authenticate = with_machines  # type: ignore[method-assign]
    async with server.serve(control, "127.0.0.1:0") as address:
        stage = Stage(world, address)
        await stage.furnish()
        yield stage
        await stage.channel.close()
    await world.close()


def expected(row: Row, who: Who) -> Is:
    return Is.UNKNOWN if who not in COLUMNS else EXPECTED[row.kind][COLUMNS.index(who)]


def unseen(stage: Stage, row: Row, machine: Machine) -> str:
    """What somebody is told who may not see what the call is about: what everybody is told of what is not there."""
    if row.kind in ORG_KINDS:
        return f"NOT_FOUND: organization '{ORG.id}' not found"
    for thing in row.fields.values():
        if isinstance(thing, Thing):
            return f"NOT_FOUND: {thing.value.format(stage.things[thing])}"
    return f"NOT_FOUND: VM '{machine.id}' not found"


def agrees(row: Row, who: Who, told: str, unseen: str) -> bool:
    """Whether that is what the caller was to be told."""
    status = told.partition(":")[0]
    match expected(row, who):
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
            if not agrees(row, who, told, unseen(stage, row, machine)):
                wrong.append(f"{name} as {who.value}: {told} instead of {expected(row, who).name}")
    assert not wrong, "\n".join(wrong)


async def test_what_is_not_offered_is_nobodys(stage: Stage) -> None:
    await stage.in_order()
    wrong: list[str] = []
    for name in sorted(ROWS.keys() - OFFERED):
        for who in Who:
            told = await stage.told(name, Row(Kind.LATER), who)
            status = "UNIMPLEMENTED" if who in COLUMNS else "UNAUTHENTICATED"
            if not told.startswith(status):
                wrong.append(f"{name} as {who.value}: {told}")
    assert not wrong, "\n".join(wrong)
