"""The demo's program inside the machine: holds a pattern and a counter in memory only, and looks after some data.

serve            hold the pattern, count, insert rows, answer on a UNIX socket; runs until it is killed
start            start `serve` in the background and wait until it answers
ask              what the running program says, as JSON
prepare          make files and a database with rows
look             what is there of files and rows, as JSON; also how much of it only the write-ahead log holds
wreck            kill the program, delete the files, drop the table
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

HOME = Path.home() / "demo"
SOCKET, DATABASE, FILES = HOME / "socket", HOME / "rows.db", HOME / "files"
PATTERN_BYTES = 32 * 1024 * 1024
ROWS, LOGGED_ROWS, FILE_COUNT = 1000, 200, 50
TICK = 0.01  # seconds between two counts


def serve() -> None:
    pattern = bytearray(os.urandom(PATTERN_BYTES))  # never written anywhere
    counter = [0]
    keeper = insert_into_the_log()

    def count() -> None:
        while True:
            counter[0] += 1
            time.sleep(TICK)

    threading.Thread(target=count, daemon=True).start()
    SOCKET.unlink(missing_ok=True)
    with contextlib.closing(keeper), socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(SOCKET))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                digest = hashlib.sha256(pattern).hexdigest()
                connection.sendall(
                    json.dumps({"pid": os.getpid(), "counter": counter[0], "pattern": digest}).encode()
                )


def insert_into_the_log() -> sqlite3.Connection:
    """Insert rows that only the write-ahead log holds: as long as the connection is open, nobody folds it in."""
    database = sqlite3.connect(DATABASE)
    database.execute("pragma wal_autocheckpoint = 0")
    with database:
        database.executemany("insert into rows values (?, ?)", new_rows(ROWS, LOGGED_ROWS))
    return database


def new_rows(first: int, count: int) -> Iterator[tuple[int, bytes]]:
    return ((number, os.urandom(64)) for number in range(first, first + count))


def ask() -> dict[str, object]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(SOCKET))
        with connection.makefile("rb") as stream:
            return dict(json.loads(stream.read()))


def start() -> None:
    SOCKET.unlink(missing_ok=True)
    subprocess.Popen(
        [sys.executable, __file__, "serve"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(HOME / "serve.log").open("w"),
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while True:
        try:
            print(json.dumps(ask()))
            return
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > end:
                sys.exit("the program did not start: " + (HOME / "serve.log").read_text())
            time.sleep(0.05)


def prepare() -> None:
    stop()
    shutil.rmtree(HOME / "files", ignore_errors=True)
    for file in HOME.glob("rows.db*"):
        file.unlink()
    FILES.mkdir(parents=True)
    for number in range(FILE_COUNT):
        (FILES / f"{number:03}").write_bytes(os.urandom(20_000))
    with contextlib.closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table rows (number integer primary key, text blob)")
        database.executemany("insert into rows values (?, ?)", new_rows(0, ROWS))
    # deliberately no sync: what is still in the page cache belongs to the checkpoint as well


def look() -> dict[str, object]:
    digest = hashlib.sha256()
    names = sorted(FILES.iterdir()) if FILES.is_dir() else []
    for file in names:
        digest.update(file.name.encode() + file.read_bytes())
    return {"files": len(names), "content": digest.hexdigest(), **look_at_rows()}


def look_at_rows() -> dict[str, object]:
    """The rows, and how many of them are lost to whoever has the database file without its log."""
    with contextlib.closing(sqlite3.connect(DATABASE)) as database:
        if not database.execute("select 1 from sqlite_master where name = 'rows'").fetchone():
            return {"rows": 0, "table": "", "integrity": "no table"}
        rows = database.execute("select number, text from rows order by number").fetchall()
        integrity = database.execute("pragma integrity_check").fetchone()[0]
        log = DATABASE.with_name(f"{DATABASE.name}-wal")
        log_bytes = log.stat().st_size if log.exists() else 0
        only_in_log = len(rows) - rows_without_log()
    table = hashlib.sha256(b"".join(b"%d:%s" % row for row in rows)).hexdigest()
    return {
        "rows": len(rows),
        "table": table,
        "integrity": integrity,
        "only_in_log": only_in_log,
        "log_bytes": log_bytes,
    }


def rows_without_log() -> int:
    """How many rows the database file holds by itself."""
    with contextlib.closing(sqlite3.connect(f"file:{DATABASE}?immutable=1", uri=True)) as database:
        return int(database.execute("select count(*) from rows").fetchone()[0])


def stop() -> None:
    """Kill the program, if it runs, and wait until it is gone."""
    try:
        pid = int(str(ask()["pid"]))
        descriptor = os.pidfd_open(pid)
    except (OSError, ValueError):
        return
    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    select.select([descriptor], [], [], 30)  # readable when the process has ended
    os.close(descriptor)


def wreck() -> None:
    stop()
    shutil.rmtree(FILES)
    with contextlib.closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute("drop table rows")


def main() -> None:
    HOME.mkdir(exist_ok=True)
    actions = {"serve": serve, "start": start, "prepare": prepare, "wreck": wreck}
    word = sys.argv[1]
    if word in actions:
        actions[word]()
    else:
        print(json.dumps({"ask": ask, "look": look}[word]()))


if __name__ == "__main__":
    main()
