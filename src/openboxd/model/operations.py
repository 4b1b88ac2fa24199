"""What is done to machines, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a long operation is. `fraction` is 0..1, or None where it cannot be known."""

    operation: str  # "save", "restore", "build", ...
    step: str
    fraction: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class Operation:
    """A journalled operation: what was begun, on which machine, and the last step that was entered."""

    id: int
    machine_id: str
    kind: str
    detail: Mapping[str, Any]
    step: str
    started_at_ms: int


class Outcome(StrEnum):
    """How something that was done to a machine ended."""

    OK = "ok"
    FAILED = "failed"
    TAKEN_OVER = "taken over"  # ended because the machine was removed


@dataclass(frozen=True)
class Event:
    """An entry of a machine's event log.

    Attributes:
        at_ms: when it began, epoch milliseconds.
        actor: who ordered it, see Caller.author; empty: nobody, it came from boxd itself or the guest.
        operation: what was done, e.g. "save"; "run ended" for an end that nobody ordered.
        detail: what it was done to, e.g. a checkpoint's name.
        error: one sentence, unless it is ok.
    """

    machine_id: str
    at_ms: int
    actor: str
    operation: str
    detail: str
    outcome: Outcome
    duration_ms: int = 0
    error: str = ""
