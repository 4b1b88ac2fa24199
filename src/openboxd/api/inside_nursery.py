"""Starting commands of guests: the process that they are born from, and a handle on each. See openboxd.cli.inside."""

from __future__ import annotations

import array
import asyncio
import contextlib
import errno
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openboxd.errors import InvalidArgument, Unavailable

PROGRAM = "openboxd.cli.inside"
PACKET = 120 * 1024
"""Bytes of a job: below what the other side reads at once, and what a socket takes as one packet."""
START_LIMIT = 60.0
"""Seconds until a command has begun; the first one waits until the program is loaded."""

UNDELIVERED = (BrokenPipeError, ConnectionResetError)
"""How a socket tells that the other side had ended before it read the packet."""
GONE = (ConnectionError, TimeoutError)
"""Faults of the process itself: it has ended or does not answer. Any other is one command's, as of descriptors."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Child:
    """A command that runs: `handle` (a pidfd) to end it by, `told` to read what it and its end tell."""

    handle: int
    told: int

    def signal(self, number: int) -> None:
        """Harmless when it is over."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def close(self) -> None:
        """Let go of the handles; the command must be over or be killed."""
        os.close(self.handle)
        os.close(self.told)


class Nursery:
    """The process, started when it is first needed and again if it has died."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._busy = asyncio.Lock()

    async def begin(self, job: Mapping[str, Any], streams: Sequence[int]) -> Child:
        """Start a command with these stdin, stdout and stderr, which stay the caller's to close.

        Raises:
            Unavailable: it cannot be started now.
            InvalidArgument: the job does not fit into a packet; nothing else is the worse for it.
        """
        packet = json.dumps(job).encode()
        if len(packet) > PACKET:
            raise InvalidArgument("the command line is too long")
        told, tells = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            async with self._busy:
                async with asyncio.timeout(START_LIMIT):
                    handle = await self._ask(packet, [*streams, tells])
        except OSError as error:
            os.close(told)
            log.warning("a command of a machine could not be started: %s", error)
            if isinstance(error, GONE):
                await self.close()
            raise Unavailable("the daemon could not start the command; try again") from None
        except BaseException:
            os.close(told)
            raise
        finally:
            os.close(tells)
        return Child(handle, told)

    async def _ask(self, packet: bytes, descriptors: list[int]) -> int:
        """A handle on the command. That the process has ended may be found out only by asking it, as an end is told
        by a thread some time later: then nothing has begun, and another process is asked."""
        try:
            return await self._ask_once(packet, descriptors)
        except UNDELIVERED:
            await self.close()
            return await self._ask_once(packet, descriptors)

    async def _ask_once(self, packet: bytes, descriptors: list[int]) -> int:
        control = await self._connected()
        loop = asyncio.get_running_loop()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        if control.sendmsg([packet], ancillary) != len(packet):
            raise OSError("the packet did not go out whole")
        answered = asyncio.Event()
        loop.add_reader(control, answered.set)
        try:
            await answered.wait()
        finally:
            loop.remove_reader(control)
        data, handles, _, _ = socket.recv_fds(control, 16, 1)
        if not data:
            raise ConnectionAbortedError("the process that commands are born from has ended")
        if not handles:  # without which it cannot be ended: it ends once its streams and its socket are gone
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        os.set_inheritable(handles[0], False)
        return handles[0]

    async def _connected(self) -> socket.socket:
        if self._control is None or self._process is None or self._process.returncode is not None:
            await self.close()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.setblocking(False)
            try:
                with theirs:
                    self._process = await _start(theirs)
            except BaseException:
                ours.close()
                raise
            self._control = ours
        return self._control

    async def close(self) -> None:
        """End it, and with it all commands. Harmless twice."""
        control, process, self._control, self._process = self._control, self._process, None, None
        if control is not None:
            control.close()
        if process is not None:
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _start(control: socket.socket) -> asyncio.subprocess.Process:
    """The program, which is told the number of its socket. It gets nothing of our environment."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-m",
        PROGRAM,
        str(control.fileno()),
        pass_fds=(control.fileno(),),
        env={"LANG": "C.UTF-8", "GRPC_VERBOSITY": "NONE"},
        stdin=asyncio.subprocess.DEVNULL,
        cwd="/",
    )
