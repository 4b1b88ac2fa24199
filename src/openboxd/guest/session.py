"""A command that runs in the guest, as callers see it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd.errors import InvalidArgument
from openboxd.guest import wire
from openboxd.guest.call import Call
from openboxd.guest.channel import Channel
from openboxd.guest.refusals import raise_refusal
from openboxd.model import ExecOutput, ExecRequest

MAX_COMMAND = 1024 * 1024
"""Bytes of a command line: far above the 128 KiB that the kernel takes as one argument, and still a line."""


class AgentExecSession:
    """Implements ports.ExecSession."""

    def __init__(self, call: Call, label: str) -> None:
        self.exit_code: int | None = None
        self._call = call
        self._label = label
        self._cancelled = False

    async def output(self) -> AsyncIterator[ExecOutput]:
        while (piece := await self._call.next()) is not None:
            kind, data = piece
            yield ExecOutput(data, is_stderr=kind == wire.STDERR)
        result = self._call.result or {}
        raise_refusal(result, self._label)
        status = result.get("exit")
        self.exit_code = status & 0xFF if isinstance(status, int) else 255

    async def write(self, data: bytes) -> None:
        await self._call.send(wire.DATA, data)

    async def write_eof(self) -> None:
        self._call.send_eof()

    async def resize(self, cols: int, rows: int) -> None:
        self._call.send_control(cols=cols, rows=rows)

    async def cancel(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._call.send_control(kill=True)


async def start_command(channel: Channel, request: ExecRequest) -> AgentExecSession:
    """Start a command; it runs when this returns."""
    line = encode_line(request.command)
    opening = {"op": "exec", "tty": request.tty, "cols": request.cols, "rows": request.rows, "line": len(line)}
    call = channel.epoch.open(opening, window=wire.OUTPUT_WINDOW)
    try:
        await call.send(wire.LINE, line)
        if await call.control() is None:
            raise_refusal(call.result or {}, channel.label)
        call.patient = True
    except BaseException:
        call.reset()
        raise
    return AgentExecSession(call, channel.label)


def encode_line(command: str) -> bytes:
    """The bytes of a command line. Raises InvalidArgument if no shell could run it."""
    line = command.encode("utf-8", "surrogateescape")
    if b"\0" in line:
        raise InvalidArgument("the command holds a zero byte; remove it")
    if len(line) > MAX_COMMAND:
        text = f"the command is {len(line)} bytes long and {MAX_COMMAND} are possible; put it into a file"
        raise InvalidArgument(text)
    return line
