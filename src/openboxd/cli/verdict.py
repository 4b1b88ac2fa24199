"""What reading a whole capture told, as `verify` of checkpoints and of snapshots shows it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from openboxd.cli.output import duration, size
from openboxd.cli.progress import bar
from openboxd.errors import OutcomeUnknown

if TYPE_CHECKING:
    from openboxd.wire.openboxd_host_pb2 import Damage, Verification, VerifyCheckpointResponse


async def read(label: str, items: AsyncIterator[VerifyCheckpointResponse]) -> Verification:
    """Show how far it is; the result. Raises OutcomeUnknown."""
    async with bar(f"verifying {label}") as show:
        async for item in items:
            if item.HasField("result"):
                return item.result
            show(item.progress)
    raise OutcomeUnknown(f"the verification of {label} ended without a result; try again")


def verdict(found: Verification) -> str:
    """`ok`, `damaged`, or `unknown` without digests."""
    if found.damages:
        return "damaged"
    return "ok" if found.sealed else "unknown"


def as_json(found: Verification) -> dict[str, Any]:
    """All but whose it is."""
    return {
        "verdict": verdict(found),
        "checked_bytes": found.checked_bytes,
        "duration_ms": found.duration_ms,
        "damages": [{"file": d.file, "start": d.start, "end": d.end, "text": d.text} for d in found.damages],
    }


def as_text(label: str, found: Verification) -> str:
    """A line, and one for each damage."""
    lines = [f"{label} is {verdict(found)}"]
    if found.sealed and found.checked_bytes:
        lines[0] += f" ({size(found.checked_bytes)} read in {duration(found.duration_ms)})"
    return "\n".join([*lines, *(f"  {_place(each)} {each.text}" for each in found.damages)])


def _place(found: Damage) -> str:
    return f"{found.file}, bytes {found.start} to {found.end}," if found.end else found.file
