"""mmdebstrap's words as progress."""

from __future__ import annotations

from collections.abc import Callable

from openboxd.model import Progress

_STEPS = (
    ("running apt-get update", "fetch the package lists", 0.02),
    ("downloading packages", "fetch the base packages", 0.08),
    ("extracting archives", "unpack the base system", 0.2),
    ("installing essential packages", "set up the base system", 0.25),
    ("installing remaining packages", "fetch and set up the other packages", 0.35),
    ("running --customize-hook", "configure the system", 0.75),
    ("cleaning package lists", "clean up", 0.8),
)
"""What a line says, the step it begins, and the share of a whole build that is done by then."""


class Follower:
    """Reads the program's lines and reports every step once, in order."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._next = 0

    def line(self, text: str) -> None:
        """Look at one line of output."""
        for index in range(self._next, len(_STEPS)):
            words, step, fraction = _STEPS[index]
            if words in text:
                self._next = index + 1
                self._report(Progress("build", step, fraction))
                return
