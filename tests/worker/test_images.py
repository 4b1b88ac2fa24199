"""Images that a daemon was killed at, and a start that cannot remove them either."""

from __future__ import annotations

from pathlib import Path

import pytest

from openboxd.pool import DirectoryPool
from tests.fakes.killing import DaemonKilled
from tests.worker.world import OWNER, World


async def test_what_one_start_cannot_remove_the_next_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    await world.start()
    await world.image()
    directory = world.pool.image_dir(world.store.images()[0].digest)
    world.fault = world.switch.killing_at("before discard")
    with pytest.raises(DaemonKilled):
        await world.control.remove_image(OWNER, "debian-13")
    world.drop()
    world.fault = lambda point: None
    discard = DirectoryPool.discard

    def broken(self: DirectoryPool, path: Path) -> None:
        if path == directory:
            raise OSError(5, "Input/output error")
        discard(self, path)

    with monkeypatch.context() as patched:
        patched.setattr(DirectoryPool, "discard", broken)
        await world.start()
        assert directory.exists()
        assert list(world.control.images(OWNER)) == []
        await world.stop()
    await world.start()
    try:
        assert not directory.exists()
        assert list(world.store.open_operations()) == []
    finally:
        await world.close()
