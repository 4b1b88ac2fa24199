"""Guards that are under way in machines, on disk: a daemon that starts carries on those that the last one left.

A guard is a promise that the machine is taken back if its command fails. The program that keeps it ends with the
daemon; what it needs to be carried on is noted here first, and forgotten when it has ended by itself.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from openboxd.host.files import make_directory, remove, write_atomic

SUFFIX = ".json"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GuardNote:
    """What it takes to carry on a guard.

    Attributes:
        ident: the name of its run, by which the machine asks for it.
        args: what was typed.
        checkpoint: the name under which the machine is, or was about to be, saved.
        ended: the exit status of the guarded command; None if that is not known.
    """

    ident: str
    machine_id: str
    args: tuple[str, ...]
    checkpoint: str
    ended: int | None = None

    def carried_on(self) -> tuple[str, ...]:
        """The command line that does what is left to be done."""
        status = () if self.ended is None else ("--ended", str(self.ended))
        begin = self.args.index("--") if "--" in self.args else len(self.args)
        return (*self.args[:begin], "--resumed", self.checkpoint, *status, *self.args[begin:])


class GuardNotes:
    """The notes in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, note: GuardNote) -> None:
        """Note a guard, or what has become of it. Raises OSError."""
        make_directory(self._directory)
        write_atomic(self._path(note.ident), json.dumps(asdict(note)).encode())

    def forget(self, ident: str) -> None:
        """It has ended. Harmless twice."""
        remove(self._path(ident))

    def left(self) -> Sequence[GuardNote]:
        """All notes; one that cannot be read is dropped."""
        found = []
        for path in sorted(self._directory.glob(f"*{SUFFIX}")):
            try:
                values = json.loads(path.read_bytes())
                found.append(GuardNote(**values | {"args": tuple(values["args"])}))
            except (OSError, ValueError, TypeError, KeyError) as error:
                log.warning("a note of a guard cannot be read and is dropped: %s", error)
                remove(path)
        return found

    def _path(self, ident: str) -> Path:
        return self._directory / f"{ident}{SUFFIX}"
