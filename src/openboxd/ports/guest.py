"""The daemon's end of the channel to the agent in a guest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol

from openboxd.model import (
    ExecOutput,
    ExecRequest,
    Identity,
    Listing,
)


class ExecSession(Protocol):
    """A command that runs in the guest.

    Iterate `output()` to its end, then read `exit_code`. Output is held to the reader's pace. If the machine is
    restored, stopped or lost meanwhile, `output()` raises Interrupted.
    """

    exit_code: int | None

    def output(self) -> AsyncIterator[ExecOutput]:
        """Pieces of stdout and stderr until the command has ended. Background children do not hold it."""
        ...

    async def write(self, data: bytes) -> None:
        """Feed stdin; waits for credit. Silently drops data once the command has closed its stdin."""
        ...

    async def write_eof(self) -> None:
        """End of stdin (byte 0x04 on a tty). Harmless twice."""
        ...

    async def resize(self, cols: int, rows: int) -> None:
        """New size of the tty; ignored without one."""
        ...

    async def cancel(self) -> None:
        """End the whole process group: SIGTERM, then SIGKILL a little later. Returns at once; harmless twice."""
        ...


class GuestConnection(Protocol):
    """A TCP connection to a service of the guest, made by its agent; each direction is held to its reader's pace."""

    async def read(self) -> bytes:
        """The next piece; nothing once the service has ended its direction.

        Raises:
            Interrupted: the service cut the connection off, or the machine was restored, stopped or lost.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Send all of it; waits for credit. Dropped once the service has ended the connection. Raises Interrupted."""
        ...

    def write_eof(self) -> None:
        """No more data from here. Harmless twice."""
        ...

    def close(self) -> None:
        """End both directions now. Harmless twice."""
        ...


class GuestDatagrams(Protocol):
    """Datagrams to a UDP service of the guest and back, by a socket that the agent has made for one client. What
    cannot be passed on is dropped."""

    async def receive(self) -> bytes | None:
        """The next answer; None at the end. Raises Interrupted: the machine was restored, stopped or lost."""
        ...

    async def send(self, datagram: bytes) -> None:
        """Send one of at most 65507 bytes; waits for credit. Raises Interrupted."""
        ...

    def close(self) -> None:
        """End both directions now. Harmless twice."""
        ...


class GuestDialer(Protocol):
    """What an Agent offers to gates."""

    async def dial(self, port: int) -> GuestConnection:
        """Connect to a port on the guest's loopback (IPv4, then IPv6).

        Raises:
            InvalidArgument: no port has that number.
            WrongState: nothing answers there.
            Unavailable, Interrupted: the agent is not ready, or the channel is closed.
        """
        ...

    async def datagrams(self, port: int) -> GuestDatagrams:
        """A socket for datagrams to a port on the guest's loopback (IPv4); nobody has to listen there.

        Raises:
            InvalidArgument: no port has that number.
            NotSupported: the guest's agent is older than this.
            Unavailable, Interrupted: the agent is not ready, or the channel is closed.
        """
        ...

    async def listeners(self) -> Sequence[int]:
        """TCP ports somebody listens on in the guest, lowest first; its sshd's is among them."""
        ...


class Agent(GuestDialer, Protocol):
    """The daemon's end of the channel to the agent in one run."""

    @property
    def ready(self) -> bool:
        """The present epoch is in step: calls go straight through."""
        ...

    async def wait_ready(self, timeout: float) -> None:
        """Until the agent has answered and its clock is set.

        Raises:
            Unavailable: not within `timeout` seconds.
            Interrupted: the channel was closed.
        """
        ...

    @property
    def identity_refusal(self) -> str:
        """Why the guest is not who it was told to be at the beginning of the present epoch, as a clause; empty if it
        is, or if it was told nothing."""
        ...

    def rest(self) -> None:
        """The vCPUs stand still from now on: nothing is asked of the guest, and open streams wait. Harmless twice."""
        ...

    async def awaken(self, timeout: float) -> None:
        """The vCPUs run again; returns when the agent has answered and its clock is right. Open streams go on.

        Raises:
            Unavailable: not within `timeout` seconds; a new epoch is begun.
            Interrupted: the channel was closed.
        """
        ...

    async def exec(self, request: ExecRequest) -> ExecSession:
        """Start a command. Raises Unavailable if the agent is not ready."""
        ...

    async def upload(self, path: str, total_size: int, data: AsyncIterator[bytes]) -> int:
        """Write a file of exactly `total_size` bytes, atomically at its final name; the number written.

        Relative paths resolve to /home/boxd. The old content or nothing remains after any failure.

        Raises:
            NotFound: the parent directory does not exist.
            WrongState: the guest refused (no space, permission, is a directory); InvalidArgument: sizes differ.
        """
        ...

    async def download(self, path: str) -> tuple[int, AsyncIterator[bytes]]:
        """Size of a file, and its content in pieces. Raises NotFound, WrongState (a directory, permission)."""
        ...

    async def list_dir(self, path: str, limit: int) -> Listing:
        """Entries of a directory, at most `limit`. Raises NotFound, WrongState (not a directory, permission)."""
        ...

    async def mkdir(self, path: str) -> None:
        """Make one directory; its parent must exist. Raises NotFound, AlreadyExists, WrongState."""
        ...

    async def rename(self, old: str, new: str) -> None:
        """Rename or move. Raises NotFound, WrongState."""
        ...

    async def delete(self, path: str) -> None:
        """Delete a file or a tree. Raises NotFound, WrongState."""
        ...

    async def copy(self, old: str, new: str) -> None:
        """Copy a file or a tree. Raises NotFound, WrongState."""
        ...

    async def close(self, reason: str) -> None:
        """Close the channel; open streams raise Interrupted(reason). Harmless twice."""
        ...


class AgentConnector(Protocol):
    """Opens agent channels."""

    async def connect(self, socket: Path, label: str, identity: Identity | None = None) -> Agent:
        """Connect to a run's agent port and begin a new epoch; returns once connected, before the agent answers.
        From then on the channel is always read, reconnects by itself, and at every new epoch, before it is ready,
        tells the guest who it is, sets its clock and reseeds its random generator."""
        ...
