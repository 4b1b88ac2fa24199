"""Admission: every order in every situation gets one of three answers, and the sentences are the promised ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openboxd.errors import AlreadyExists, Busy, NotFound, WrongState
from openboxd.model import GIB, MIB, Checkpoint, CheckpointStatus, Machine, MachineStatus, Size, Space
from openboxd.worker.admission import Accept, Already, Refuse, Situation, admit
from openboxd.worker.orders import (
    Destroy,
    Hibernate,
    Order,
    Reboot,
    Remove,
    Restore,
    Resume,
    Save,
    SaveSnapshot,
    Start,
    Stop,
    Suspend,
    Wake,
)

MACHINE = Machine(
    id="5f0c7d3e-0000-4000-8000-000000000001",
    name="web",
    owner_id="u_1",
    image="d",
    image_name="debian-13",
    size=Size(1, 512 * MIB),
    disk_bytes=16 * GIB,
    address="10.213.0.10",
    mac="52:54:00:00:00:01",
    status=MachineStatus.RUNNING,
    created_at=1,
)
ROOM = Space(100 * GIB, 50 * GIB)
ORDERS: list[Order] = [
    Suspend(),
    Resume(),
    Hibernate(),
    Wake(),
    Start(),
    Stop(),
    Reboot(),
    Save("cp_1", "a", "u_1"),
    Restore("a"),
    Remove("a"),
    Destroy(),
]


def checkpoint(name: str, status: CheckpointStatus = CheckpointStatus.READY, number: int = 0) -> Checkpoint:
    return Checkpoint(
        id=f"cp_{name}",
        machine_id=MACHINE.id,
        name=name,
        status=status,
        created_at_ms=number,
        created_by="u_1",
        size=MACHINE.size,
    )


def situation(
    status: MachineStatus = MachineStatus.RUNNING,
    current: Order | None = None,
    checkpoints: tuple[Checkpoint, ...] = (),
    space: Space = ROOM,
) -> Situation:
    return Situation(replace(MACHINE, status=status), current, checkpoints, space)


def refusal(order: Order, where: Situation) -> Exception:
    verdict = admit(order, where)
    assert isinstance(verdict, Refuse), verdict
    return verdict.error


def test_a_running_machine_can_be_saved() -> None:
    assert admit(Save("cp_1", "a", "u_1"), situation()) == Accept()


FIRST = {MachineStatus.SUSPENDED: "; resume it first", MachineStatus.HIBERNATED: "; wake it first"}


@pytest.mark.parametrize("status", [s for s in MachineStatus if s is not MachineStatus.RUNNING])
def test_a_save_needs_a_running_machine(status: MachineStatus) -> None:
    error = refusal(Save("cp_1", "a", "u_1"), situation(status))
    assert isinstance(error, WrongState)
    assert str(error) == f"machine 'web' must be running to save a checkpoint; it is {status}{FIRST.get(status, '')}"


@pytest.mark.parametrize("status", [s for s in MachineStatus if s is not MachineStatus.RUNNING])
def test_a_snapshot_needs_a_running_machine(status: MachineStatus) -> None:
    error = refusal(SaveSnapshot("snap_1", "base", "u_1"), situation(status))
    assert str(error) == f"machine 'web' must be running to save a snapshot; it is {status}{FIRST.get(status, '')}"


def test_a_snapshot_needs_room_and_counts_for_nothing_else() -> None:
    order = SaveSnapshot("snap_1", "c1", "u_1")
    ten = tuple(checkpoint(f"c{i}", number=i) for i in range(10))
    assert admit(order, situation(checkpoints=ten)) == Accept()
    error = refusal(order, situation(space=Space(10 * GIB, 256 * MIB)))
    assert "snapshot 'c1' was not saved: 0.2 GiB are free and 0.8 GiB are needed" in str(error)
    assert isinstance(refusal(order, situation(current=order)), Busy), "a save is never joined"


def test_the_eleventh_save_is_refused_and_names_the_oldest() -> None:
    ten = tuple(checkpoint(f"c{i}", number=i) for i in range(10))
    error = refusal(Save("cp_1", "a", "u_1"), situation(checkpoints=ten))
    assert str(error) == "machine 'web' has 10 of 10 checkpoints; remove one first (the oldest is 'c0')"


def test_pending_counts_against_the_limit_and_failed_does_not() -> None:
    nine = [checkpoint(f"c{i}", number=i) for i in range(9)]
    pending = checkpoint("c9", CheckpointStatus.PENDING)
    failed = checkpoint("c10", CheckpointStatus.FAILED)
    assert isinstance(admit(Save("cp_1", "a", "u_1"), situation(checkpoints=(*nine, failed))), Accept)
    assert isinstance(admit(Save("cp_1", "a", "u_1"), situation(checkpoints=(*nine, pending))), Refuse)


def test_a_name_in_use_is_refused_and_a_failed_one_does_not_block_it() -> None:
    error = refusal(Save("cp_1", "a", "u_1"), situation(checkpoints=(checkpoint("a"),)))
    assert isinstance(error, AlreadyExists)
    assert str(error) == "machine 'web' already has a checkpoint 'a'; it was not changed"
    failed = checkpoint("a", CheckpointStatus.FAILED)
    assert isinstance(admit(Save("cp_1", "a", "u_1"), situation(checkpoints=(failed,))), Accept)


def test_a_save_without_room_tells_the_numbers() -> None:
    error = refusal(Save("cp_1", "a", "u_1"), situation(space=Space(10 * GIB, 256 * MIB)))
    assert "0.2 GiB are free and 0.8 GiB are needed" in str(error)
    assert "keeps running" in str(error)


@pytest.mark.parametrize("order", [Restore("a"), Remove("a")])
def test_an_unknown_checkpoint_is_not_found(order: Order) -> None:
    error = refusal(order, situation())
    assert isinstance(error, NotFound)
    assert str(error) == "checkpoint 'a' not found on machine 'web'"


@pytest.mark.parametrize("status", [CheckpointStatus.PENDING, CheckpointStatus.FAILED])
def test_only_a_ready_checkpoint_is_restored(status: CheckpointStatus) -> None:
    error = refusal(Restore("a"), situation(checkpoints=(checkpoint("a", status),)))
    assert str(error) == f"checkpoint 'a' on machine 'web' is {status}; it can be restored once it is ready"


@pytest.mark.parametrize("status", [MachineStatus.RUNNING, MachineStatus.STOPPED, MachineStatus.FAILED])
def test_a_restore_starts_from_running_stopped_and_failed(status: MachineStatus) -> None:
    assert admit(Restore("a"), situation(status, checkpoints=(checkpoint("a"),))) == Accept()


@pytest.mark.parametrize("order", [order for order in ORDERS if not isinstance(order, Destroy)])
def test_a_second_operation_is_refused_with_the_name_of_the_first(order: Order) -> None:
    busy = situation(current=Save("cp_0", "first", "u_1"), checkpoints=(checkpoint("a"),))
    if isinstance(order, Save):
        order = replace(order, name="b")
    error = refusal(order, busy)
    assert isinstance(error, Busy)
    assert str(error) == "machine 'web' is busy: save of 'first' is running; try again when it has ended"


def test_the_same_order_is_joined_but_a_save_never() -> None:
    where = situation(current=Restore("a"), checkpoints=(checkpoint("a"),))
    assert admit(Restore("a"), where) == Already()
    saving = situation(current=Save("cp_1", "b", "u_1"))
    assert isinstance(admit(Save("cp_1", "b", "u_1"), saving), Refuse)


def test_what_is_so_already_is_no_error() -> None:
    assert admit(Start(), situation(MachineStatus.RUNNING)) == Already()
    assert admit(Stop(), situation(MachineStatus.STOPPED)) == Already()


@given(
    order=st.sampled_from(ORDERS),
    status=st.sampled_from(list(MachineStatus)),
    current=st.one_of(st.none(), st.sampled_from(ORDERS)),
    statuses=st.lists(st.sampled_from(list(CheckpointStatus)), max_size=12),
    free=st.integers(0, 4 * GIB),
)
def test_every_refusal_is_a_sentence_about_this_machine(
    order: Order,
    status: MachineStatus,
    current: Order | None,
    statuses: list[CheckpointStatus],
    free: int,
) -> None:
    checkpoints = tuple(checkpoint("abcdefghijkl"[i], s, i) for i, s in enumerate(statuses))
    verdict = admit(order, situation(status, current, checkpoints, Space(4 * GIB, free)))
    assert isinstance(verdict, Accept | Already | Refuse)
    if isinstance(order, Destroy):
        assert not isinstance(verdict, Refuse)
    if isinstance(verdict, Refuse):
        assert "'web'" in verdict.error.message
    if isinstance(verdict, Accept) and not isinstance(order, Destroy):
        assert current is None


SLEEP = {
    (Suspend(), MachineStatus.RUNNING): Accept(),
    (Suspend(), MachineStatus.SUSPENDED): Already(),
    (Resume(), MachineStatus.SUSPENDED): Accept(),
    (Resume(), MachineStatus.RUNNING): Already(),
    (Hibernate(), MachineStatus.RUNNING): Accept(),
    (Hibernate(), MachineStatus.SUSPENDED): Accept(),
    (Hibernate(), MachineStatus.HIBERNATED): Already(),
    (Wake(), MachineStatus.HIBERNATED): Accept(),
    (Wake(), MachineStatus.RUNNING): Already(),
}


@pytest.mark.parametrize("status", MachineStatus)
@pytest.mark.parametrize("order", [Suspend(), Resume(), Hibernate(), Wake()])
def test_between_running_suspended_and_hibernated(order: Order, status: MachineStatus) -> None:
    verdict = admit(order, situation(status))
    expected = SLEEP.get((order, status))
    if expected is not None:
        assert verdict == expected
    else:
        assert isinstance(verdict, Refuse) and f"while it is {status}" in str(verdict.error)


@pytest.mark.parametrize("status", [MachineStatus.SUSPENDED, MachineStatus.HIBERNATED])
def test_a_restore_starts_from_sleep_and_a_boot_does_not(status: MachineStatus) -> None:
    assert admit(Restore("a"), situation(status, checkpoints=(checkpoint("a"),))) == Accept()
    assert isinstance(admit(Start(), situation(status)), Refuse)


def test_falling_asleep_without_room_tells_the_numbers() -> None:
    error = refusal(Hibernate(), situation(space=Space(10 * GIB, 256 * MIB)))
    assert "machine 'web' was not hibernated and is running: 0.2 GiB are free and 0.8 GiB are needed" in str(error)


def test_one_who_orders_joins_what_happens_for_want_of_use() -> None:
    assert admit(Hibernate(), situation(current=Hibernate(when_idle=True))) == Already()
