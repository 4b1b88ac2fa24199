"""Machines that sleep: pause and resume, hibernate and wake, and the timers that do it by themselves."""

from __future__ import annotations

import time

import pytest
from boxd import errors

LIMIT = 60.0


def until(client, machine, status):
    deadline = time.monotonic() + LIMIT
    while (now := client.machines.get(machine).status) != status:
        assert time.monotonic() < deadline, f"it is {now} and never became {status}"
        time.sleep(0.1)


def test_pause_and_resume(client, golden):
    assert client.machines.pause(golden).suspend_us > 0
    assert client.machines.get(golden).status == "suspended"
    client.machines.pause(golden)
    resumed = client.machines.resume(golden).resume_us
    print(f"\nresumed after {resumed / 1000:.1f} ms")
    assert client.machines.get(golden).status == "running"
    assert client.machines.resume(golden).resume_us == 0, "success where it runs"


def test_hibernate_and_wake(client, golden):
    client.machines.exec(golden, "echo kept > /dev/shm/kept")
    client.machines.hibernate(golden)
    asleep = client.machines.get(golden)
    assert (asleep.status, abs(asleep.hibernated_at.timestamp() - time.time()) < 60) == ("hibernated", True)
    with pytest.raises(errors.ConflictError, match="it is hibernated"):
        client.machines.checkpoints.create(golden, "asleep")
    with pytest.raises(errors.ConflictError, match="cannot be resized while it is hibernated"):
        client.machines.resize(golden, vcpu=2)
    began = time.monotonic()
    client.machines.wake(golden)
    print(f"\nwoken after {1000 * (time.monotonic() - began):.0f} ms")
    awake = client.machines.get(golden)
    assert (awake.status, awake.hibernated_at) == ("running", None)
    assert client.machines.exec(golden, "cat /dev/shm/kept").stdout == "kept\n"


def test_a_command_wakes(client, golden):
    client.machines.hibernate(golden)
    assert client.machines.exec(golden, "echo awake").stdout == "awake\n"
    client.machines.pause(golden)
    assert client.machines.files.list_dir(golden, "/").entries and client.machines.get(golden).status == "running"


def test_a_stopped_machine_has_nothing_to_pause(client, golden):
    client.machines.stop(golden)
    for call in (client.machines.pause, client.machines.hibernate, client.machines.wake):
        with pytest.raises(errors.ConflictError, match="while it is stopped"):
            call(golden)
    client.machines.checkpoints.restore(golden, "booted")


def test_timers_put_it_to_sleep(client, golden):
    client.machines.set_idle_ignore_outbound(golden, True)
    client.machines.set_auto_suspend_timeout(golden, 1)
    client.machines.set_auto_hibernate_timeout(golden, 4)
    idle = client.machines.get(golden).idle
    assert (idle.suspend_after, idle.hibernate_after) == (1, 4)
    until(client, golden, "suspended")
    until(client, golden, "hibernated")
    client.machines.set_auto_suspend_timeout(golden, 0)
    client.machines.set_auto_hibernate_timeout(golden, 0)
    assert client.machines.exec(golden, "echo back").stdout == "back\n"
    assert client.machines.get(golden).idle.suspend_after == 0
