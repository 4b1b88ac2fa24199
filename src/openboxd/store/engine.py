"""The database under the store. Everything that only SQLite knows is in this file.

One file in WAL mode: readers never wait for the writer, and see what was committed last. `synchronous=FULL` makes
a commit durable when it returns. Only this process uses the file, which a lock file beside it enforces.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import QueuePool, StaticPool

from openboxd.errors import AlreadyExists, BoxdError, HostUnfit, Unavailable, WrongState

BUSY_TIMEOUT_MS = 5000
"""Only foreign programs (a backup, the sqlite3 shell) can make us wait; longer means they forgot a lock."""

WAL_KEPT_BYTES = 4 * 1024 * 1024
"""What a burst of writes may leave of the WAL file once it has been folded into the database."""


def take_lock(database: Path) -> int:
    """Claim the database for this process; the descriptor holds the claim until it is closed or we die.

    Raises:
        HostUnfit: another daemon has it, or the directory cannot be used.
    """
    try:
        database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(f"{database}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise HostUnfit(
            f"boxd cannot use its data directory {database.parent}: {error.strerror}; "
            "make it writable for this user or choose another BOXD_HOME"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        with suppress(OSError):  # a full disk: the number is only for the message below
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
        os.close(lock)
        raise HostUnfit(
            f"another boxd daemon (process {holder or 'unknown'}) already uses the data directory "
            f"{database.parent}; stop it or choose another BOXD_HOME"
        ) from error
    return lock


def make_private_file(database: Path) -> None:
    """Let the file exist, durably, for its owner alone. SQLite gives its -wal and -shm the same mode.

    Never opens the file while SQLite has it open: closing a descriptor would drop SQLite's own locks.
    """
    if not database.exists():
        os.close(os.open(database, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        directory = os.open(database.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    database.chmod(0o600)


def writing_engine(database: Path) -> Engine:
    """One connection, for one thread. Every transaction takes the write lock when it begins."""
    engine = create_engine(
        URL.create("sqlite", database=str(database)),
        poolclass=StaticPool,
        connect_args={"check_same_thread": False},  # opened and closed by the main thread
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # no implicit BEGIN: the module would leave DDL outside
        for pragma in _pragmas():
            connection.execute(pragma)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # IMMEDIATE: a transaction that reads before it writes must not lose the lock in between.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def reading_engine(database: Path) -> Engine:
    """Connections that see the last commit and cannot write; for any number of threads."""
    engine = create_engine(
        URL.create("sqlite", database=str(database)),
        poolclass=QueuePool,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, record: object) -> None:
        for pragma in (*_pragmas(), "PRAGMA query_only=ON"):
            connection.execute(pragma)

    return engine


def _pragmas() -> tuple[str, ...]:
    return (
        f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",  # first: switching the journal mode may wait, too
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "PRAGMA foreign_keys=ON",
        "PRAGMA trusted_schema=OFF",
        f"PRAGMA journal_size_limit={WAL_KEPT_BYTES}",
    )


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the database complains about into sentences. The transaction is rolled back by then."""
    try:
        yield
    except DBAPIError as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        raise sentence from error


def _sentence(error: DBAPIError) -> BoxdError | None:
    code = getattr(error.orig, "sqlite_errorcode", 0)
    if code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
        return AlreadyExists(f"this is recorded already: {_constraint(error)}; nothing was changed")
    if isinstance(error, IntegrityError):
        return None  # a fault of ours
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return WrongState(
                "boxd could not record this: the disk of its data directory is full; "
                "nothing was changed; free some space and try again"
            )
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN:
            return WrongState(
                "boxd could not record this: the disk of its data directory does not take writes "
                f"({error.orig}); nothing was changed; see whether it is full or damaged and try again"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Unavailable(
                "boxd could not record this: another program holds its database; nothing was changed; try again"
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return HostUnfit(
                f"boxd's database is damaged ({error.orig}); stop the daemon and put back a copy from a backup"
            )
    return None


def _constraint(error: DBAPIError) -> str:
    """`machines.name` out of "UNIQUE constraint failed: machines.name"."""
    return str(error.orig).rpartition(": ")[2]
