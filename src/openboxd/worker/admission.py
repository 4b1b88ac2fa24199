"""Which orders are admitted.

`admit` is a pure function of the order and the machine's situation: accept, already done, or refuse with a
sentence. The checks stand in the order in which users meet them; the first that fails decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openboxd.errors import AlreadyExists, BoxdError, Busy, WrongState, checkpoint_not_found
from openboxd.model import (
    MAX_CHECKPOINTS,
    MIB,
    Checkpoint,
    CheckpointStatus,
    Machine,
    MachineStatus,
    Space,
)
from openboxd.worker.orders import (
    Destroy,
    Fork,
    Hibernate,
    Order,
    Reboot,
    Remove,
    Rename,
    Resize,
    Restore,
    Resume,
    Save,
    SaveSnapshot,
    Sleep,
    Start,
    StartFrom,
    Stop,
    Suspend,
    Wake,
    gib,
)
from openboxd.worker.states import ASLEEP

RESERVE_BYTES = 256 * MIB
"""Kept free in the pool by every save, so that running guests can go on writing to their disks."""


@dataclass(frozen=True)
class Situation:
    """What admission looks at: the machine, what runs on it, its checkpoints, and the host.

    Attributes:
        space: the pool's bytes.
        host_memory: bytes of RAM of the host; 0 = not known.
        copied_bytes: what one clone of the machine's disk costs; 0 with reflinks.
    """

    machine: Machine
    current: Order | None
    checkpoints: Sequence[Checkpoint]
    space: Space
    host_memory: int = 0
    copied_bytes: int = 0


@dataclass(frozen=True)
class Accept:
    """Carry it out."""


@dataclass(frozen=True)
class Already:
    """It is so already, or the same order is under way: the caller may join."""


@dataclass(frozen=True)
class Refuse:
    """Nothing was touched; `error` says why."""

    error: BoxdError


Verdict = Accept | Already | Refuse

SETTLED = frozenset({MachineStatus.RUNNING, MachineStatus.STOPPED, MachineStatus.FAILED})


def admit(order: Order, situation: Situation) -> Verdict:
    """Decide on an order. No clock, store or hypervisor is asked."""
    machine = situation.machine
    if isinstance(order, Destroy):
        return Already() if situation.current == order else Accept()
    if refusal := _checkpoint_refusal(order, situation):
        return Refuse(refusal)
    if situation.current is not None:
        if situation.current == order and not isinstance(order, Save | SaveSnapshot):
            return Already()
        return Refuse(
            Busy(f"machine '{machine.name}' is busy: {situation.current} is running; try again when it has ended")
        )
    return _by_state(order, situation)


def _checkpoint_refusal(order: Order, situation: Situation) -> BoxdError | None:
    """Refusals that depend only on the checkpoint named."""
    machine = situation.machine
    if not isinstance(order, Save | Restore | Remove):
        return None
    found = next((c for c in situation.checkpoints if c.name == order.name), None)
    if isinstance(order, Save):
        if found is not None and found.status is not CheckpointStatus.FAILED:
            return AlreadyExists(
                f"machine '{machine.name}' already has a checkpoint '{order.name}'; it was not changed"
            )
        return None
    if found is None:
        return checkpoint_not_found(order.name, machine.name)
    return _restore_refusal(found, situation) if isinstance(order, Restore) else None


def _restore_refusal(checkpoint: Checkpoint, situation: Situation) -> BoxdError | None:
    """Refusals of a restore that depend only on the checkpoint."""
    label = f"checkpoint '{checkpoint.name}' on machine '{situation.machine.name}'"
    if checkpoint.status is not CheckpointStatus.READY:
        return WrongState(f"{label} is {checkpoint.status}; it can be restored once it is ready")
    needed, host = checkpoint.size.memory_bytes, situation.host_memory
    if host and needed > host:
        return WrongState(f"{label} needs {gib(needed)} of memory and this host has {gib(host)}; nothing was touched")
    return None


def _by_state(order: Order, situation: Situation) -> Verdict:
    machine, status = situation.machine, situation.machine.status
    match order:
        case Start():
            return _start_verdict(machine)
        case StartFrom() if status is not MachineStatus.PENDING:
            return Refuse(WrongState(f"machine '{machine.name}' is not new: it is {status}; nothing was touched"))
        case Stop():
            return Already() if status in (MachineStatus.STOPPED, MachineStatus.FAILED) else Accept()
        case Reboot() if status is not MachineStatus.RUNNING:
            advice = _advice(machine) if status in ASLEEP else "; start it instead"
            return Refuse(
                WrongState(f"machine '{machine.name}' must be running to be rebooted; it is {status}{advice}")
            )
        case Rename() | Resize():
            return _change_verdict(order, machine)
        case Save() | SaveSnapshot():
            refusal = _save_refusal(order, situation)
            return Refuse(refusal) if refusal else Accept()
        case Suspend() | Resume() | Hibernate() | Wake():
            return _sleep_verdict(order, situation)
        case Fork():
            refusal = _fork_refusal(situation)
            return Refuse(refusal) if refusal else Accept()
        case Restore() if status not in (SETTLED | ASLEEP):
            return Refuse(WrongState(f"machine '{machine.name}' cannot be restored while it is {status}"))
        case _:
            return Accept()


_SLEEP_MOVES: dict[type, tuple[MachineStatus, str, frozenset[MachineStatus]]] = {
    Suspend: (MachineStatus.SUSPENDED, "suspended", frozenset({MachineStatus.RUNNING})),
    Resume: (MachineStatus.RUNNING, "resumed", frozenset({MachineStatus.SUSPENDED})),
    Hibernate: (MachineStatus.HIBERNATED, "hibernated", frozenset({MachineStatus.RUNNING, MachineStatus.SUSPENDED})),
    Wake: (MachineStatus.RUNNING, "woken", frozenset({MachineStatus.HIBERNATED})),
}
"""What each is to reach, the word for having been, and from where."""


def _sleep_verdict(order: Sleep, situation: Situation) -> Verdict:
    """Between running, suspended and hibernated; what is so already is no error."""
    machine = situation.machine
    reached, done, from_ = _SLEEP_MOVES[type(order)]
    if machine.status is reached:
        return Already()
    if machine.status not in from_:
        return Refuse(
            WrongState(f"machine '{machine.name}' cannot be {done} while it is {machine.status}{_advice(machine)}")
        )
    needed = bytes_needed(situation)
    if isinstance(order, Hibernate) and situation.space.free_bytes < needed:
        room = f"{gib(situation.space.free_bytes)} are free and {gib(needed)} are needed"
        return Refuse(
            WrongState(
                f"machine '{machine.name}' was not hibernated and is {machine.status}: {room}; "
                "remove a checkpoint or add space"
            )
        )
    return Accept()


def _advice(machine: Machine) -> str:
    """What to do first, as the end of a sentence."""
    advice = {
        MachineStatus.SUSPENDED: "; resume it first",
        MachineStatus.HIBERNATED: "; wake it first",
        MachineStatus.STOPPED: "; start it first",
        MachineStatus.FAILED: "; start it first, or restore a checkpoint",
    }
    return advice.get(machine.status, "")


def _start_verdict(machine: Machine) -> Verdict:
    if machine.status is MachineStatus.RUNNING:
        return Already()
    if machine.status in (MachineStatus.PENDING, MachineStatus.STOPPED, MachineStatus.FAILED):
        return Accept()
    return Refuse(
        WrongState(f"machine '{machine.name}' cannot be started while it is {machine.status}{_advice(machine)}")
    )


def _change_verdict(order: Rename | Resize, machine: Machine) -> Verdict:
    if machine.status not in SETTLED:
        what = "renamed" if isinstance(order, Rename) else "resized"
        return Refuse(
            WrongState(f"machine '{machine.name}' cannot be {what} while it is {machine.status}{_advice(machine)}")
        )
    same = machine.name == order.name if isinstance(order, Rename) else machine.size == order.size
    return Already() if same else Accept()


def _save_refusal(order: Save | SaveSnapshot, situation: Situation) -> BoxdError | None:
    machine, what = situation.machine, "checkpoint" if isinstance(order, Save) else "snapshot"
    if machine.status is not MachineStatus.RUNNING:
        advice = _advice(machine) if machine.status in ASLEEP else ""
        return WrongState(
            f"machine '{machine.name}' must be running to save a {what}; it is {machine.status}{advice}"
        )
    if isinstance(order, Save) and (refusal := _limit_refusal(situation)):
        return refusal
    needed = bytes_needed(situation)
    if situation.space.free_bytes < needed:
        return WrongState(
            f"{what} '{order.name}' was not saved: {gib(situation.space.free_bytes)} are free and {gib(needed)} "
            f"are needed; machine '{machine.name}' keeps running; remove a checkpoint or add space"
        )
    return None


def _fork_refusal(situation: Situation) -> BoxdError | None:
    machine = situation.machine
    if machine.status not in (SETTLED | ASLEEP) or (machine.status is MachineStatus.FAILED and machine.run_id):
        return WrongState(f"machine '{machine.name}' cannot be forked while it is {machine.status}")
    if machine.status not in (MachineStatus.RUNNING, MachineStatus.SUSPENDED):
        return None
    needed = bytes_needed(situation)
    if situation.space.free_bytes < needed:
        return WrongState(
            f"machine '{machine.name}' was not forked: {gib(situation.space.free_bytes)} are free and {gib(needed)} "
            f"are needed; it is {machine.status} as before; remove a checkpoint or add space"
        )
    return None


def _limit_refusal(situation: Situation) -> BoxdError | None:
    machine = situation.machine
    counted = [c for c in situation.checkpoints if c.status is not CheckpointStatus.FAILED]
    if len(counted) >= MAX_CHECKPOINTS:
        return WrongState(
            f"machine '{machine.name}' has {len(counted)} of {MAX_CHECKPOINTS} checkpoints; "
            f"remove one first (the oldest is '{counted[0].name}')"
        )
    return None


def bytes_needed(situation: Situation) -> int:
    """What a save must find free: all of RAM for the first, a quarter of it once there is a parent to share with.

    An estimate on the safe side for usual guests; a save that needs more ends with the same refusal in the middle.
    In a pool without reflinks nothing is shared and the disk is copied as well.
    """
    memory, copied = situation.machine.size.memory_bytes, situation.copied_bytes
    has_parent = any(
        c.status is CheckpointStatus.READY and c.size.memory_bytes == memory for c in situation.checkpoints
    )
    return (memory // 4 if has_parent and not copied else memory) + copied + RESERVE_BYTES
