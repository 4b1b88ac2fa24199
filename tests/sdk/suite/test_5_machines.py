"""Machines from their making to their end. Boots are slow without KVM, so few tests do much."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest
from boxd import errors

NAME = "made-by-sdk"


@pytest.fixture(scope="module")
def made(client):
    """A machine that the SDK made, with its defaults where nothing is said."""
    begun = time.monotonic()
    machine = client.machines.create(
        name=NAME, vcpu=1, memory="1G", labels={"env": "test"}, idle_ignore_outbound=True, delete_after=3000
    )
    assert machine.status in ("pending", "starting", "running")
    client.machines.wait_until_ready(machine.id, timeout=180)
    print(f"\ncreate until ready: {time.monotonic() - begun:.1f} s")
    yield machine.id
    client.machines.delete(machine.id)
    with pytest.raises(errors.NotFoundError):
        client.machines.get(machine.id)


def test_what_is_told_of_a_machine(client, made):
    machine = client.machines.get(NAME)
    assert (machine.id, machine.status, machine.restart_policy) == (made, "running", "always")
    assert (machine.resources.vcpu, machine.resources.memory_bytes) == (1, 2**30)
    assert machine.resources.disk_bytes > 2**30
    assert machine.boot_time_ms and machine.boot_time_ms > 0
    assert abs(machine.created_at.timestamp() - time.time()) < 600
    assert machine.created_by == client.account.get().user_id and machine.created_by_name
    assert machine.access.url == f"https://{NAME}.{client.account.config().zone}"
    assert (machine.idle.suspend_after, machine.idle.hibernate_after) == (0, 0)
    assert machine.idle_ignore_outbound is True
    assert timedelta(0) < machine.delete_at - datetime.now(UTC) < timedelta(seconds=3001)
    deadline = time.monotonic() + 60
    while client.machines.get(made).last_connected_at is None:
        assert time.monotonic() < deadline


def test_labels_and_lists(client, made):
    machines = client.machines
    assert machines.update_labels(made, {"team": "a", "env": "prod"}, ["none"]) == {"env": "prod", "team": "a"}
    assert [m.name for m in machines.list(labels={"env": "prod"})] == [NAME]
    assert [m.name for m in machines.list(labels=["team", "env=prod"])] == [NAME]
    assert machines.list(labels={"env": "test"}) == []
    assert len(machines.list()) == 2
    assert machines.update_labels(made, replace_all=True) == {}
    for wrong in ({"Up": "1"}, {"boxd/a": "1"}, {"a": "x" * 257}, {"a": "b\nc"}):
        with pytest.raises(errors.APIStatusError):
            machines.update_labels(made, wrong)
    with pytest.raises(errors.NotFoundError):
        machines.list(org="somebody")
    assert len({machines.suggest_name() for _ in range(5)}) > 1  # two may be the same by chance


def test_timers_and_settings(client, made):
    machines = client.machines
    far = datetime.now(UTC) + timedelta(hours=12)  # it is armed in earnest
    cron = f"{far.minute} {far.hour} * * *"
    at = machines.set_delete_after(made, cron=cron)
    assert (at.hour, at.minute, at > datetime.now(UTC)) == (far.hour, far.minute, True)
    assert machines.get(made).delete_after_cron == cron
    assert machines.set_delete_after(made, 0) is None
    assert machines.get(made).delete_at is None
    with pytest.raises(errors.APIStatusError):
        machines.set_delete_after(made, cron="whenever")
    machines.set_idle_ignore_outbound(made, False)
    machines.set_bot_protection(made, mode="sleep_only")
    machines.set_auto_suspend_timeout(made, 0)
    machines.set_auto_hibernate_timeout(made, 0)
    machine = machines.get(made)
    assert (machine.idle_ignore_outbound, machine.bot_protection_mode) == (False, "sleep_only")


def test_rename_reboots_and_never_shows_stopped(client, async_client, made):
    async def watched():
        seen, done = set(), asyncio.Event()

        async def watch(other):
            while not done.is_set():
                seen.add((await other.machines.get(made)).status)
                await asyncio.sleep(0.2)

        async with async_client() as other:
            watching = asyncio.ensure_future(watch(other))
            begun = time.monotonic()
            name = await other.machines.rename(made, "renamed-by-sdk")
            print(f"\nrename with its reboot: {time.monotonic() - begun:.1f} s")
            done.set()
            await watching
        return name, seen

    name, seen = asyncio.run(watched())
    assert name == "renamed-by-sdk" and seen <= {"running", "starting"}
    client.machines.wait_until_ready(name)
    assert client.machines.exec(name, "cat /proc/sys/kernel/hostname").stdout == "renamed-by-sdk\n"
    with pytest.raises(errors.NotFoundError):
        client.machines.get(NAME)
    with pytest.raises(errors.ConflictError):
        client.machines.rename(made, "golden")


def test_stop_resize_rename_while_stopped(client, made):
    machines = client.machines
    machines.stop(made)
    assert machines.get(made).status == "stopped"
    machines.stop(made)
    with pytest.raises(errors.ConflictError, match="start it first"):
        machines.exec(made, "true")
    with pytest.raises(errors.BoxdError, match="terminal state"):
        machines.wait_until_ready(made, timeout=1)
    with pytest.raises(errors.ConflictError):
        machines.checkpoints.create(made, "never")
    with pytest.raises(errors.ConflictError):
        machines.reboot(made)
    result = machines.resize(made, vcpu=2, memory="2G")
    assert (result.vcpu, result.memory_bytes, result.rebooted) == (2, 2 * 2**30, False)
    with pytest.raises(errors.APIStatusError):
        machines.resize(made, vcpu=99)
    assert machines.rename(made, NAME) == NAME
    assert machines.get(made).status == "stopped"
