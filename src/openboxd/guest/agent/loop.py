"""The agent's event loop: file descriptors and timers on one epoll, no asyncio (which takes seconds to import in a
guest under software emulation)."""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable

Handler = Callable[[int], None]


class Timer:
    """Something to be done at a time, unless it is cancelled."""

    def __init__(self, due: float, action: Callable[[], None]) -> None:
        self.due = due
        self.action = action
        self.cancelled = False

    def __lt__(self, other: Timer) -> bool:
        return self.due < other.due

    def fire(self, _events: int) -> None:
        self.action()

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Calls handlers when their descriptors are ready. A handler must bear being called in vain: its descriptor may
    have been closed and its number used again in the same turn."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._timers: list[Timer] = []

    def watch(self, fd: int, events: int, handler: Handler) -> None:
        self._epoll.register(fd, events)
        self._handlers[fd] = handler

    def rearm(self, fd: int, events: int) -> None:
        self._epoll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Stop watching; harmless if it is not watched. To be called before the descriptor is closed."""
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def after(self, seconds: float, action: Callable[[], None]) -> Timer:
        timer = Timer(time.monotonic() + seconds, action)
        heapq.heappush(self._timers, timer)
        return timer

    def run(self, turn: Callable[[], bool]) -> None:
        """Work for ever. `turn` is called after each round; it says whether it has more to do at once."""
        busy = False
        while True:
            for fd, events in self._epoll.poll(0 if busy else self._timeout()):
                handler = self._handlers.get(fd)
                if handler is not None:
                    guarded(handler, events)
            self._run_timers()
            busy = turn()

    def _timeout(self) -> float | None:
        while self._timers and self._timers[0].cancelled:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0].due - time.monotonic()) if self._timers else None

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0].due <= now:
            timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                guarded(timer.fire, 0)


def guarded(handler: Handler, events: int) -> None:
    """A fault of one handler must not end the agent, which would end everybody's streams."""
    try:
        handler(events)
    except Exception:
        report_fault()


def report_fault() -> None:
    """Print the exception being handled to the journal. Imported late: it is slow and hardly ever needed."""
    import traceback

    traceback.print_exc()
