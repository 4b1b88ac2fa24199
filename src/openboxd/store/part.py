"""What the parts of the store stand on: reads of the last committed state, and the one thread that writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine

from openboxd.store.engine import translated
from openboxd.store.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")


class Part:
    """A group of the store's calls."""

    _reading: Engine
    _writer: Writer

    def _read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with translated(), self._reading.connect() as connection:
            return query(connection, *args, **kwargs)
