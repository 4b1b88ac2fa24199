"""The guest's side of a command, as the program in a machine plays it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tests.inside.conftest import LIMIT, Doors, Visitor


def frame(kind: bytes, data: bytes = b"") -> bytes:
    return kind + len(data).to_bytes(4, "big") + data


def start(*args: str, cwd: str = "/home/boxd", tty: str = "000", uid: int = 1000, env: tuple[str, ...] = ()) -> bytes:
    fields = [f"cwd={cwd}", f"uid={uid}", f"tty={tty}", "size=80 24", *(f"env={e}" for e in env)]
    return frame(b"S", b"\0".join(each.encode() for each in [*fields, *(f"arg={arg}" for arg in args)]))


@dataclass
class Outcome:
    status: int | None
    out: str
    err: str


def heard(visitor: Visitor) -> list[tuple[bytes, bytes]]:
    data, frames = bytes(visitor.heard), []
    while len(data) >= 5:
        end = 5 + int.from_bytes(data[1:5], "big")
        frames.append((data[:1], data[5:end]))
        data = data[end:]
    return frames


def outcome(visitor: Visitor) -> Outcome:
    frames = heard(visitor)
    text = {kind: b"".join(data for k, data in frames if k == kind).decode() for kind in (b"O", b"X")}
    status = next((data[0] for kind, data in frames if kind == b"C"), None)
    return Outcome(status, text[b"O"], text[b"X"])


async def boxd(doors: Doors, *args: str, stdin: bytes = b"", name: str = "web", **how) -> Outcome:
    """Run a command to its end."""
    visitor, task = doors.knock("cli", name)
    visitor.say(start(*args, **how))
    for begin in range(0, len(stdin), 16384):
        visitor.say(frame(b"I", stdin[begin : begin + 16384]))
    visitor.say(frame(b"E"))
    async with asyncio.timeout(LIMIT):
        await task
    return outcome(visitor)
