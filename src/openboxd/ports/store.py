"""What is remembered: machines, checkpoints, the journal, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from openboxd.model import (
    Checkpoint,
    CustomDomain,
    Event,
    ExposedPort,
    Image,
    Machine,
    Operation,
    Route,
    Snapshot,
)


class Store(Protocol):
    """What the worker keeps. Reads are plain calls; writes are awaited and durable when they return, and each
    is one transaction. Names and ids that do not exist read as None."""

    def machine(self, machine_id: str) -> Machine | None:
        """The machine with this id, destroyed ones included."""
        ...

    def machines(self) -> Sequence[Machine]:
        """All machines but the destroyed ones, oldest first."""
        ...

    def image(self, digest: str) -> Image | None:
        """The image of this digest."""
        ...

    def checkpoint(self, machine_id: str, name: str) -> Checkpoint | None:
        """A machine's checkpoint by name; those being removed are not seen."""
        ...

    def checkpoints(self, machine_id: str, *, removing: bool = False) -> Sequence[Checkpoint]:
        """A machine's checkpoints, oldest first (created_at_ms, then id); `removing`: also those on their way out."""
        ...

    def removing_checkpoints(self) -> Sequence[Checkpoint]:
        """Checkpoints of all machines whose bytes are on their way out."""
        ...

    async def add_machine(self, machine: Machine) -> None:
        """Raises AlreadyExists if name (among those alive), address or mac is taken."""
        ...

    async def update_machine(self, machine_id: str, **values: Any) -> Machine:
        """Set fields; the new state. Raises NotFound; AlreadyExists for a name in use."""
        ...

    async def begin_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add a pending row; a failed one of the same name is replaced. Raises AlreadyExists."""
        ...

    async def update_checkpoint(self, checkpoint_id: str, **values: Any) -> None:
        """Set fields. Raises NotFound."""
        ...

    async def finish_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Write the row as given (ready) and make it its machine's `head`, in one transaction."""
        ...

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Forget the row; a machine or checkpoint that descended from it descends from its parent instead."""
        ...

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The snapshot with this id."""
        ...

    def snapshots(self) -> Sequence[Snapshot]:
        """Snapshots of all accounts, oldest first (created_at_ms, then id)."""
        ...

    async def begin_snapshot(self, snapshot: Snapshot) -> Snapshot:
        """Note that a version is being saved, of the owner's snapshot of this name if there is one; the row now.

        A row of which no version was ever saved makes way for the one given. Raises Busy: one is being saved.
        """
        ...

    async def add_snapshot(self, snapshot: Snapshot) -> None:
        """Raises AlreadyExists if its id, or its name among the owner's, is taken."""
        ...

    async def update_snapshot(self, snapshot_id: str, **values: Any) -> None:
        """Set fields. Raises NotFound."""
        ...

    async def delete_snapshot(self, snapshot_id: str) -> None:
        """Forget the row. Harmless twice. Raises Busy: a version is being saved."""
        ...

    async def begin_operation(self, machine_id: str, kind: str, detail: Mapping[str, Any]) -> int:
        """Journal an operation; its id."""
        ...

    async def step_operation(self, operation_id: int, step: str, **detail: Any) -> None:
        """Journal that a step is being entered; `detail` is merged into the operation's detail."""
        ...

    async def end_operation(self, operation_id: int) -> None:
        """Forget the operation. Harmless twice."""
        ...

    async def add_event(self, event: Event) -> None:
        """Append to a machine's event log; the oldest beyond the limit are forgotten."""
        ...

    def events(self, machine_id: str, limit: int) -> Sequence[Event]:
        """The last `limit` events of a machine, oldest first."""
        ...

    def open_operations(self) -> Sequence[Operation]:
        """Operations that were begun and not ended, oldest first."""
        ...

    def routes(self, machine_id: str) -> Sequence[Route]:
        """A machine's routes, by name; the default one (an empty name) only while its port is pinned."""
        ...

    def exposed_ports(self, machine_id: str) -> Sequence[ExposedPort]:
        """A machine's exposed ports, by port."""
        ...

    def custom_domains(self, machine_id: str = "") -> Sequence[CustomDomain]:
        """Domains of people's own, those of one machine or of all, by name."""
        ...

    async def weigh_usage(self, machine_id: str, disk_bytes: int, checkpoint_bytes: int) -> None:
        """A machine's files have these sizes from now on. Nothing happens for one that is gone."""
        ...

    async def beat_usage(self) -> None:
        """A sign of life: whatever machines are has gone on until now."""
        ...

    async def pause_usage(self) -> None:
        """What machines are since the last sign of life is not known."""
        ...

    async def resume_usage(self, machine_id: str) -> bool:
        """A machine was found as it was: it has been so meanwhile. Whether there was anything to do."""
        ...

    def fact(self, name: str) -> str:
        """A fact about the host that was kept under this name; empty if none was."""
        ...

    async def keep_fact(self, name: str, value: str) -> None:
        """Keep a fact about the host."""
        ...
