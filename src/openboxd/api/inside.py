"""What a machine finds at its doors: metadata and gRPC at one port, and the `boxd` command at another.

Calls from inside have a gRPC server of their own, at a socket that only the daemon can reach, and only the daemon
writes on a connection which run it comes from. So nothing that the other server takes can ever be a machine, and what
machines may send has narrower limits.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from openboxd.api.calls import Calls
from openboxd.api.door import Context, credential_in
from openboxd.api.exchange_http import serve_connection
from openboxd.api.front_peer import FROM_MACHINE, address_of, named_socket
from openboxd.api.inside_cli import Commands
from openboxd.api.inside_metadata import Metadata
from openboxd.api.inside_meter import Meter, Shares
from openboxd.api.inside_run import Serve
from openboxd.api.ports import Service
from openboxd.errors import BoxdError, Exhausted, Interrupted, Unauthenticated
from openboxd.host.files import remove
from openboxd.model import Caller
from openboxd.ports import GuestConnection

API, CLI = "api", "cli"
SOCKET, COMMANDS = "inside.sock", "inside"

PER_MACHINE, ALTOGETHER = 12, 1000
"""Connections to the API at a time."""

CALLS = 64
"""Calls of a machine at a time, over all its connections. With `inside_meter.SHARE` and the windows this bounds what
it can make the daemon hold: requests, and answers that it does not read."""

OPTIONS = (
    ("grpc.max_receive_message_length", 5 * 1024 * 1024 // 4),  # the SDK uploads in slices of 1 MiB
    ("grpc.max_concurrent_streams", 32),
    # Windows that do not grow: what nobody reads stays in the guest.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 64 * 1024),
)

AT_ONCE, RATE = 200.0, 50.0
"""Calls of one machine that are answered at once, and further ones a second: more would slow others down."""

SNIFF_LIMIT = 10.0
CHUNK = 64 * 1024
GRACE = 1.0


class Pace:
    """Lets calls through at a rate; those that come faster wait their turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, float] = {}  # by run: when the next call would be due at the rate

    def wait(self, run_id: str) -> float:
        """Seconds that a call which comes now has to wait."""
        now = self._clock()
        if len(self._next) > 10_000:
            self._next = {run: due for run, due in self._next.items() if due > now}
        due = max(self._next.get(run_id, 0.0), now - AT_ONCE / RATE) + 1 / RATE
        self._next[run_id] = due
        return max(0.0, due - now)


class Inside:
    """Serves the visits of all machines."""

    def __init__(self, service: Service, run_dir: Path, guards: Path) -> None:
        self._service = service
        self._socket = run_dir / SOCKET
        self.commands = Commands(run_dir / COMMANDS, guards, service.machine_inside, self._serving_commands)
        self._open: dict[str, int] = {}
        self._calls: Counter[str] = Counter()
        self._shares = Shares()
        self._pace = Pace()

    async def visit(self, run_id: str, door: str, connection: GuestConnection) -> None:
        """Serve a connection from a process of the machine that this run is, to its end.

        Raises:
            Unauthenticated, PermissionDenied: the run is no machine's, or the machine is isolated.
            Exhausted: too many. Interrupted: the guest's side went.
        """
        machine = self._service.machine_inside(run_id)
        if door == CLI:
            await self.commands.serve(machine, connection)
        elif door == API:
            if self._open.get(run_id, 0) >= PER_MACHINE or sum(self._open.values()) >= ALTOGETHER:
                raise Exhausted(f"machine '{machine.name}' has too many connections to the API")
            self._open[run_id] = self._open.get(run_id, 0) + 1
            try:
                await self._speak(run_id, connection)
            finally:
                self._open[run_id] -= 1
                if not self._open[run_id]:
                    del self._open[run_id]

    async def admit(self, service: Service, context: Context) -> Caller:
        """Who calls over a connection of ours."""
        address = address_of(context.peer())
        if not address.startswith(FROM_MACHINE):
            raise Unauthenticated("this call did not come from a machine")
        origin = address.removeprefix(FROM_MACHINE)
        if self._calls[origin] >= CALLS:
            raise Exhausted(f"{CALLS} calls of this machine are under way; nothing was done; wait for one to end")
        self._calls[origin] += 1
        ended: Any = partial(self._call_ended, origin)  # gRPC's types ask for a class that it does not have
        context.add_done_callback(ended)
        wait = self._pace.wait(origin)
        if wait:
            await asyncio.sleep(wait)
        return service.inside_caller(origin, credential_in(context.invocation_metadata()))

    def _call_ended(self, origin: str, _: Context) -> None:
        self._calls[origin] -= 1
        if not self._calls[origin]:
            del self._calls[origin]

    # -- the API's door
    async def _speak(self, run_id: str, connection: GuestConnection) -> None:
        """HTTP/2 is gRPC, everything else HTTP/1.1."""
        head = b""
        async with asyncio.timeout(SNIFF_LIMIT):
            while len(head) < 3 and (data := await connection.read()):
                head += data
        if head[:3] == b"PRI":
            meter = Meter(self._shares, run_id)
            try:
                await _bridge(connection, head, *await self._dial(run_id), meter)
            finally:
                meter.close()
        elif head:
            await _answer(Metadata(self._service, run_id), connection, head)

    async def _dial(self, origin: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        client = named_socket(f"{FROM_MACHINE}{origin}")
        try:
            await asyncio.get_running_loop().sock_connect(client, str(self._socket))
            return await asyncio.open_unix_connection(sock=client, limit=CHUNK)
        except BaseException:
            client.close()
            raise

    # -- a command's socket
    def _serving_commands(self, machine_id: str) -> Serve:
        return lambda *ends: self._serve_command(machine_id, *ends)

    async def _serve_command(
        self, machine_id: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """A connection of a command that runs for the machine, and may outlive its run."""
        try:
            await _bridge(_Local(reader, writer), b"", *await self._dial(machine_id))
        except (OSError, BoxdError):
            pass  # the command has gone, or the daemon goes
        finally:
            writer.close()

    @asynccontextmanager
    async def serving(self, build: Callable[[Calls], grpc.aio.Server]) -> AsyncIterator[None]:
        """The gRPC server that `build` makes listens while the block runs."""
        calls = Calls()
        self._service.on_revoked(calls.revoke)
        server = build(calls)
        remove(self._socket)
        server.add_insecure_port(f"unix:{self._socket}")
        await server.start()
        self.commands.resume()
        try:
            yield
        finally:
            await self.commands.close()
            await calls.stop(GRACE)
            await server.stop(GRACE)


class _Local:
    """A connection on this host, as one of a guest's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes:
        return await self._reader.read(CHUNK)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def write_eof(self) -> None:
        if self._writer.can_write_eof():
            self._writer.write_eof()

    def close(self) -> None:
        self._writer.close()


async def _bridge(
    guest: GuestConnection,
    head: bytes,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    meter: Meter | None = None,
) -> None:
    """Pass bytes on, at the pace of the slower side, until the server's direction has ended, or either side fails.

    Raises what the meter raises, too: Exhausted, InvalidArgument."""

    async def inwards() -> None:
        data = head or await guest.read()
        while data:
            if meter is not None:
                meter.inwards(data)
            writer.write(data)
            await writer.drain()
            data = await guest.read()
        writer.write_eof()

    incoming = asyncio.create_task(inwards())
    outgoing = asyncio.create_task(_outwards(reader, guest, meter))
    try:
        await asyncio.wait([incoming, outgoing], return_when=asyncio.FIRST_EXCEPTION)
        for task in (incoming, outgoing):
            error = task.exception() if task.done() else None
            if error is not None and not isinstance(error, OSError):
                raise error
    finally:
        for task in (incoming, outgoing):
            task.cancel()
        await asyncio.wait([incoming, outgoing])
        writer.close()


async def _outwards(reader: asyncio.StreamReader, guest: GuestConnection, meter: Meter | None) -> None:
    while data := await reader.read(CHUNK):
        if meter is not None:
            meter.outwards(data)
        await guest.write(data)
    guest.write_eof()
    guest.close()


async def _answer(metadata: Metadata, connection: GuestConnection, head: bytes) -> None:
    """HTTP/1.1 over the guest's connection."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours, limit=CHUNK)
    served_reader, served_writer = await asyncio.open_unix_connection(sock=theirs, limit=CHUNK)
    serving = asyncio.create_task(serve_connection(served_reader, served_writer, metadata.answer))
    try:
        await _bridge(connection, head, reader, writer)
    except Interrupted:
        pass
    finally:
        serving.cancel()
        await asyncio.wait([serving])
        served_writer.transport.abort()
