"""Snapshots: saved, versioned, and machines made from them."""

from __future__ import annotations

import time

import pytest
from boxd import errors

NAME = "base-by-sdk"


def saved(client, version):
    """The snapshot once this version is ready."""
    deadline = time.monotonic() + 120
    while True:
        found = client.snapshots.get(NAME)
        if found.status != "pending":
            assert (found.status, found.version) == ("ready", version)
            return found
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_versions_of_a_snapshot_and_a_machine_from_one(client, golden):
    run, snapshots, machines = client.machines.exec, client.snapshots, client.machines
    run(golden, "echo old > snapped; nohup sleep 4715 >/dev/null 2>&1 & sleep 1")
    created = snapshots.create(golden, NAME)
    assert (created.name, created.version, created.status, created.paused_automations) == (NAME, 1, "pending", 0)
    first = saved(client, 1)
    assert first.id == created.id == snapshots.get(created.id).id and first.size_bytes > 0
    assert (first.vcpu, first.memory_bytes) == (1, 2**30)
    assert (first.use_count, first.storage, first.archived) == (0, "local", False)
    assert abs(first.created_at.timestamp() - time.time()) < 3600

    run(golden, "echo new > snapped; pkill -f 'sleep 471[5]'")
    begun = time.monotonic()
    made = machines.create("from-snapshot", from_snapshot=NAME, labels={"role": "copy"})
    try:
        machines.wait_until_ready(made.id)
        print(f"\na machine from a snapshot: {time.monotonic() - begun:.1f} s")
        assert (made.source.kind, made.source.name, made.source.version) == ("snapshot", NAME, 1)
        assert made.source.id == first.id and made.labels == {"role": "copy"}
        assert run(made.id, "hostname; cat snapped; pgrep -fc 'sleep 471[5]'").stdout == "from-snapshot\nold\n1\n"
        assert run(golden, "hostname; cat snapped").stdout == "golden\nnew\n"
        assert snapshots.get(NAME).use_count == 1

        again = snapshots.create(golden, NAME)
        assert (again.id, again.version) == (first.id, 2)
        second = saved(client, 2)
        assert second.created_at == first.created_at and second.updated_at > first.updated_at
        assert [row.name for row in snapshots.list()] == [NAME]

        snapshots.delete(NAME)
        assert snapshots.list() == []
        assert run(made.id, "cat snapped").stdout == "old\n", "the machine needs it no more"
    finally:
        machines.delete(made.id)
        run(golden, "rm -f snapped")


def test_its_rules(client, golden):
    for call in (client.snapshots.get, client.snapshots.delete):
        with pytest.raises(errors.NotFoundError, match="snapshot not found"):
            call("ghost")
    with pytest.raises(errors.NotFoundError, match="snapshot not found"):
        client.machines.create("never", from_snapshot="ghost")
    with pytest.raises(errors.NotFoundError, match="VM 'ghost' not found"):
        client.snapshots.create("ghost", NAME)
    for name in ("Up", "a/b", "../up", ""):
        with pytest.raises(errors.APIStatusError) as caught:
            client.snapshots.create(golden, name)
        assert caught.value.code == "invalid_argument"
    assert client.snapshots.list() == []
