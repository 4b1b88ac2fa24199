"""What every store must do. Subclasses provide the fixture `store`."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from openboxd.errors import AlreadyExists, NotFound, WrongState
from openboxd.model import (
    MIB,
    ApiKey,
    Event,
    MachineStatus,
    Outcome,
    Size,
    SshKey,
    User,
)
from openboxd.store import SqlStore, events
from tests.contracts.rows import IMAGE, OWNER, a_machine, furnish
from tests.contracts.store_captures import CheckpointContract, SnapshotContract


class MachineContract:
    """Machines, their names and addresses."""

    async def test_a_machine_reads_as_it_was_written(self, store: SqlStore) -> None:
        machine = await furnish(
            store,
            labels={"team": "web", "ключ": 'va"l', "empty": ""},
            status=MachineStatus.RUNNING,
            status_reason="because",
            restart_policy="never",
            run_id="0123456789ab",
            boot_time_ms=17,
            head="cp_x",
            disk_bytes=1 << 45,
        )
        assert store.machine(machine.id) == machine
        assert store.machine_named(machine.name) == machine
        assert store.machine_of_run("0123456789ab") == machine
        assert list(store.machines()) == [machine]

    def test_unknown_things_read_as_nothing(self, store: SqlStore) -> None:
        assert store.machine("nope") is None
        assert store.machine_named("nope") is None
        assert store.machine_of_run("nope") is None and store.machine_of_run("") is None
        assert store.image("nope") is None
        assert store.image_named("nope") is None
        assert store.user("nope") is None
        assert store.api_key_by_digest("nope") is None
        assert store.checkpoint("nope", "nope") is None
        for listing in (store.checkpoints("x"), store.api_keys("x"), store.ssh_keys("x"), store.users()):
            assert list(listing) == []

    async def test_machines_are_listed_oldest_first(self, store: SqlStore) -> None:
        late = await furnish(store, created_at=30)
        early = await furnish(store, created_at=10)
        middle = await furnish(store, created_at=20)
        assert list(store.machines()) == [early, middle, late]

    @pytest.mark.parametrize("field", ["id", "name", "address", "mac"])
    async def test_what_identifies_a_machine_is_unique(self, store: SqlStore, field: str) -> None:
        first = await furnish(store)
        with pytest.raises(AlreadyExists, match=r"in use|already exists|is machine"):
            await store.add_machine(a_machine(**{field: getattr(first, field)}))
        assert list(store.machines()) == [first]

    async def test_of_many_adds_of_one_name_exactly_one_wins(self, store: SqlStore) -> None:
        await furnish(store)
        adds = [store.add_machine(a_machine(name="web")) for _ in range(20)]
        outcomes = await asyncio.gather(*adds, return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyExists"] * 19 + ["NoneType"]
        assert [machine.name for machine in store.machines()].count("web") == 1

    async def test_a_destroyed_machine_keeps_its_row_and_frees_its_name(self, store: SqlStore) -> None:
        old = await furnish(store)
        await store.update_machine(old.id, status=MachineStatus.DESTROYING)
        with pytest.raises(AlreadyExists):
            await store.add_machine(a_machine(name=old.name))
        gone = await store.update_machine(old.id, status=MachineStatus.DESTROYED)
        new = a_machine(name=old.name, address=old.address, mac=old.mac)
        await store.add_machine(new)
        assert store.machine(old.id) == gone
        assert store.machine_named(old.name) == new
        assert list(store.machines()) == [new]
        with pytest.raises(AlreadyExists):
            await store.update_machine(old.id, status=MachineStatus.STOPPED)

    async def test_an_update_sets_its_fields_only_and_answers_the_new_state(self, store: SqlStore) -> None:
        machine = await furnish(store, labels={"a": "1"})
        after = await store.update_machine(
            machine.id, status=MachineStatus.RUNNING, size=Size(4, 1024 * MIB), labels={"b": "2"}, run_id="ab"
        )
        expected = replace(
            machine, status=MachineStatus.RUNNING, size=Size(4, 1024 * MIB), labels={"b": "2"}, run_id="ab"
        )
        assert after == expected == store.machine(machine.id)
        assert await store.update_machine(machine.id) == expected

    async def test_updates_that_cannot_be_change_nothing(self, store: SqlStore) -> None:
        first, second = await furnish(store), await furnish(store)
        with pytest.raises(NotFound):
            await store.update_machine("nope", status=MachineStatus.RUNNING)
        with pytest.raises(AlreadyExists, match=first.name):
            await store.update_machine(second.id, name=first.name, status=MachineStatus.RUNNING)
        with pytest.raises(TypeError, match="colour"):
            await store.update_machine(second.id, colour="red")
        with pytest.raises(TypeError):
            await store.update_machine(second.id, id="other")
        assert list(store.machines()) == [first, second]

    async def test_addresses_in_use_are_those_of_machines_alive(self, store: SqlStore) -> None:
        first, second = await furnish(store), await furnish(store)
        await store.update_machine(first.id, status=MachineStatus.DESTROYED)
        assert set(store.addresses_in_use()) == {second.address}

    async def test_the_settings_of_a_machine_are_kept(self, store: SqlStore) -> None:
        machine = await furnish(store)
        values = {
            "last_connected_ms": 1_795_000_000_000,
            "delete_at_ms": 1_795_000_000_001,
            "delete_after_secs": 60,
            "delete_after_cron": "0 3 * * *",
            "idle_ignore_outbound": True,
            "bot_protection": "sleep_only",
        }
        await store.update_machine(machine.id, **values)
        assert store.machine(machine.id) == replace(machine, **values)


class JournalContract:
    """Operations under way."""

    async def test_an_operation_is_open_until_it_is_ended(self, store: SqlStore) -> None:
        first = await store.begin_operation("m1", "save", {"checkpoint": "cp_a", "deep": {"list": [1, None]}})
        second = await store.begin_operation("m2", "restore", {})
        await store.step_operation(first, "pause", run="ab")
        await store.step_operation(first, "publish", run="cd")
        found = list(store.open_operations())
        assert [(o.id, o.machine_id, o.kind, o.step) for o in found] == [
            (first, "m1", "save", "publish"),
            (second, "m2", "restore", ""),
        ]
        assert found[0].detail == {"checkpoint": "cp_a", "deep": {"list": [1, None]}, "run": "cd"}
        assert 0 < found[0].started_at_ms <= found[1].started_at_ms
        await store.end_operation(first)
        await store.end_operation(first)
        assert [o.id for o in store.open_operations()] == [second]

    async def test_ids_are_never_given_out_twice(self, store: SqlStore) -> None:
        first = await store.begin_operation("m", "save", {})
        await store.end_operation(first)
        second = await store.begin_operation("m", "save", {})
        assert second > first
        await store.step_operation(first, "late")
        assert [(o.id, o.step) for o in store.open_operations()] == [(second, "")]

    async def test_detail_that_json_cannot_hold_is_refused(self, store: SqlStore) -> None:
        with pytest.raises(TypeError):
            await store.begin_operation("m", "save", {"path": object()})
        assert list(store.open_operations()) == []

    async def test_facts_are_kept_by_name(self, store: SqlStore) -> None:
        assert store.fact("boot") == ""
        await store.keep_fact("boot", "one")
        await store.keep_fact("other", "x")
        await store.keep_fact("boot", "two")
        assert (store.fact("boot"), store.fact("other")) == ("two", "x")


class ImageContract:
    """Images, and the machines that need them."""

    async def test_images_are_found_by_digest_and_newest_by_name(self, store: SqlStore) -> None:
        old = replace(IMAGE, digest="a", created_at=5)
        new = replace(IMAGE, digest="b", created_at=9)
        other = replace(IMAGE, digest="c", created_at=7, name="alpine")
        for image in (new, old, other):
            await store.add_image(image)
        await store.add_image(replace(old, name="changed"))
        assert store.image("a") == old
        assert store.image_named("debian") == new
        assert list(store.images()) == [new, other, old]

    async def test_an_image_in_use_stays(self, store: SqlStore) -> None:
        machine = await furnish(store)
        with pytest.raises(WrongState, match=machine.name):
            await store.delete_image(IMAGE.digest)
        assert list(store.machines_using_image(IMAGE.digest)) == [machine]
        assert store.image(IMAGE.digest) == IMAGE
        await store.update_machine(machine.id, status=MachineStatus.DESTROYED)
        await store.delete_image(IMAGE.digest)
        await store.delete_image(IMAGE.digest)
        assert store.image(IMAGE.digest) is None
        assert store.machine(machine.id) is not None

    async def test_no_machine_is_made_from_an_image_that_is_gone(self, store: SqlStore) -> None:
        with pytest.raises(NotFound, match="debian"):
            await store.add_machine(a_machine())
        assert list(store.machines()) == []


class AccountContract:
    """Users and their keys."""

    async def test_users(self, store: SqlStore) -> None:
        await store.add_user(OWNER)
        with pytest.raises(AlreadyExists):
            await store.add_user(User(OWNER.id, "Somebody else"))
        assert list(store.users()) == [OWNER]
        assert store.user(OWNER.id) == OWNER

    async def test_api_keys(self, store: SqlStore) -> None:
        await store.add_user(OWNER)
        first = ApiKey("key_1", OWNER.id, "laptop", "bxd_abcd", 100, 0, 900)
        second = ApiKey("key_2", OWNER.id, "ci", "bxd_efgh", 50)
        await store.add_api_key(first, "digest-1")
        await store.add_api_key(second, "digest-2")
        assert store.api_key_by_digest("digest-1") == first
        assert list(store.api_keys(OWNER.id)) == [second, first]
        for clash in (replace(first, id="key_3"), replace(first, id="key_1")):
            with pytest.raises(AlreadyExists):
                await store.add_api_key(clash, "digest-1" if clash.id == "key_3" else "digest-3")
        with pytest.raises(NotFound):
            await store.add_api_key(replace(first, id="key_9", user_id="u_nobody"), "digest-9")
        await store.touch_api_key("key_1", 200)
        await store.touch_api_key("key_1", 150)
        assert store.api_key_by_digest("digest-1") == replace(first, last_used_at=200)
        await store.delete_api_key("key_1")
        await store.delete_api_key("key_1")
        await store.touch_api_key("key_1", 300)
        assert store.api_key_by_digest("digest-1") is None
        assert list(store.api_keys(OWNER.id)) == [second]

    async def test_ssh_keys_one_per_device(self, store: SqlStore) -> None:
        await store.add_user(OWNER)
        other = User("u_other", "Other")
        await store.add_user(other)
        plain = SshKey(OWNER.id, "ssh-ed25519 AAAA1", "SHA256:a")
        first = SshKey(OWNER.id, "ssh-ed25519 AAAA2", "SHA256:b", "dev-1", "laptop")
        renewed = SshKey(OWNER.id, "ssh-ed25519 AAAA3", "SHA256:c", "dev-1", "laptop")
        foreign = SshKey(other.id, "ssh-ed25519 AAAA2", "SHA256:b", "dev-1")
        for key in (plain, plain, first, first, foreign):
            await store.link_ssh_key(key)
        assert list(store.ssh_keys(OWNER.id)) == [plain, first]
        await store.link_ssh_key(renewed)
        assert list(store.ssh_keys(OWNER.id)) == [plain, renewed]
        await store.link_ssh_key(replace(plain, label="named"))
        assert list(store.ssh_keys(OWNER.id)) == [replace(plain, label="named"), renewed]
        await store.unlink_ssh_key(OWNER.id, plain.fingerprint)
        await store.unlink_ssh_key(OWNER.id, plain.fingerprint)
        assert list(store.ssh_keys(OWNER.id)) == [renewed]
        assert list(store.ssh_keys(other.id)) == [foreign]
        with pytest.raises(NotFound):
            await store.link_ssh_key(replace(plain, user_id="u_nobody"))


class EventContract:
    """The event log of machines."""

    async def test_events_come_back_as_they_were_oldest_first(self, store: SqlStore) -> None:
        first = Event("m-1", 5, "u_1", "save", "a", Outcome.OK, 700)
        second = Event("m-1", 3, "", "run ended", "", Outcome.FAILED, 0, "QEMU was killed by signal 9")
        for event in (first, Event("m-2", 4, "u_1", "stop", "", Outcome.OK), second):
            await store.add_event(event)
        assert list(store.events("m-1", 10)) == [first, second]
        assert list(store.events("m-1", 1)) == [second]
        assert list(store.events("m-3", 10)) == []

    async def test_only_the_newest_are_kept_of_each_machine(self, store: SqlStore) -> None:
        other = Event("m-2", 0, "", "start", "", Outcome.OK)
        await store.add_event(other)
        many = [Event("m-1", number, "", "save", f"c{number}", Outcome.OK) for number in range(events.KEPT + 5)]
        for event in many:
            await store.add_event(event)
        assert list(store.events("m-1", 2 * events.KEPT)) == many[5:]
        assert list(store.events("m-2", 5)) == [other]


class StoreContract(
    MachineContract,
    CheckpointContract,
    SnapshotContract,
    JournalContract,
    EventContract,
    ImageContract,
    AccountContract,
):
    """Every store must pass; subclasses provide the fixture `store`."""
