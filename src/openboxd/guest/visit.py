"""A connection that a process of the guest has made to a door of the daemon, through the agent."""

from __future__ import annotations

from openboxd.guest.call import Call
from openboxd.guest.connection import Connection


class Visit(Connection):
    """Implements ports.GuestConnection."""

    def __init__(self, call: Call, label: str) -> None:
        super().__init__(call, label, "error", "the process that had made the connection is gone")

    def close(self) -> None:
        self._call.conclude()
