"""A daemon killed at any point, inside one process.

Its drivers share a Switch. Once it is off, every call of theirs raises DaemonKilled and does nothing: whatever the
dead daemon's code still tries (undo steps, journal, cleaning up) has no effect on the world, as after SIGKILL.
A new daemon with a new Switch, over the same FakeHost, pool directory and database file, then recovers.

DaemonKilled is no Exception, so that nothing handles it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class DaemonKilled(BaseException):
    """Nothing of this daemon runs any more."""


class Switch:
    """Whether the daemon lives."""

    def __init__(self) -> None:
        self.dead = False

    def check(self) -> None:
        """Raises DaemonKilled once it does not."""
        if self.dead:
            raise DaemonKilled

    def kill(self) -> None:
        """From now on it does not, starting with whoever calls this."""
        self.dead = True
        raise DaemonKilled

    def killing_at(self, point: str) -> Callable[[str], None]:
        """A fault hook that kills the daemon at one point."""

        def fault(reached: str) -> None:
            self.check()
            if reached == point:
                self.kill()

        return fault


class _Mortal(Generic[T]):
    """Forwards everything to a driver while the daemon lives."""

    def __init__(self, driver: T, switch: Switch) -> None:
        self._driver, self._switch = driver, switch

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._driver, name)
        if inspect.iscoroutinefunction(value):
            return self._dying_coroutine(value)
        return self._dying(value) if callable(value) else value

    def _dying(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            self._switch.check()
            return call(*args, **kwargs)

        return guarded

    def _dying_coroutine(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            self._switch.check()
            result = await call(*args, **kwargs)
            self._switch.check()
            return result

        return guarded


def mortal(driver: T, switch: Switch) -> T:
    """`driver` (a store, a pool), as a daemon that can be killed has it."""
    return cast(T, _Mortal(driver, switch))
