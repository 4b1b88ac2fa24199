"""Errors that the guest's agent reports, as errors of ours."""

from __future__ import annotations

from typing import Any

from openboxd.errors import (
    AlreadyExists,
    BoxdError,
    InvalidArgument,
    NotFound,
    NotSupported,
    OperationFailed,
    WrongState,
)

MAX_MESSAGE = 1000

_KINDS: dict[str, type[BoxdError]] = {
    "not_found": NotFound,
    "exists": AlreadyExists,
    "state": WrongState,
    "argument": InvalidArgument,
    "unknown": NotSupported,
}


def raise_refusal(result: dict[str, Any], label: str) -> None:
    """Raise what a result holds, if it is an error."""
    if "error" in result:
        kind = _KINDS.get(str(result["error"]), OperationFailed)
        raise kind(f"machine {label}: {printable(str(result.get('message', 'no reason was given')))}")


def printable(text: str) -> str:
    """Text of a guest, fit for a terminal and a status line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:MAX_MESSAGE])
