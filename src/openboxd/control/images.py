"""Images: built once per recipe digest, joined when asked for twice, kept while a machine boots their kernel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from openboxd.control.ports import ControlStore, ImageBuilder
from openboxd.control.warming import Warming
from openboxd.errors import BoxdError, HostUnfit, NotFound, OperationFailed, WrongState
from openboxd.model import Image, Progress, Size
from openboxd.ports import Pool
from openboxd.worker.images import journalled
from openboxd.worker.staging import Staging
from openboxd.worker.steps import Fault, Steps, to_the_end

log = logging.getLogger(__name__)


class Build:
    """A build under way: how far it is and its outcome, for everyone who waits."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self._last: Progress | Image | BoxdError | None = None
        self._news = asyncio.Event()

    def tell(self, item: Progress | Image | BoxdError) -> None:
        """The latest news; an image or an error is the last."""
        self._last = item
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self) -> AsyncIterator[Progress | Image]:
        """Progress as it comes, then the image; raises the build's error. Slow readers see only the latest."""
        shown: Progress | None = None
        while True:
            last, news = self._last, self._news
            if isinstance(last, BoxdError):
                raise last
            if last is not None and last is not shown:
                yield last
                if isinstance(last, Image):
                    return
                shown = last
                continue
            await news.wait()


class Images:
    """The images of this host."""

    def __init__(
        self, store: ControlStore, pool: Pool, builder: ImageBuilder, fault: Fault, warming: Warming
    ) -> None:
        self._store, self._pool, self._builder, self._fault = store, pool, builder, fault
        self._warming = warming
        self._builds: dict[str, Build] = {}

    @property
    def default(self) -> str:
        """Name of the image that machines get when none is named."""
        return self._builder.names()[0]

    def listed(self) -> Sequence[Image]:
        """All images, oldest first."""
        return list(self._store.images())

    def for_machine(self, name: str) -> Image:
        """The image a new machine boots. Raises NotFound, or HostUnfit if it was never built or the pool is gone."""
        self._pool.check()
        name = name or self.default
        image = self._store.image_named(name)
        if image is not None and self._pool.image_dir(image.digest).exists():
            return image
        if name in self._builder.names():
            raise HostUnfit(f"image '{name}' is not built yet; run: boxd image build")
        raise NotFound(f"image '{name}' not found; see: boxd image list")

    async def build(self, name: str) -> AsyncIterator[Progress | Image]:
        """Build an image, or join a build under way, or answer at once from the pool."""
        name = name or self.default
        if name not in self._builder.names():
            raise NotFound(f"image '{name}' not found; this boxd builds: {', '.join(self._builder.names())}")
        digest = self._builder.digest(name)
        found = self._store.image(digest)
        if found is not None and self._pool.image_dir(digest).exists():
            yield found
            return
        build = self._builds.get(digest)
        if build is None:
            build = self._builds[digest] = Build()
            build.task = asyncio.create_task(self._build(name, digest, build), name=f"build {name}")
        async for item in build.follow():
            yield item

    async def _build(self, name: str, digest: str, build: Build) -> None:
        try:
            image = await self._build_steps(name, digest, build)
            await self._warming.after_build(image, build.tell)
            build.tell(image)
        except BoxdError as error:
            build.tell(error)
        except asyncio.CancelledError:
            build.tell(OperationFailed(f"image '{name}' was not built: the daemon is stopping"))
            raise
        except Exception as error:
            log.exception("building image '%s' broke off", name)
            build.tell(OperationFailed(f"image '{name}' was not built: {error}"))
        finally:
            del self._builds[digest]

    async def _build_steps(self, name: str, digest: str, build: Build) -> Image:
        steps, final = Steps("build", fault=self._fault), self._pool.image_dir(digest)
        async with journalled(self._store, digest):
            try:
                await asyncio.to_thread(self._pool.discard, final)  # whole, but not on record: nobody's
                staging = await Staging(self._pool, "image").make(steps)
                image = await steps.run("build", lambda: self._builder.build(name, staging, build.tell))
                steps.undo("drop the image", lambda: asyncio.to_thread(self._pool.discard, final))
                await steps.run("publish", lambda: asyncio.to_thread(self._pool.publish, staging, final))
                steps.undo("forget the image", lambda: self._store.delete_image(digest))
                await steps.run("record", lambda: self._store.add_image(image))
                steps.commit()
            except BaseException:
                await steps.unwind()
                raise
        return image

    async def remove(self, name: str) -> None:
        """Remove every image of this name. Raises NotFound; WrongState naming what uses one."""
        images = [image for image in self._store.images() if name in (image.name, image.digest)]
        if not images:
            raise NotFound(f"image '{name}' not found; see: boxd image list")
        for image in images:
            if users := self._users(image.digest):
                raise WrongState(
                    f"image '{name}' was not removed: it is used by {', '.join(users)}; remove them first"
                )
        for image in images:
            await self._remove(image)

    async def _remove(self, image: Image) -> None:
        """Row first, bytes last. Whatever fails, it is on record exactly if its directory is there."""
        self._pool.check()
        directory = self._pool.image_dir(image.digest)
        steps = Steps("remove image", fault=self._fault)

        async def show_again() -> None:
            if directory.exists() and self._store.image(image.digest) is None:
                await self._store.add_image(image)

        async with journalled(self._store, image.digest):
            steps.undo("show it again", show_again)
            try:
                await steps.run("forget", lambda: self._store.delete_image(image.digest))
                await steps.run("discard", lambda: asyncio.to_thread(self._pool.discard, directory))
            except BaseException:
                await to_the_end(steps.unwind())
                raise

    def _users(self, digest: str) -> list[str]:
        """What needs an image, in words."""
        machines = [machine.name for machine in self._store.machines_using_image(digest)]
        return machines + [f"snapshot '{found.name}'" for found in self._store.snapshots_using_image(digest)]

    async def warm(self, name: str, size: Size) -> AsyncIterator[Progress | Image]:
        """Make the template of an image for a size, unless there is one. Raises NotFound, HostUnfit."""
        async for item in self._warming.make(self.for_machine(name), size):
            yield item

    async def close(self) -> None:
        """End builds under way; they leave nothing."""
        tasks = [build.task for build in self._builds.values() if build.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
