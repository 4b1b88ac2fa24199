"""The host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Space:
    """Bytes of a filesystem."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Accelerator:
    """Which accelerator runs guests, and why: `name` is "kvm" or "tcg", `reason` a sentence."""

    name: str
    reason: str


@dataclass(frozen=True)
class Finding:
    """One line of `boxd doctor`: what was looked at, how it stands, what to do."""

    subject: str
    verdict: str  # "ok", "warning" or "missing"
    detail: str
    remedy: str = ""
