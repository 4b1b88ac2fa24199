"""The `boxd` command of a machine: hands itself to the daemon, which runs the real one, and plays its streams here.

What is typed, the directory and the streams go to the daemon through the agent; what comes back is written out, and
the exit status is ours. There is no key here and none is needed: the daemon knows which machine asks. It imports
nothing that is slow, because under software emulation that is what a command would mostly do.

A frame is a letter, a length (u32) and so many bytes, both ways; see openboxd.api.inside_wire for their meanings.
"""

import _socket
import os
import select
import signal
import sys
import termios
import time

SOCKET = "/run/boxd/cli"
PASSED_ON = ("TERM", "NO_COLOR", "COLUMNS", "_BOXD_COMPLETE", "COMP_WORDS", "COMP_CWORD")
"""Variables that say what the caller sees or what a shell wants completed."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH)
CHUNK = 16 * 1024
NOT_RUN = 125
COME_BACK = 120.0  # seconds in which a machine that was taken back finds out what became of the command


class Lost(Exception):
    """The connection has ended without an exit status."""


class Wire:
    """Frames over the socket; never waits for it to take what is sent."""

    def __init__(self, path: str) -> None:
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.setblocking(False)
        self.unsent = b""
        self._received = b""

    def send(self, kind: bytes, data: bytes = b"") -> None:
        self.unsent += kind + len(data).to_bytes(4, "big") + data
        self.flush()

    def flush(self) -> None:
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except BlockingIOError:
            pass
        except OSError as error:
            raise Lost from error

    def receive(self) -> list[tuple[bytes, bytes]]:
        """The frames that have come whole. Raises Lost."""
        try:
            data = self.socket.recv(64 * 1024)
        except BlockingIOError:
            return []
        except OSError as error:
            raise Lost from error
        if not data:
            raise Lost
        self._received += data
        frames = []
        while len(self._received) >= 5:
            end = 5 + int.from_bytes(self._received[1:5], "big")
            if len(self._received) < end:
                break
            frames.append((self._received[:1], self._received[5:end]))
            self._received = self._received[end:]
        return frames


class Terminal:
    """The caller's terminal, raw while the command runs, so that the one it has at the daemon does the rest."""

    def __init__(self) -> None:
        self._before = None
        if os.isatty(0):
            self._before = termios.tcgetattr(0)
            raw = termios.tcgetattr(0)
            raw[0] &= ~(termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON)
            raw[1] &= ~termios.OPOST
            raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            termios.tcsetattr(0, termios.TCSADRAIN, raw)

    def restore(self) -> None:
        if self._before is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)


class Command:
    """One run of the command."""

    def __init__(self, path: str, arguments: list[str]) -> None:
        self._path = path
        self._arguments = arguments
        self._run = b""  # what to ask for if the machine is taken back meanwhile
        self._stdin = True
        self._wake, self._alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)

    def run(self) -> int:
        """The exit status. Raises Lost, OSError (there is no daemon)."""
        wire = Wire(self._path)
        wire.send(b"S", self._start())
        while True:
            try:
                return self._serve(wire)
            except Lost:
                if not self._run:
                    raise
                wire = self._again()
                self._stdin = False

    def _again(self) -> Wire:
        """After a restore this process is the one of the captured moment: it asks what became of the command."""
        end = time.monotonic() + COME_BACK
        while time.monotonic() < end:
            time.sleep(0.5)
            try:
                wire = Wire(self._path)
                wire.send(b"A", self._run)
                return wire
            except (OSError, Lost):
                continue
        raise Lost

    def _start(self) -> bytes:
        cols, rows = _size()
        fields = [
            b"cwd=" + os.fsencode(_directory()),
            b"uid=%d" % os.geteuid(),
            b"tty=" + b"".join(b"1" if os.isatty(fd) else b"0" for fd in (0, 1, 2)),
            b"size=%d %d" % (cols, rows),
        ]
        fields += [b"env=" + os.fsencode(f"{name}={os.environ[name]}") for name in PASSED_ON if name in os.environ]
        fields += [b"arg=" + os.fsencode(argument) for argument in self._arguments]
        return b"\0".join(fields)

    def _serve(self, wire: Wire) -> int:
        poll = select.poll()
        while True:
            poll.register(wire.socket.fileno(), select.POLLIN | (select.POLLOUT if wire.unsent else 0))
            poll.register(self._wake, select.POLLIN)
            if self._stdin and not wire.unsent:
                poll.register(0, select.POLLIN)
            ready = dict(poll.poll())
            if self._stdin and not wire.unsent:
                poll.unregister(0)
            wire.flush()
            if self._wake in ready:
                self._signalled(wire)
            if 0 in ready:
                self._feed(wire)
            if wire.socket.fileno() in ready:
                for kind, data in wire.receive():
                    if kind == b"C":
                        return data[0]
                    self._take(wire, kind, data)

    def _take(self, wire: Wire, kind: bytes, data: bytes) -> None:
        if kind == b"O":
            _write(1, data)
        elif kind == b"X":
            _write(2, data)
        elif kind == b"R":
            self._run = data
            wire.send(b"R")

    def _feed(self, wire: Wire) -> None:
        try:
            data = os.read(0, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            wire.send(b"I", data)
        else:
            self._stdin = False
            wire.send(b"E")

    def _signalled(self, wire: Wire) -> None:
        for number in os.read(self._wake, 64):
            if number == signal.SIGWINCH:
                wire.send(b"W", b"%d %d" % _size())
            else:
                wire.send(b"K", bytes([number]))


def _write(fd: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:  # somebody made it so
            select.select([], [fd], [])


def _size() -> tuple[int, int]:
    for fd in (1, 0, 2):
        try:
            found = os.get_terminal_size(fd)
        except OSError:
            continue
        if found.columns:
            return found.columns, found.lines
    return 80, 24


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


LOST = (
    "the connection to boxd ended before the command did: this machine was restored or restarted, or boxd was; "
    "see 'boxd machine events'"
)
NO_WAY = "this machine has no way to boxd: it is isolated, or boxd is not there"


def main() -> None:
    """Run, and exit with the command's status."""
    error = ""
    terminal = Terminal()
    try:
        status = Command(SOCKET, sys.argv[1:]).run()
    except Lost:
        status, error = NOT_RUN, LOST
    except BrokenPipeError:
        status = 141
    except OSError:
        status, error = NOT_RUN, NO_WAY
    finally:
        terminal.restore()
    if error:
        print(f"error: {error}", file=sys.stderr, flush=True)
    os._exit(status)


if __name__ == "__main__":
    main()
