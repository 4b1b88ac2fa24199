"""The daemon's calls as methods: names and numbers in, messages of the wire out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openboxd.client.account import AccountCalls
from openboxd.client.changes import ChangeCalls
from openboxd.client.checkpoints import CheckpointCalls
from openboxd.client.connection import Connection, connected
from openboxd.client.endpoint import Endpoint
from openboxd.client.guest import GuestCalls
from openboxd.client.host import HostCalls
from openboxd.client.machines import MachineCalls
from openboxd.client.people import PeopleCalls
from openboxd.client.sleep import SleepCalls
from openboxd.client.snapshots import SnapshotCalls
from openboxd.client.ways import WayCalls


class Client(
    MachineCalls,
    ChangeCalls,
    WayCalls,
    CheckpointCalls,
    SnapshotCalls,
    SleepCalls,
    GuestCalls,
    HostCalls,
    AccountCalls,
    PeopleCalls,
):
    """Calls that wait for a machine to do something have no deadline: the daemon bounds them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


@asynccontextmanager
async def open_client(endpoint: Endpoint) -> AsyncIterator[Client]:
    """A client on a connection that stands.

    Raises:
        Unavailable: no daemon answers there.
    """
    async with connected(endpoint) as connection:
        yield Client(connection)
