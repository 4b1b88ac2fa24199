"""Images that are being built or removed: the journal knows them, so a daemon killed meanwhile leaves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openboxd.ports import Store
from openboxd.worker.drivers import Drivers
from openboxd.worker.steps import to_the_end

IMAGE = "image"
"""The journal's word for a build or a removal; recovery reads it."""


@asynccontextmanager
async def journalled(store: Store, digest: str) -> AsyncIterator[None]:
    """Something is done about an image while the block runs."""
    journal = await store.begin_operation("", IMAGE, {"digest": digest})
    try:
        yield
    finally:
        await to_the_end(store.end_operation(journal))


async def drop_unrecorded(drivers: Drivers) -> int:
    """Discard images of which the journal says that something was done about them, and that are not on record; how
    many. Any other that nobody knows stays: it is somebody's, if an older database was put back."""
    count = 0
    for operation in drivers.store.open_operations():
        if operation.kind != IMAGE:
            continue
        digest = str(operation.detail["digest"])
        directory = drivers.pool.image_dir(digest)
        if drivers.store.image(digest) is None and directory.exists():
            await asyncio.to_thread(drivers.pool.discard, directory)
            count += 1
    return count
