"""The tree of checkpoints against a plain model of it, under any sequence of calls."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from openboxd.errors import AlreadyExists, NotFound
from openboxd.model import Checkpoint, CheckpointStatus
from openboxd.store import open_store
from tests.contracts.rows import a_checkpoint, a_machine, furnish

NAMES = st.sampled_from(["a", "b", "c"])
PICK = st.integers(0, 10_000)


class CheckpointTree(RuleBasedStateMachine):
    """The model is a dict of rows and a dict of heads, two machines sharing the names."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._directory = Path(tempfile.mkdtemp(prefix="boxd-tree-"))
        self.store = open_store(self._directory / "boxd.db")
        self.machines = [self._do(furnish(self.store))]
        self.machines.append(a_machine())
        self._do(self.store.add_machine(self.machines[1]))
        self.rows: dict[str, Checkpoint] = {}
        self.heads = {machine.id: "" for machine in self.machines}

    def teardown(self) -> None:
        self.store.close()
        self._runner.close()
        shutil.rmtree(self._directory)

    def _do(self, write: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(write)

    def _pick(self, number: int) -> str:
        """One of the rows, or an id that is unknown."""
        known = [*self.rows, "cp_unknown"]
        return known[number % len(known)]

    def _holder(self, machine: str, name: str) -> Checkpoint | None:
        """Who has the name, failed ones included."""
        shown = (c for c in self.rows.values() if c.status is not CheckpointStatus.REMOVING)
        return next((c for c in shown if (c.machine_id, c.name) == (machine, name)), None)

    def _forget(self, ident: str) -> None:
        gone = self.rows.pop(ident)
        for other in self.rows.values():
            if other.parent == ident:
                self.rows[other.id] = replace(other, parent=gone.parent)
        for machine, head in self.heads.items():
            if head == ident:
                self.heads[machine] = gone.parent

    @rule(which=st.integers(0, 1), name=NAMES)
    def begin(self, which: int, name: str) -> None:
        machine = self.machines[which]
        new = a_checkpoint(machine, name, parent=self.heads[machine.id])
        holder = self._holder(machine.id, name)
        if holder is not None and holder.status is not CheckpointStatus.FAILED:
            with pytest.raises(AlreadyExists):
                self._do(self.store.begin_checkpoint(new))
            return
        self._do(self.store.begin_checkpoint(new))
        if holder is not None:
            self._forget(holder.id)
            new = replace(new, parent=self.heads[machine.id])
        self.rows[new.id] = new

    @rule(number=PICK, pause=st.integers(0, 1 << 40))
    def finish(self, number: int, pause: int) -> None:
        ident = self._pick(number)
        before = self.rows.get(ident) or a_checkpoint(self.machines[0], "a", id=ident)
        ready = replace(before, status=CheckpointStatus.READY, pause_us=pause)
        if ident not in self.rows:
            with pytest.raises(NotFound):
                self._do(self.store.finish_checkpoint(ready))
        elif self._name_is_free(ready):
            self._do(self.store.finish_checkpoint(ready))
            self.rows[ident] = ready
            self.heads[ready.machine_id] = ident
        else:
            with pytest.raises(AlreadyExists):
                self._do(self.store.finish_checkpoint(ready))

    @rule(number=PICK, status=st.sampled_from([CheckpointStatus.FAILED, CheckpointStatus.REMOVING]))
    def leave(self, number: int, status: CheckpointStatus) -> None:
        """A save fails, or a removal begins: from a state in which the worker may do so."""
        ident = self._pick(number)
        if ident not in self.rows:
            with pytest.raises(NotFound):
                self._do(self.store.update_checkpoint(ident, status=status))
        elif self.rows[ident].status in (CheckpointStatus.PENDING, CheckpointStatus.READY):
            self._do(self.store.update_checkpoint(ident, status=status, failure_reason="r"))
            self.rows[ident] = replace(self.rows[ident], status=status, failure_reason="r")

    @rule(number=PICK)
    def delete(self, number: int) -> None:
        ident = self._pick(number)
        self._do(self.store.delete_checkpoint(ident))
        if ident in self.rows:
            self._forget(ident)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self._directory / "boxd.db")

    def _name_is_free(self, checkpoint: Checkpoint) -> bool:
        """Also drops the failed one that has it, as the store does."""
        others = [
            other
            for other in self.rows.values()
            if (other.machine_id, other.name) == (checkpoint.machine_id, checkpoint.name)
            and other.id != checkpoint.id
            and other.status is not CheckpointStatus.REMOVING
        ]
        if any(other.status is not CheckpointStatus.FAILED for other in others):
            return False
        for other in others:
            self._forget(other.id)
        return True

    @invariant()
    def the_store_shows_what_the_model_holds(self) -> None:
        for machine in self.machines:
            mine = [c for c in self.rows.values() if c.machine_id == machine.id]
            shown = [c for c in mine if c.status is not CheckpointStatus.REMOVING]
            shown.sort(key=lambda c: (c.created_at_ms, c.id))
            assert list(self.store.checkpoints(machine.id)) == shown
            for checkpoint in shown:
                assert self.store.checkpoint(machine.id, checkpoint.name) == checkpoint
            found = self.store.machine(machine.id)
            assert found is not None
            assert found.head == self.heads[machine.id]
        removing = {c.id for c in self.rows.values() if c.status is CheckpointStatus.REMOVING}
        assert {c.id for c in self.store.removing_checkpoints()} == removing

    @invariant()
    def nothing_descends_from_what_is_gone(self) -> None:
        for row in self.rows.values():
            assert row.parent == "" or row.parent in self.rows
        for head in self.heads.values():
            assert head == "" or head in self.rows


TestCheckpointTree = CheckpointTree.TestCase
TestCheckpointTree.settings = settings(max_examples=15, stateful_step_count=25)
