"""What lies in the pool at every step of a life: what docs/crash-safety.md says, and for nobody else to read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.model import MIB
from tests.worker.world import OWNER, World

PAGE = Path(__file__).parents[2] / "docs/crash-safety.md"
WORLD_ONLY = ("run",)
"""Where a fake host keeps what is in /run for a real one."""


@pytest.fixture
def umask() -> Iterator[None]:
    """That of a daemon."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
async def seen(umask: None, tmp_path: Path) -> dict[str, int]:
    """Modes by path of all that was in the home before and after any step of a life."""
    world = World(tmp_path / "home")
    found: dict[str, int] = {}

    def look(point: str) -> None:
        for path in world.home.rglob("*"):
            name = str(path.relative_to(world.home))
            if not name.startswith(WORLD_ONLY):
                found[name] = found.get(name, 0) | path.lstat().st_mode

    world.fault = look
    await world.start()
    try:
        await world.machine()
        async for _ in world.control.warm_image(OWNER, "", 1, 512 * MIB):
            pass
        await world.save("a")
        await world.snapshot("base")
        await world.control.restore_checkpoint(OWNER, "web", "a")
        await world.control.suspend_machine(OWNER, "web")
        await world.control.hibernate_machine(OWNER, "web")
        look("asleep")
        await world.control.wake_machine(OWNER, "web")
    finally:
        await world.close()
    return found


async def test_every_file_has_its_row_and_every_row_its_file(seen: dict[str, int]) -> None:
    said = re.findall(r"^\| `(pool/[^`]+)` \|", PAGE.read_text(), flags=re.MULTILINE)
    assert len(said) == len(set(said))
    rows = {
        row: re.compile(re.sub(r"<\w+>", "[^/]+", row.rstrip("/")) + ("(/.*)?" if row[-1] == "/" else ""))
        for row in said
    }
    files = [name for name, mode in seen.items() if name.startswith("pool/") and stat.S_ISREG(mode)]
    for name in files:
        assert any(pattern.fullmatch(name) for pattern in rows.values()), f"{name} is not on the page"
    for row, pattern in rows.items():
        assert any(pattern.fullmatch(name) for name in files), f"nothing lies at {row}"


async def test_nobody_else_may_read_any_of_it(seen: dict[str, int]) -> None:
    """At no step, also not what is half made: memory is full of secrets."""
    assert len(seen) > 40
    for name, mode in seen.items():
        assert stat.S_ISLNK(mode) or not mode & 0o077, f"{name} is {stat.filemode(mode)}"
