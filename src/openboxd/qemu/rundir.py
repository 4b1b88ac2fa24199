"""The directory of a run: short paths for its sockets, its log, and a record by which it can be adopted."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openboxd.host.files import write_atomic

_RUN_ID = re.compile(r"[0-9a-f]{12}")
_BACKLOG = 8
_WORDS = 4  # lines of QEMU's log that an error quotes


def is_run_id(text: str) -> bool:
    """Whether a text is a run's id: ids become directory names."""
    return _RUN_ID.fullmatch(text) is not None


@dataclass(frozen=True)
class RunDir:
    """Paths of one run."""

    path: Path

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def monitor(self) -> Path:
        """Socket of the daemon's monitor."""
        return self.path / "qmp.sock"

    @property
    def saver_monitor(self) -> Path:
        """Socket of the monitor for savers."""
        return self.path / "saver.sock"

    @property
    def agent(self) -> Path:
        """Socket of the agent's port."""
        return self.path / "agent.sock"

    @property
    def pidfile(self) -> Path:
        """QEMU's pidfile; its path on the command line is also how the process is recognised."""
        return self.path / "pid"

    @property
    def log(self) -> Path:
        """What QEMU says."""
        return self.path / "qemu.log"

    @property
    def saver_log(self) -> Path:
        """What savers say."""
        return self.path / "saver.log"

    @property
    def record(self) -> Path:
        """The run's machine and plan."""
        return self.path / "run.json"

    def make(self, record: dict[str, Any]) -> None:
        """Make the directory, which must not exist, and write the record."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700)
        write_atomic(self.record, json.dumps(record).encode())

    def read_record(self) -> dict[str, Any]:
        """The record. Raises OSError or ValueError if it is not whole."""
        record = json.loads(self.record.read_bytes())
        if not isinstance(record, dict) or not {"machine_id", "plan"} <= record.keys():
            raise ValueError("the run's record is not whole")
        return record

    def last_words(self) -> str:
        """The last lines of QEMU's log, without time stamps and its name; empty if there are none.

        The first of them tells the reason as a rule, the others what followed from it."""
        try:
            with self.log.open("rb") as stream:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - 4096))
                lines = stream.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return "; ".join(re.sub(r"^\S+Z (?:\S*qemu\S*: )?", "", line).strip() for line in lines[-_WORDS:])

    def remove(self) -> None:
        """Remove everything; harmless if it is gone."""
        shutil.rmtree(self.path, ignore_errors=True)


def listen(path: Path) -> socket.socket:
    """A UNIX socket of ours that listens already, so that nobody has to wait for it to appear."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
