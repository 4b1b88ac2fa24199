"""Which images are kept warm for which sizes: after a build, by order, and after a machine had to boot."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from openboxd.control import sizes
from openboxd.errors import BoxdError, InvalidArgument
from openboxd.model import Image, Progress, Size
from openboxd.ports import Report
from openboxd.worker import shelf, template
from openboxd.worker.admission import RESERVE_BYTES
from openboxd.worker.drivers import Drivers
from openboxd.worker.job import Job

LOOK_AGAIN = 5.0
"""Seconds until a host that is busy, or a pool that is full, is looked at again."""

pause = asyncio.sleep
"""What tests replace."""

WISHES = 8
"""Templates that wait to be made in the background; the oldest wish gives way to a new one."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Wish:
    image: Image
    size: Size


class Warming:
    """Makes templates, one at a time: each is a guest that boots."""

    def __init__(self, drivers: Drivers) -> None:
        self._drivers = drivers
        self._turn = asyncio.Lock()
        self._wishes: deque[_Wish] = deque(maxlen=WISHES)
        self._working: asyncio.Task[None] | None = None
        self._waiting: set[asyncio.Task[None]] = set()

    @property
    def is_on(self) -> bool:
        """Whether new machines go on from templates, and templates are made unasked."""
        return self._drivers.settings.warm

    def sizes(self, digest: str) -> list[Size]:
        """Sizes in which machines of an image need no boot."""
        return template.kept_sizes(self._drivers.pool, digest) if self.is_on else []

    @asynccontextmanager
    async def template(self, digest: str, size: Size) -> AsyncIterator[Path | None]:
        """A template that a new machine can go on from, if there is one; it is kept for the time of the block."""
        if not self.is_on:
            yield None
            return
        directory, holds = template.template_dir(self._drivers.pool, digest, size), self._drivers.holds
        async with holds.hold(directory, "a machine is being made from it"):
            found = None if directory in holds.leaving else await template.usable(self._drivers, digest, size)
            if found is not None:
                shelf.note_use(found)
            yield found

    async def after_build(self, image: Image, report: Report) -> None:
        """Warm a new image for the default size, if builds are to. A build does not fail with it."""
        if not (self.is_on and self._drivers.settings.warm_builds):
            return
        try:
            await self._make(_Wish(image, sizes.choose_size(0, 0)), report)
        except InvalidArgument:
            log.info("this host is too small for a machine of the default size: no template is made")
        except BoxdError as error:
            log.warning("image %s has no template: %s", image.name, error)

    async def make(self, image: Image, size: Size) -> AsyncIterator[Progress | Image]:
        """Make a template now, unless there is one; progress, then the image. Raises what went wrong."""
        if await template.usable(self._drivers, image.digest, size) is None:
            news: asyncio.Queue[Progress | None] = asyncio.Queue()
            making = asyncio.create_task(self._make(_Wish(image, size), news.put_nowait))
            making.add_done_callback(lambda _: news.put_nowait(None))
            try:
                while (item := await news.get()) is not None:
                    yield item
            finally:
                making.cancel()
                await asyncio.wait([making])
            making.result()
        yield image

    def want_after(self, job: Job, image: Image, size: Size) -> None:
        """A machine has to boot: make a template in the background once it has."""
        if self.is_on:
            waiting = asyncio.create_task(self._want_after(job, _Wish(image, size)), name="wish for a template")
            self._waiting.add(waiting)
            waiting.add_done_callback(self._waiting.discard)

    async def _want_after(self, job: Job, wish: _Wish) -> None:
        try:
            await job.done()
        except BoxdError:
            return  # a guest that does not start is not worth keeping
        if wish not in self._wishes:
            self._wishes.append(wish)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work(), name="templates")

    async def _work(self) -> None:
        while self._wishes:
            wish = self._next()
            if wish is None:
                await pause(LOOK_AGAIN)
                continue
            self._wishes.remove(wish)
            try:
                if await template.usable(self._drivers, wish.image.digest, wish.size) is None:
                    await self._make(wish, lambda progress: None)
            except BoxdError as error:
                log.warning("image %s has no template for this size: %s", wish.image.name, error)

    def _next(self) -> _Wish | None:
        """The oldest wish that there is room for, once a boot in the background is in nobody's way."""
        if os.getloadavg()[0] >= (os.cpu_count() or 1):
            return None
        free = self._drivers.pool.space().free_bytes
        return next((wish for wish in self._wishes if free >= wish.size.memory_bytes // 4 + RESERVE_BYTES), None)

    async def _make(self, wish: _Wish, report: Report) -> None:
        async with self._turn:
            await template.make(self._drivers, wish.image, wish.size, report)
            made = template.template_dir(self._drivers.pool, wish.image.digest, wish.size)
            await shelf.trim(self._drivers, made)
        log.info("image %s is warm for %d vCPU, %d bytes", wish.image.name, wish.size.vcpu, wish.size.memory_bytes)

    async def close(self) -> None:
        """Stop; what is under way leaves nothing."""
        tasks = [*self._waiting, *([self._working] if self._working else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
