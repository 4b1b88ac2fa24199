"""Commands: one shell line as the user, with pipes or a terminal."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from typing import TYPE_CHECKING, Any

from openboxd.guest import wire
from openboxd.guest.agent.pipes import Inlet, Outlet, open_pipes
from openboxd.guest.agent.process import Process
from openboxd.guest.agent.spawn import SHELL, environment, spawn
from openboxd.guest.agent.stream import Refusal, Stream
from openboxd.guest.agent.users import User, Users

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

MAX_LINE = 1024 * 1024
MAX_ARGUMENT = 128 * 1024 - 1  # the kernel takes no longer string as an argument
SCRIPT_FD = 9
TTY_SETTLE = 0.05  # what a command wrote last comes out of a terminal a moment after its end


class Executor:
    """Starts commands, and knows those whose caller was lost when an epoch ended.

    A caller is lost either because the daemon or the channel was (the same run goes on): then its command is
    killed. Or because the machine was restored (another run): then the command belongs to the captured state.
    """

    def __init__(self, users: Users) -> None:
        self.users = users
        self.hints: dict[str, str] = {}  # variables of every command
        self._run = ""
        self._orphans: list[Process] = []

    def orphaned(self, process: Process) -> None:
        self._orphans.append(process)

    def epoch(self, run: str) -> None:
        """The host has said in which run we are."""
        if run == self._run:
            for process in self._orphans:
                process.kill()
        self._orphans.clear()
        self._run = run


class Exec(Stream):
    def __init__(self, link: Link, ident: int, request: dict[str, Any], executor: Executor) -> None:
        super().__init__(link, ident, int(request["window"]))
        self._executor = executor
        self._tty = bool(request["tty"])
        self._size = (int(request["rows"]), int(request["cols"]))
        self._line = bytearray()
        self._missing = int(request["line"])
        self._process: Process | None = None
        self._inlet: Inlet | None = None
        self._outlets: list[Outlet] = []
        self._master = -1
        self._last = b""
        self._status: int | None = None
        self._killed = False

    # -- start
    def opened(self) -> None:
        if not 0 <= self._missing <= MAX_LINE:
            raise Refusal("argument", f"the command is longer than {MAX_LINE} bytes; put it into a file")
        if self._missing == 0:
            self._start()

    def on_data(self, kind: int, payload: bytes) -> None:
        if kind == wire.LINE and self._process is None:
            self._line += payload
            self._missing -= len(payload)
            self.confirm(len(payload))
            if self._missing <= 0:
                self._start()
        elif self._inlet is not None:
            self._last = payload[-1:] or self._last
            self._inlet.feed(payload)

    def _start(self) -> None:
        try:
            user = self._executor.users.current()
            pid = self._spawn_on_tty(user) if self._tty else self._spawn_on_pipes(user)
        except KeyError:
            raise Refusal("state", "the command could not be started: the machine has no user for it") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise Refusal("state", f"the command could not be started: {reason}") from error
        self._process = Process(self.link.loop, pid, self._exited)
        self.control(started=pid)

    def _spawn_on_pipes(self, user: User) -> int:
        stdin, our_stdin, our_stdout, stdout, our_stderr, stderr = open_pipes(3)
        self._inlet = Inlet(self, our_stdin)
        self._outlets = [
            Outlet(self, our_stdout, wire.STDOUT, lambda: self._delivered(wire.EOF_STDOUT)),
            Outlet(self, our_stderr, wire.STDERR, lambda: self._delivered(wire.EOF_STDERR)),
        ]
        try:
            return self._spawn(
                [SHELL, "-c"], environment(user) | self._executor.hints, user, {0: stdin, 1: stdout, 2: stderr}
            )
        finally:
            for fd in (stdin, stdout, stderr):
                os.close(fd)

    def _spawn_on_tty(self, user: User) -> int:
        self._master, slave = os.openpty()
        self._resize()
        self._inlet = Inlet(self, os.dup(self._master))
        self._outlets = [Outlet(self, self._master, wire.STDOUT, lambda: self._delivered(wire.EOF_STDOUT))]
        try:
            path = os.ttyname(slave)
            if os.geteuid() == 0:
                os.chown(path, user.uid, -1)
            # With job control (-m), background jobs are groups of their own and live on when the shell ends.
            env = environment(user, term="xterm-256color") | self._executor.hints
            return self._spawn([SHELL, "-m", "-c"], env, user, {0: path, 1: slave, 2: slave})
        finally:
            os.close(slave)

    def _spawn(self, argv: list[str], env: dict[str, str], user: User, fds: dict[int, int | str]) -> int:
        if len(self._line) < MAX_ARGUMENT:
            return spawn([*argv, os.fsdecode(bytes(self._line))], env, user, fds)
        script = os.memfd_create("command")
        try:
            os.write(script, b"exec %d<&-\n" % SCRIPT_FD)
            with open(script, "wb", closefd=False) as file:
                file.write(self._line)
            return spawn([*argv, f". /proc/self/fd/{SCRIPT_FD}"], env, user, fds | {SCRIPT_FD: script})
        finally:
            os.close(script)

    # -- while it runs
    def on_eof(self, kind: int) -> None:
        if self._inlet is None:
            return
        if self._tty:  # a terminal has no end; an end-of-file character in mid-line only hands the line over
            self._inlet.feed(b"\x04\x04" if self._last not in (b"", b"\n") else b"\x04")
        else:
            self._inlet.end()

    def on_credit(self) -> None:
        for outlet in self._outlets:
            outlet.resume()

    def on_control(self, message: dict[str, Any]) -> None:
        if message.get("kill"):
            self._kill()
        elif "rows" in message:
            self._size = (int(message["rows"]), int(message["cols"]))
            self._resize()

    def _kill(self) -> None:
        self._killed = True
        if self._status is not None:
            self._deliver_rest()
        elif self._process is not None:
            self._process.kill()

    def _resize(self) -> None:
        if self._master >= 0 and (not self._outlets or self._outlets[0].open):
            size = struct.pack("HHHH", *(min(max(side, 0), 0xFFFF) for side in self._size), 0, 0)
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    # -- the end
    def _exited(self, status: int) -> None:
        self._status = status
        if self._inlet is not None:
            self._inlet.close()
        if self._tty:
            self.link.loop.after(TTY_SETTLE, self._deliver_rest)
            self._delivered(0)  # (where the terminal has told its end before the process did)
        else:
            self._deliver_rest()

    def _deliver_rest(self) -> None:
        """What is in the pipes now was written before the end; what comes later is from children left behind."""
        if self.ended:
            return
        # Whoever had the command killed may not read on, and its end must not wait for that.
        room = max(self.credit, 0) if self._killed else None
        for outlet in list(self._outlets):
            size = outlet.waiting() if room is None else min(outlet.waiting(), room)
            room = None if room is None else room - size
            outlet.finish_with(size)
        self._delivered(0)

    def _delivered(self, eof: int) -> None:
        """An outlet has come to its end, or the command has: is that all?"""
        if eof and not self.ended:
            self.link.send(wire.frame(eof, self.ident))
        if self._status is not None and not any(outlet.open for outlet in self._outlets):
            self.finish(exit=self._status)

    def closed(self, epoch_over: bool) -> None:
        """As when an SSH connection is lost: the terminal hangs up, pipes are closed."""
        for outlet in self._outlets:
            outlet.close()
        if self._inlet is not None:
            self._inlet.close()
        if self._process is not None and self._process.running:
            if epoch_over:
                self._executor.orphaned(self._process)
            else:
                self._process.kill()
