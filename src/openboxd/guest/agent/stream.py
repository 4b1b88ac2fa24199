"""What all streams of the agent have in common: credit in both directions, and one way to end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openboxd.guest import wire

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

QUARTER = wire.STREAM_WINDOW // 4
MAX_MESSAGE = 2000


class Refusal(Exception):
    """A request that cannot be carried out; `kind` tells the host which error it is."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Stream:
    """One request of the host and its answer. It ends with a RESULT, with a RESET, or with the epoch."""

    def __init__(self, link: Link, ident: int, window: int) -> None:
        self.link = link
        self.ident = ident
        self.credit = window  # bytes that may be sent
        self.ended = False
        self._unconfirmed = 0

    # -- what the host sends
    def opened(self) -> None:
        """The stream is registered; start."""

    def on_data(self, kind: int, payload: bytes) -> None:
        """Data; `confirm` its length when it is used up."""

    def on_eof(self, kind: int) -> None:
        """No more data of this kind."""

    def on_control(self, message: dict[str, Any]) -> None:
        """A control message."""

    def on_result(self) -> None:
        """The host has ended a stream that was opened here; all that it sent has come."""
        self.end()

    def on_credit(self) -> None:
        """More may be sent."""

    def closed(self, epoch_over: bool) -> None:
        """The stream is over, by whatever way: let go of everything."""

    # -- what is sent to the host
    def confirm(self, size: int) -> None:
        """Bytes of the host are used up; it may send as many more. Told in quarters of the window."""
        self._unconfirmed += size
        if self._unconfirmed >= QUARTER and not self.ended:
            self.link.send(wire.win(self.ident, self._unconfirmed))
            self._unconfirmed = 0

    def send_data(self, kind: int, data: bytes) -> None:
        """Send within the credit."""
        self.credit -= len(data)
        for frame in wire.data_frames(kind, self.ident, data):
            self.link.send(frame)

    def control(self, **message: Any) -> None:
        self.link.send(wire.frame(wire.CTL, self.ident, to_json(message)))

    def finish(self, **result: Any) -> None:
        """End with a result."""
        if not self.ended:
            self.link.send(wire.frame(wire.RESULT, self.ident, to_json(result)))
            self.end()

    def refuse(self, refusal: Refusal) -> None:
        """End with an error."""
        self.finish(error=refusal.kind, message=refusal.message[:MAX_MESSAGE])

    def lost(self) -> None:
        """End because the epoch has."""
        self.end(epoch_over=True)

    def end(self, epoch_over: bool = False) -> None:
        """End without a word."""
        if not self.ended:
            self.ended = True
            self.link.remove(self)
            self.closed(epoch_over)


def to_json(message: dict[str, Any]) -> bytes:
    """ASCII, so that the marker cannot occur in it."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")
