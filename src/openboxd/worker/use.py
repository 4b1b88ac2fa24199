"""Who uses a machine: what its idle timers go by. Commands, files and gates tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Use:
    """The use of one machine. Times are of the monotonic clock: setting the host's clock lets nobody fall asleep."""

    def __init__(self) -> None:
        self.last = time.monotonic()  # when somebody was last seen to use it
        self.waiting = 0  # calls that wait for it to be there
        self._open = 0

    def touch(self) -> None:
        """Somebody uses it now."""
        self.last = time.monotonic()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Somebody uses it while the block runs."""
        end = self.begin()
        try:
            yield
        finally:
            end()

    def begin(self) -> Callable[[], None]:
        """Somebody uses it until what is returned is called; harmless twice."""
        self._open += 1
        self.touch()
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._open -= 1
                self.touch()

        return end

    @property
    def is_open(self) -> bool:
        """Whether somebody is using it just now."""
        return self._open > 0
