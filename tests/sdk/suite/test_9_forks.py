"""Forks: a copy that goes on, what it inherits, and refusals."""

from __future__ import annotations

import time

import pytest
from boxd import errors


def test_a_fork_goes_on_as_a_machine_of_its_own(client, golden):
    run, machines = client.machines.exec, client.machines
    run(golden, "echo forked > forked; nohup sleep 4716 >/dev/null 2>&1 & sleep 1")
    begun = time.monotonic()
    made = machines.fork(golden, "fork-by-sdk", labels={"role": "copy"}, delete_after=3600)
    try:
        machines.wait_until_ready(made.id)
        print(f"\na fork: {time.monotonic() - begun:.1f} s")
        source = machines.get(golden)
        assert made.id != source.id and made.resources == source.resources
        assert (made.source.kind, made.source.name, made.source.version) == ("fork", "golden", None)
        assert made.source.id == source.id and made.labels["role"] == "copy"
        assert run(made.id, "hostname; cat forked; pgrep -fc 'sleep 471[6]'").stdout == "fork-by-sdk\nforked\n1\n"
        assert machines.get(made.id).delete_at is not None
        run(made.id, "echo other > forked")
        assert run(golden, "cat forked; hostname").stdout == "forked\ngolden\n"
        with pytest.raises(errors.ConflictError, match="exists already"):
            machines.fork(golden, "fork-by-sdk")
    finally:
        machines.delete(made.id)
        run(golden, "rm -f forked; pkill -f 'sleep 471[6]'")


def test_what_cannot_be_forked(client, golden):
    with pytest.raises(errors.NotFoundError, match="VM 'ghost' not found"):
        client.machines.fork("ghost")
    with pytest.raises(errors.BoxdError, match="has its hardware"):
        client.machines.fork(golden, "bigger", memory="2G")
    assert "bigger" not in {machine.name for machine in client.machines.list()}
