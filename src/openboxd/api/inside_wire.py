"""What the `boxd` command in a machine and the daemon say to each other.

A frame is a letter, a length (u32) and so many bytes.

    from the guest  S  start: fields `name=value` with zero bytes between them (cwd, uid, tty, size, env, arg)
                    A  the run that this process had when its machine was captured: what has become of it?
                    I  bytes for stdin    E  their end    W  "columns rows"    K  a signal (a byte)
                    R  the name of the run is known here
    to the guest    O  bytes of stdout    X  of stderr    C  exit status (a byte)
                    R  the name of the run, to be asked for with A

Frames have a limit and fields have a form; what has neither ends the connection.
"""

from __future__ import annotations

from dataclasses import dataclass

from openboxd.errors import InvalidArgument
from openboxd.ports import GuestConnection

LIMIT = 64 * 1024
"""Bytes of a frame."""

VARIABLES = ("TERM", "NO_COLOR", "COLUMNS", "_BOXD_COMPLETE", "COMP_WORDS", "COMP_CWORD")
SIGNALS = frozenset({1, 2, 3, 15})
"""What a guest may send to its command: SIGHUP, SIGINT, SIGQUIT, SIGTERM."""


@dataclass(frozen=True)
class Start:
    """What is to be run."""

    args: tuple[str, ...]
    directory: str
    superuser: bool
    terminals: tuple[bool, bool, bool]
    size: tuple[int, int]
    env: tuple[tuple[str, str], ...]


class Frames:
    """Reads and writes frames over a connection."""

    def __init__(self, connection: GuestConnection) -> None:
        self._connection = connection
        self._rest = b""

    async def read(self) -> tuple[bytes, bytes] | None:
        """The next frame; None at the end. Raises InvalidArgument, Interrupted."""
        while len(self._rest) < 5 or len(self._rest) < 5 + self._length():
            data = await self._connection.read()
            if not data:
                return None
            self._rest += data
        end = 5 + self._length()
        kind, payload = self._rest[:1], self._rest[5:end]
        self._rest = self._rest[end:]
        return kind, payload

    def _length(self) -> int:
        length = int.from_bytes(self._rest[1:5], "big")
        if length > LIMIT:
            raise InvalidArgument(f"the command line and what surrounds it are longer than {LIMIT} bytes")
        return length

    async def write(self, kind: bytes, payload: bytes = b"") -> None:
        """Send a frame; waits until the guest takes it. Raises Interrupted."""
        await self._connection.write(kind + len(payload).to_bytes(4, "big") + payload)


def parse_start(payload: bytes) -> Start:
    """Raises InvalidArgument."""
    fields = [field.partition(b"=") for field in payload.split(b"\0")]
    values: dict[bytes, list[bytes]] = {}
    for name, _, value in fields:
        values.setdefault(name, []).append(value)
    try:
        cols, rows = parse_size(values[b"size"][0])
        terminals = [character == ord("1") for character in values[b"tty"][0]]
        stdin, stdout, stderr = terminals
        env = [(name, value) for name, _, value in map(_variable, values.get(b"env", [])) if name in VARIABLES]
        directory = _text(values[b"cwd"][0])
        superuser = int(values[b"uid"][0]) == 0
    except (KeyError, ValueError) as error:
        raise InvalidArgument("that is not how a command begins") from error
    args = tuple(_text(value) for value in values.get(b"arg", []))
    return Start(args, directory, superuser, (stdin, stdout, stderr), (cols, rows), tuple(env))


def parse_size(payload: bytes) -> tuple[int, int]:
    """Columns and rows. Raises ValueError."""
    cols, rows = (int(number) for number in payload.split())
    if not (0 < cols < 10_000 and 0 < rows < 10_000):
        raise ValueError("no terminal has that size")
    return cols, rows


def _variable(value: bytes) -> tuple[str, str, str]:
    return _text(value).partition("=")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
