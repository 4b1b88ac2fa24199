"""Images that are being built or removed: the journal knows them, so a daemon killed meanwhile leaves nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openboxd.errors import BoxdError
from openboxd.ports import Store
from openboxd.worker.drivers import Drivers
from openboxd.worker.steps import to_the_end

IMAGE = "image"
"""The journal's word for a build or a removal; recovery reads it."""

log = logging.getLogger(__name__)


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
    many. Any other that nobody knows stays: it is somebody's, if an older database was put back. One that cannot be
    discarded stays in the journal, for the next start."""
    count = 0
    for operation in drivers.store.open_operations():
        if operation.kind != IMAGE:
            continue
        try:
            count += await _drop(drivers, str(operation.detail["digest"]))
        except (BoxdError, OSError) as error:
            log.warning("an image that nobody has on record could not be removed: %s", error)
            continue
        await drivers.store.end_operation(operation.id)
    return count


async def _drop(drivers: Drivers, digest: str) -> int:
    directory = drivers.pool.image_dir(digest)
    if drivers.store.image(digest) is not None or not directory.exists():
        return 0
    await asyncio.to_thread(drivers.pool.discard, directory)
    return 1
