"""Users, organizations, sharing and usage at the command line, against the real service on a fake host."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.api.server import serve
from openboxd.control import accounts
from openboxd.model import MIB, Caller
from tests.cli.conftest import Boxd
from tests.worker.world import OWNER, World


@dataclass
class House:
    """A service, and a command for each of its users."""

    world: World
    address: str
    root: Path
    ada: Boxd

    def user(self, name: str, key: str) -> Boxd:
        home = self.root / name
        home.mkdir()
        return Boxd(self.address, home, key)

    async def add(self, name: str) -> Boxd:
        """Add a user as the owner of the host does it."""
        made = await self.ada("admin", "user", "add", name)
        assert (made.status, len(made.text.strip())) == (0, 44), made.err
        return self.user(name, made.text.strip())

    async def machine(self, name: str, owner: Caller = OWNER) -> None:
        new = NewMachine(name=name, vcpu=1, memory_bytes=512 * MIB)
        machine = await self.world.control.create_machine(owner, new)
        await self.world.control.team.worker(machine.id).idle()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    world, key = World(tmp_path / "world"), accounts.new_key()
    control = await world.start()
    await accounts.add_api_key(world.store, OWNER.user_id, "owner", key)
    await world.image()
    async with serve(control, "127.0.0.1:0") as address:
        house = House(world, address, tmp_path, None)  # type: ignore[arg-type]
        house.ada = house.user("ada", key)
        yield house
    await world.close()


async def test_users_come_and_go(house: House) -> None:
    bob = await house.add("bob")
    assert (await bob("auth")).text.split()[:2] == ["user:", "bob"]
    assert "owner of the host: yes" in (await house.ada("auth")).text
    refused = await bob("admin", "user", "list")
    assert refused.err == "error: only the owner of this host can see the users; nothing was changed\n"
    listed = (await house.ada("admin", "user", "ls")).text.splitlines()
    assert [line.split()[:3] for line in listed[1:]] == [["ada", "*", "0"], ["bob", "-", "0"]]
    another = await house.ada("admin", "user", "key", "bob", "--only", "-y")
    assert (await bob("auth")).status == 1
    bob = house.user("bob-again", another.text.strip())
    assert (await bob("auth")).text.split()[:2] == ["user:", "bob"]
    await house.machine("bobs", house.world.control.authenticate(bob.environ["BOXD_API_KEY"]))
    kept = await house.ada("admin", "user", "rm", "bob", "-y")
    assert (
        kept.status,
        "they own bobs; remove these machines first, or with the user (--remove-machines)" in kept.err,
    ) == (1, True)
    assert (await house.ada("admin", "user", "rm", "bob")).status == 2  # it asks, and there is no terminal
    gone = await house.ada("admin", "user", "remove", "bob", "--remove-machines", "-y", "--json")
    assert gone.json == {"name": "bob", "removed": True, "machines": ["bobs"]}
    assert (await bob("auth")).status == 1


async def test_a_quota(house: House) -> None:
    bob = await house.add("bob")
    shown = (await house.ada("admin", "user", "quota", "bob", "--machines", "1", "--memory", "2G")).text
    assert [line.split() for line in shown.splitlines()[1:]] == [
        ["machines", "0", "1"],
        ["vcpu", "0", "none"],
        ["memory", "0B", "2.0G"],
        ["pool", "0B", "none"],
    ]
    big = await bob("machine", "new", "big", "--memory", "4G")
    assert big.err == (
        "error: machine 'big' was not made and nothing was started: its owner has 0.0 GiB of 2.0 GiB of memory of "
        "running machines, and 4.0 GiB more were asked for; stop a machine, or ask the owner of this host for more\n"
    )
    data = (await house.ada("admin", "user", "quota", "bob", "--memory", "none", "--json")).json
    assert data["quota"] == {"machines": 1, "vcpu": None, "memory_bytes": None, "pool_bytes": None}
    assert (await house.ada("admin", "user", "quota", "bob", "--vcpu", "many")).status == 2


async def test_a_machine_is_shared_in_an_organization(house: House) -> None:
    bob = await house.add("bob")
    await house.machine("web")
    assert (await house.ada("org", "new", "team")).text == "organization team was made\n"
    invited = await house.ada("org", "invite", "team", "bob@example.org")
    assert invited.text.startswith("bxi_") and "is member of team" in invited.err
    members = (await house.ada("org", "member", "list", "--json")).json
    assert [one["email"] for one in members["invites"]] == ["bob@example.org"]
    for nothing in (None, b"", b" \n"):
        empty = await bob("org", "join", feed=nothing)
        assert (empty.status, "no token was given" in empty.err) == (2, True), empty
    assert (await bob("org", "join", feed=invited.out)).text == "you are in organization team\n"
    assert (await bob("machine", "get", "web")).err == "error: VM 'web' not found\n"
    shared = await house.ada("machine", "share", "web", "--json")
    assert shared.json == {"name": "web", "sharing": "shared", "org": "team"}
    listed = (await bob("machine", "list", "--json")).json
    assert [(one["name"], one["sharing"]) for one in listed] == [("web", "shared")]
    assert (await bob("machine", "list")).text.splitlines()[1].split()[-2:] == ["ada", "team"]
    assert (await bob("machine", "get", "web", "--json")).json["org"] == "team"
    assert (await bob("machine", "exec", "web", "--", "write", "x", "bob")).status == 0
    saved = await bob("machine", "checkpoint", "save", "web", "bobs", "--json")
    assert (saved.json["name"], saved.json["created_by_name"]) == ("bobs", "bob")
    listed = (await house.ada("machine", "checkpoint", "list", "web")).text
    assert listed.splitlines()[1].split()[-1] == "bob"
    refused = await bob("machine", "remove", "web", "-y")
    assert (refused.status, "only the owner of machine 'web' and the admins" in refused.err) == (1, True)
    assert (await house.ada("org", "member", "role", "team", "bob", "admin")).status == 0
    assert "only the owner of machine 'web' can share it" in (await bob("machine", "unshare", "web")).err
    assert (await house.ada("machine", "unshare", "web")).text == "machine web is private\n"
    assert (await bob("machine", "list", "--json")).json == []
    assert [one["name"] for one in (await bob("auth", "--json")).json["organizations"]] == ["team"]
    assert (await bob("org", "leave", "team", "-y")).status == 0
    assert (await house.ada("org", "rm", "team", "-y", "--json")).json == {"name": "team", "removed": True}


async def test_a_machine_can_be_made_for_an_organization(house: House) -> None:
    await house.ada("org", "add", "team")
    made = await house.ada("machine", "new", "web", "--vcpu", "1", "--memory", "512M", "--org", "team", "--shared")
    assert made.status == 0, made.err
    assert [one["name"] for one in (await house.ada("machine", "ls", "--org", "team", "--json")).json] == ["web"]
    for name, options in (("mine", ()), ("ours", ("--shared",))):
        made = await house.ada("machine", "fork", "web", name, *options)
        assert made.status == 0, made.err
    listed = (await house.ada("machine", "ls", "--json")).json
    assert {one["name"]: one["sharing"] for one in listed} == {"web": "shared", "mine": "private", "ours": "shared"}
    unknown = await house.ada("machine", "ls", "--org", "none")
    assert unknown.err == "error: organization 'none' not found\n"


async def test_usage(house: House) -> None:
    await house.machine("web")
    await house.machine("gone")
    await house.world.save("one")
    await house.ada("machine", "remove", "gone", "-y")
    found = (await house.ada("machine", "usage", "--json")).json
    by_name = {one["name"]: one for one in found["machines"]}
    assert (by_name["gone"]["status"], by_name["web"]["status"]) == ("deleted", "running")
    assert found["rates"] == {"vcpu_hour": 0, "memory_gib_hour": 0, "disk_gib_hour": 0}
    assert {one["cost"] for one in found["machines"]} == {0}
    text = (await house.ada("machine", "usage")).text
    assert text.splitlines()[0].split()[:4] == ["NAME", "STATUS", "RUNNING", "ASLEEP"]
    one = await house.ada("machine", "usage", "gone")
    assert one.text.splitlines()[0].split() == ["name:", "gone"]
    assert (await house.ada("machine", "usage", "ghost")).err == "error: VM 'ghost' not found\n"
    early = await house.ada("machine", "usage", "--since", "2020-01-01", "--until", "2020-02-01", "--json")
    assert {one["vcpu_hours"] for one in early.json["machines"]} == {0.0}
