"""What was acknowledged survives; what was not is there whole or not at all; a full disk is a sentence."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.errors import HostUnfit, Unavailable, WrongState
from openboxd.model import CheckpointStatus, MachineStatus
from openboxd.store import SqlStore, engine, open_store
from tests.contracts.rows import a_machine, furnish

REPOSITORY = Path(__file__).parents[2]

SAVE_FOR_EVER = """
import asyncio, sys
from pathlib import Path
from openboxd.store import open_store
from tests.contracts.rows import furnish, saved

async def main():
    store = open_store(Path(sys.argv[1]))
    machine = await furnish(store, id="m")
    while True:
        checkpoint = await saved(store, machine)
        await store.step_operation(await store.begin_operation("m", "save", {}), checkpoint.name)
        print(checkpoint.id, flush=True)

asyncio.run(main())
"""

FILL_AND_FREE = """
import asyncio, resource, sys
from pathlib import Path
from openboxd.errors import WrongState
from openboxd.store import open_store
from tests.contracts.rows import a_machine, furnish

async def main():
    store = open_store(Path(sys.argv[1]))
    await furnish(store)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, hard))
    while True:
        try:
            await store.add_machine(a_machine(status_reason="x" * 5000))
        except WrongState as error:
            print(error.message)
            break
    before = store.machines()
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.add_machine(a_machine())
    assert len(store.machines()) == len(before) + 1
    store.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("acknowledged", [1, 4, 40])
def test_a_killed_daemon_leaves_what_it_acknowledged(database: Path, acknowledged: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SAVE_FOR_EVER, str(database)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        seen = [child.stdout.readline().strip() for _ in range(acknowledged)]
        child.send_signal(signal.SIGKILL)
        seen += child.stdout.read().split()  # acknowledged while the signal was on its way
    store = open_store(database)
    try:
        found = store.checkpoints("m")
        ready = [c.id for c in found if c.status is CheckpointStatus.READY]
        machine = store.machine("m")
        assert machine is not None
        assert ready[: len(seen)] == seen
        assert len(ready) <= len(seen) + 1
        assert len(found) <= len(ready) + 1
        assert machine.head == ready[-1]
        assert [c.parent for c in found[: len(ready)]] == ["", *ready[:-1]]
        steps = [operation.step for operation in store.open_operations()]
        assert all(steps[: len(seen)])
    finally:
        store.close()
    assert _integrity(database) == "ok"


async def test_a_cancelled_caller_stops_waiting_but_its_write_takes_place(store: SqlStore) -> None:
    machine = await furnish(store)
    for number in range(20):
        waiting = asyncio.create_task(store.update_machine(machine.id, boot_time_ms=number, run_id=str(number)))
        await asyncio.sleep(0)  # let it ask
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    last = await store.update_machine(machine.id, status=MachineStatus.RUNNING)
    assert (last.boot_time_ms, last.run_id) == (19, "19")


async def test_writes_take_place_in_the_order_in_which_they_were_asked_for(store: SqlStore) -> None:
    machine = await furnish(store)
    after = await asyncio.gather(*(store.update_machine(machine.id, boot_time_ms=n) for n in range(30)))
    assert [state.boot_time_ms for state in after] == list(range(30))


async def test_readers_in_many_threads_see_whole_transactions_while_writes_go_on(store: SqlStore) -> None:
    machine = await furnish(store, run_id="0", boot_time_ms=0)
    done = asyncio.Event()

    def read() -> int:
        seen = 0
        while not done.is_set():
            now = store.machine(machine.id)
            assert now is not None
            assert now.run_id == str(now.boot_time_ms)
            assert now.boot_time_ms >= seen
            seen = now.boot_time_ms
        return seen

    readers = [asyncio.create_task(asyncio.to_thread(read)) for _ in range(4)]
    try:
        for number in range(1, 60):
            await store.update_machine(machine.id, run_id=str(number), boot_time_ms=number)
            found = store.machine(machine.id)
            assert found is not None
            assert found.run_id == str(number)  # a write that was awaited is seen at once
    finally:
        done.set()
        await asyncio.gather(*readers)


async def test_a_read_does_not_wait_for_a_writer(store: SqlStore, database: Path) -> None:
    machine = await furnish(store)
    other = sqlite3.connect(database, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE machines SET name = 'half-done'")
        waiting = asyncio.create_task(store.update_machine(machine.id, run_id="ab"))
        assert store.machine(machine.id) == machine
        assert not waiting.done()
        other.execute("ROLLBACK")
        assert (await waiting).run_id == "ab"
    finally:
        other.close()


async def test_a_foreign_program_that_keeps_its_lock_is_a_sentence(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 50)
    store = open_store(database)
    other = sqlite3.connect(database, isolation_level=None)
    try:
        machine = await furnish(store)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="another program"):
            await store.update_machine(machine.id, run_id="ab")
        other.execute("ROLLBACK")
        assert store.machine(machine.id) == machine
        assert (await store.update_machine(machine.id, run_id="ab")).run_id == "ab"
    finally:
        other.close()
        store.close()


def test_a_second_daemon_on_the_same_home_is_refused(database: Path) -> None:
    first = open_store(database)
    with pytest.raises(HostUnfit, match=rf"process {os.getpid()}\b"):
        open_store(database)
    first.close()
    first.close()
    open_store(database).close()


async def test_a_closed_store_has_finished_its_writes_and_takes_no_more(database: Path) -> None:
    store = open_store(database)
    await furnish(store)
    under_way = [asyncio.create_task(store.add_machine(a_machine())) for _ in range(5)]
    await asyncio.sleep(0)  # let them ask
    store.close()
    await asyncio.gather(*under_way)
    with pytest.raises(Unavailable):
        await store.add_machine(a_machine())
    again = open_store(database)
    assert len(again.machines()) == 6
    again.close()


async def test_only_the_owner_can_read_what_is_stored(store: SqlStore, database: Path) -> None:
    await furnish(store)
    files = sorted(file.name for file in database.parent.iterdir())
    assert files == ["boxd.db", "boxd.db-shm", "boxd.db-wal", "boxd.db.lock"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in database.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(database.parent.stat().st_mode) == 0o700


def test_a_database_open_to_others_is_closed_to_them(database: Path) -> None:
    open_store(database).close()
    database.chmod(0o644)
    open_store(database).close()
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_a_damaged_database_is_refused_with_a_remedy(database: Path) -> None:
    database.parent.mkdir(mode=0o700)
    database.write_bytes(b"this is not a database, whatever it may be called" * 100)
    with pytest.raises(HostUnfit, match=r"damaged.*backup"):
        open_store(database)


def test_a_write_beyond_the_file_size_limit_is_refused_until_there_is_room(database: Path) -> None:
    command = [sys.executable, "-c", FILL_AND_FREE, str(database)]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "nothing was changed" in result.stdout
    assert _integrity(database) == "ok"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 1 MiB. Only root can mount one."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    target = tmp_path / "small"
    target.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", str(target)]
    subprocess.run(mount, check=True)
    yield target
    subprocess.run(["umount", str(target)], check=True)


async def test_a_full_disk_is_a_sentence_and_the_store_works_again_after_it(small_disk: Path) -> None:
    store = open_store(small_disk / "boxd.db")
    try:
        machine = await furnish(store)
        ballast = small_disk / "ballast"
        with pytest.raises(OSError, match="No space left"):
            ballast.write_bytes(bytes(2 << 20))
        with pytest.raises(WrongState, match=r"disk of its data directory is full; nothing was changed; free some"):
            while True:
                await store.add_machine(a_machine(status_reason="x" * 5000))
        kept = store.machines()
        assert kept[0] == machine
        ballast.unlink()
        await store.add_machine(a_machine())
        assert len(store.machines()) == len(kept) + 1
    finally:
        store.close()
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(2 << 20))
    with pytest.raises(WrongState, match="nothing was changed"):
        open_store(small_disk / "boxd.db")
    ballast.unlink()
    again = open_store(small_disk / "boxd.db")
    assert len(again.machines()) == len(kept) + 1
    again.close()


def _integrity(database: Path) -> str:
    connection = sqlite3.connect(database)
    try:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()
