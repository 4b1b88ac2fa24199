"""The store as the daemon uses it: reads are plain calls, writes are awaited and durable when they return.

A read takes the last committed state and never waits for a writer, so it may be made on the event loop's thread.
Writes are queued for one thread, see `writer`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openboxd.model import (
    ApiKey,
    Checkpoint,
    CustomDomain,
    Event,
    ExposedPort,
    Image,
    Machine,
    Operation,
    Route,
    Snapshot,
    SshKey,
    User,
)
from openboxd.store import (
    accounts,
    checkpoints,
    domains,
    engine,
    events,
    facts,
    images,
    journal,
    machine_tokens,
    machines,
    routes,
    snapshots,
)
from openboxd.store.engine import translated
from openboxd.store.people import People
from openboxd.store.rows import encode
from openboxd.store.upgrade import bring_up
from openboxd.store.writer import Writer


def open_store(path: Path) -> SqlStore:
    """Open the store in `path`, make it if there is none, bring it up if it is older.

    Raises:
        HostUnfit: another daemon has it open, it is damaged, or a newer release made it.
        WrongState: the disk is full.
    """
    return SqlStore(path)


class SqlStore(People):
    """Everything boxd remembers. Implements `ports.Store`, and the rest is for control."""

    def __init__(self, path: Path) -> None:
        self._lock = engine.take_lock(path)
        writing = engine.writing_engine(path)
        try:
            engine.make_private_file(path)
            with translated(), writing.begin() as connection:
                bring_up(connection)
        except BaseException:
            writing.dispose()
            os.close(self._lock)
            raise
        self._writer = Writer(writing)
        self._reading = engine.reading_engine(path)
        self._closed = False

    def close(self) -> None:
        """Finish the writes that were asked for and let go of the file. Harmless twice."""
        if self._closed:
            return
        self._closed = True
        self._reading.dispose()
        self._writer.close()
        os.close(self._lock)

    # -- machines

    def machine(self, machine_id: str) -> Machine | None:
        return self._read(machines.by_id, machine_id)

    def machine_named(self, name: str) -> Machine | None:
        """The machine that bears this name now; destroyed ones have none."""
        return self._read(machines.by_name, name)

    def machines(self) -> Sequence[Machine]:
        return self._read(machines.alive)

    def machines_using_image(self, digest: str) -> Sequence[Machine]:
        """Machines that need this image, destroyed ones excluded."""
        return self._read(machines.of_image, digest)

    def addresses_in_use(self) -> frozenset[str]:
        """Addresses of all machines but the destroyed ones."""
        return self._read(machines.addresses)

    async def add_machine(self, machine: Machine) -> None:
        """Raises AlreadyExists; NotFound if its image is not in the store (any more)."""
        await self._writer.write(machines.add, machine)

    async def update_machine(self, machine_id: str, **values: Any) -> Machine:
        return await self._writer.write(machines.change, machine_id, values)

    # -- checkpoints

    def checkpoint(self, machine_id: str, name: str) -> Checkpoint | None:
        return self._read(checkpoints.by_name, machine_id, name)

    def checkpoints(self, machine_id: str) -> Sequence[Checkpoint]:
        return self._read(checkpoints.of_machine, machine_id)

    def removing_checkpoints(self) -> Sequence[Checkpoint]:
        return self._read(checkpoints.removing)

    async def begin_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._writer.write(checkpoints.begin, checkpoint)

    async def update_checkpoint(self, checkpoint_id: str, **values: Any) -> None:
        await self._writer.write(checkpoints.change, checkpoint_id, values)

    async def finish_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._writer.write(checkpoints.finish, checkpoint)

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        await self._writer.write(checkpoints.forget, checkpoint_id)

    # -- snapshots

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        return self._read(snapshots.by_id, snapshot_id)

    def snapshot_named(self, owner_id: str, name: str) -> Snapshot | None:
        """An account's snapshot of this name."""
        return self._read(snapshots.by_name, owner_id, name)

    def snapshots(self) -> Sequence[Snapshot]:
        return self._read(snapshots.all_snapshots)

    def snapshots_using_image(self, digest: str) -> Sequence[Snapshot]:
        """Snapshots whose machines need this image."""
        return self._read(snapshots.of_image, digest)

    def machines_of_snapshot(self, snapshot_id: str) -> int:
        """How many machines were made from it, or are being made; also of those that are gone."""
        return self._read(snapshots.machines_made, snapshot_id)

    async def begin_snapshot(self, snapshot: Snapshot) -> Snapshot:
        return await self._writer.write(snapshots.begin, snapshot)

    async def update_snapshot(self, snapshot_id: str, **values: Any) -> None:
        await self._writer.write(snapshots.change, snapshot_id, values)

    async def add_snapshot(self, snapshot: Snapshot) -> None:
        """Raises AlreadyExists."""
        await self._writer.write(snapshots.add, snapshot)

    async def delete_snapshot(self, snapshot_id: str) -> None:
        await self._writer.write(snapshots.forget, snapshot_id)

    # -- journal

    async def begin_operation(self, machine_id: str, kind: str, detail: Mapping[str, Any]) -> int:
        # Encoded here: the caller may change its mapping before the writer's turn comes.
        now = time.time_ns() // 1_000_000
        return await self._writer.write(journal.begin, machine_id, kind, encode(detail), now)

    async def step_operation(self, operation_id: int, step: str, **detail: Any) -> None:
        await self._writer.write(journal.step, operation_id, step, encode(detail))

    async def end_operation(self, operation_id: int) -> None:
        await self._writer.write(journal.end, operation_id)

    def open_operations(self) -> Sequence[Operation]:
        return self._read(journal.under_way)

    # -- facts

    def fact(self, name: str) -> str:
        return self._read(facts.value, name)

    async def keep_fact(self, name: str, value: str) -> None:
        await self._writer.write(facts.keep, name, value)

    # -- events

    async def add_event(self, event: Event) -> None:
        """Append to a machine's event log; the oldest beyond the limit are forgotten."""
        await self._writer.write(events.add, event)

    def events(self, machine_id: str, limit: int) -> Sequence[Event]:
        """The last `limit` events of a machine, oldest first."""
        return self._read(events.newest, machine_id, limit)

    # -- ways in

    def routes(self, machine_id: str) -> Sequence[Route]:
        """By name; the default one only while its port is pinned."""
        return self._read(routes.of_machine, machine_id)

    async def put_route(self, route: Route) -> None:
        """Add a route, or give it another port."""
        await self._writer.write(routes.put, route)

    async def delete_route(self, machine_id: str, name: str) -> None:
        """Harmless twice."""
        await self._writer.write(routes.remove, machine_id, name)

    def exposed_ports(self, machine_id: str) -> Sequence[ExposedPort]:
        """By port."""
        return self._read(routes.exposed_of, machine_id)

    async def put_exposed_port(self, exposed: ExposedPort) -> None:
        """Add an exposed port, or change what it is. Raises AlreadyExists if the public port is taken."""
        await self._writer.write(routes.expose, exposed)

    async def delete_exposed_port(self, machine_id: str, port: int) -> None:
        """Harmless twice."""
        await self._writer.write(routes.unexpose, machine_id, port)

    def public_ports_in_use(self) -> frozenset[int]:
        """Ports of the host that machines have, exposed ones and those for SSH."""
        return self._read(routes.public_ports)

    def custom_domains(self, machine_id: str = "") -> Sequence[CustomDomain]:
        """Of one machine or of all, by name."""
        return self._read(domains.listed, machine_id)

    async def add_custom_domain(self, domain: CustomDomain) -> None:
        """Raises AlreadyExists if it leads to a machine."""
        await self._writer.write(domains.add, domain)

    async def delete_custom_domain(self, domain: str) -> None:
        """Harmless twice."""
        await self._writer.write(domains.remove, domain)

    # -- images

    def image(self, digest: str) -> Image | None:
        return self._read(images.by_digest, digest)

    def image_named(self, name: str) -> Image | None:
        """The newest image of this name."""
        return self._read(images.by_name, name)

    def images(self) -> Sequence[Image]:
        """All images, newest first."""
        return self._read(images.all_images)

    async def add_image(self, image: Image) -> None:
        """Harmless if its digest is known."""
        await self._writer.write(images.add, image)

    async def delete_image(self, digest: str) -> None:
        """Forget an image. Harmless twice. Raises WrongState naming the machines that still need it."""
        await self._writer.write(images.remove, digest)

    # -- accounts

    def users(self) -> Sequence[User]:
        return self._read(accounts.all_users)

    def user(self, user_id: str) -> User | None:
        return self._read(accounts.user, user_id)

    async def add_user(self, user: User) -> None:
        """Raises AlreadyExists."""
        await self._writer.write(accounts.add_user, user)

    def api_key_by_digest(self, digest: str) -> ApiKey | None:
        """The key with this digest; whether it has expired is for the caller to see."""
        return self._read(accounts.api_key_by_digest, digest)

    def api_keys(self, user_id: str) -> Sequence[ApiKey]:
        """A user's keys, oldest first."""
        return self._read(accounts.api_keys_of, user_id)

    async def add_api_key(self, key: ApiKey, digest: str) -> None:
        """Raises NotFound (no such user), AlreadyExists."""
        await self._writer.write(accounts.add_api_key, key, digest)

    async def delete_api_key(self, key_id: str) -> None:
        """With its tokens. Harmless twice."""
        await self._writer.write(accounts.delete_api_key, key_id)

    async def touch_api_key(self, key_id: str, at: int) -> None:
        """Record that a key was used; harmless if it is gone."""
        await self._writer.write(accounts.touch_api_key, key_id, at)

    def token_by_digest(self, digest: str) -> tuple[ApiKey, int] | None:
        """The key behind a token, and when the token expires; what that means is for the caller to see."""
        return self._read(accounts.token_by_digest, digest)

    async def add_token(self, key_id: str, digest: str, expires_at: int, now: int) -> None:
        """Record a token; those that expired by `now` go. Raises NotFound if the key is gone."""
        await self._writer.write(accounts.add_token, key_id, digest, expires_at, now)

    def machine_token(self, digest: str) -> tuple[str, int] | None:
        """The id of the machine behind a token, and when the token expires."""
        return self._read(machine_tokens.owner_of, digest)

    async def add_machine_token(self, machine_id: str, digest: str, expires_at: int, now: int) -> None:
        """Record a token of a machine; those that expired by `now` go."""
        await self._writer.write(machine_tokens.add, machine_id, digest, expires_at, now)

    def ssh_keys(self, user_id: str) -> Sequence[SshKey]:
        """A user's SSH keys, by fingerprint."""
        return self._read(accounts.ssh_keys_of, user_id)

    async def link_ssh_key(self, key: SshKey) -> None:
        """Add or renew a key; the former key of the same device goes. Raises NotFound (no such user)."""
        await self._writer.write(accounts.link_ssh_key, key)

    async def unlink_ssh_key(self, user_id: str, fingerprint: str) -> None:
        """Harmless twice."""
        await self._writer.write(accounts.unlink_ssh_key, user_id, fingerprint)
