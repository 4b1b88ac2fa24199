"""Power loss, by a model: what a start finds if the host dies after any call and what was not synced is lost.

The calls that matter are recorded while the real pool works on a real directory: making and renaming names, and
fsync of files and directories. The model keeps, for each directory, the names that are durable, and for each file
whether its content is. A prefix of the record is then a moment at which the power goes, and the worst case is looked
at: of what was not synced nothing is there, or (names are often written early) all of it is.

Not covered: torn single writes, disks that acknowledge what they do not keep, filesystems without a journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from openboxd.host import files
from openboxd.pool import DirectoryPool
from tests.worker.world import OWNER, World


def above(path: str) -> str:
    """The directory that a path is in; empty for the root."""
    return path.rpartition("/")[0]


@dataclass(frozen=True)
class Call:
    """What was done to which path (relative to the root); `to` for a rename."""

    kind: str  # "make", "rename", "remove", "sync"
    path: str
    to: str = ""


@dataclass
class Recorder:
    """Records calls below `root`."""

    root: Path
    calls: list[Call] = field(default_factory=list)

    def relative(self, path: str | os.PathLike[str]) -> str:
        return os.path.relpath(path, self.root)

    def note(self, kind: str, path: str | os.PathLike[str], to: str | os.PathLike[str] | None = None) -> None:
        self.calls.append(Call(kind, self.relative(path), self.relative(to) if to is not None else ""))


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """The calls of everything in this process, from now on."""
    found = Recorder(tmp_path)
    really_sync, really_rename, really_replace, really_mkdir = os.fsync, os.rename, os.replace, os.mkdir

    def sync(descriptor: int) -> None:
        really_sync(descriptor)
        found.note("sync", Path(f"/proc/self/fd/{descriptor}").readlink())

    def renaming(really: Callable[..., None]) -> Callable[..., None]:
        def rename(source: os.PathLike[str], target: os.PathLike[str], **more: object) -> None:
            really(source, target, **more)
            found.note("rename", source, target)

        return rename

    def mkdir(path: os.PathLike[str], mode: int = 0o777) -> None:
        really_mkdir(path, mode)
        found.note("make", path)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", renaming(really_rename))
    monkeypatch.setattr(os, "replace", renaming(really_replace))
    monkeypatch.setattr(os, "mkdir", mkdir)
    return found


@dataclass
class Disk:
    """What is durable: names (a path is there only if its parents are), and files whose content is."""

    names: set[str]
    whole: set[str]

    def after(self, calls: list[Call], *, eager: bool) -> Disk:
        """The disk when the power goes after `calls`. `eager`: names reach the disk at once, contents do not."""
        cache = set(self.names)
        durable = set(self.names)
        whole = set(self.whole)
        for call in calls:
            if call.kind == "make":
                cache.add(call.path)
            elif call.kind == "rename":
                for old in [name for name in cache if name == call.path or name.startswith(f"{call.path}/")]:
                    new = call.to + old[len(call.path) :]
                    cache.discard(old)
                    cache.add(new)
                    if old in whole:
                        whole.add(new)
            elif call.kind == "sync" and call.path in cache | {"."}:
                whole.add(call.path)
                inside = {name for name in cache if above(name) == ("" if call.path == "." else call.path)}
                gone = {name for name in durable if above(name) == call.path} - inside
                durable = {name for name in durable if not any(name == g or name.startswith(f"{g}/") for g in gone)}
                durable |= inside | {name for name in cache if any(name.startswith(f"{i}/") for i in inside)}
            if eager:
                durable = set(cache)
        return Disk(durable, whole)

    def has(self, name: str) -> bool:
        return name in self.names


FILES = ("memory.img", "devices.state", "disk.raw", "digests.json", "manifest.json")
STAGING, FINAL = "staging/cp", "machines/m/checkpoints/cp"


def tree(path: Path) -> set[str]:
    return {os.path.relpath(found, path) for found in path.rglob("*")}


def filled(pool: DirectoryPool) -> Path:
    directory = pool.root / STAGING
    directory.mkdir()
    for name in FILES:
        (directory / name).write_bytes(name.encode())
    return directory


def moments(recorder: Recorder, before: Disk) -> Iterator[tuple[int, Disk]]:
    """The disk after every prefix of the record, lazily and eagerly written."""
    for number in range(len(recorder.calls) + 1):
        for eager in (False, True):
            yield number, before.after(recorder.calls[:number], eager=eager)


def prepare(recorder: Recorder) -> tuple[DirectoryPool, Disk]:
    pool = DirectoryPool(recorder.root, "copy", "it is a test's")
    files.make_directory(recorder.root / "machines/m")
    filled(pool)
    disk = Disk(tree(recorder.root) - {f"{STAGING}/{name}" for name in FILES}, set())
    disk.names |= {f"{STAGING}/{name}" for name in FILES}
    recorder.calls.clear()
    return pool, disk


def test_a_published_checkpoint_is_whole_whenever_it_is_there(recorder: Recorder) -> None:
    pool, before = prepare(recorder)
    pool.publish(recorder.root / STAGING, recorder.root / FINAL)
    seen = set()
    for number, disk in moments(recorder, before):
        if disk.has(FINAL):
            seen.add(number)
            for name in FILES:
                assert disk.has(f"{FINAL}/{name}"), (number, name)
                assert f"{FINAL}/{name}" in disk.whole, f"after call {number} {name} has a name and no content"
    last = before.after(recorder.calls, eager=False)
    assert last.has(FINAL) and not last.has(STAGING), "when publish returns, that is durable: the row may say ready"
    assert seen, "the model has seen it"


def test_a_removed_checkpoint_is_whole_or_gone_and_stays_gone(recorder: Recorder) -> None:
    pool, before = prepare(recorder)
    pool.publish(recorder.root / STAGING, recorder.root / FINAL)
    published = before.after(recorder.calls, eager=False)
    recorder.calls.clear()
    pool.discard(recorder.root / FINAL)
    for number, disk in moments(recorder, published):
        if disk.has(FINAL):
            assert all(disk.has(f"{FINAL}/{name}") for name in FILES), number
    assert not published.after(recorder.calls, eager=False).has(FINAL), "the row may be forgotten now"


def test_files_are_unlinked_only_after_the_name_is_gone_for_good(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, _ = prepare(recorder)
    pool.publish(recorder.root / STAGING, recorder.root / FINAL)
    recorder.calls.clear()
    monkeypatch.setattr(files, "remove", lambda path: recorder.note("remove", path))
    pool.discard(recorder.root / FINAL)
    kinds = [(call.kind, above(call.path) if call.kind == "rename" else call.path) for call in recorder.calls]
    parent = above(FINAL)
    assert kinds[:3] == [("rename", parent), ("sync", parent), ("sync", "staging")]
    assert [kind for kind, _ in kinds[3:]] == ["remove"]


@pytest.mark.parametrize("how", ["restore", "wake"])
async def test_a_disk_is_swapped_for_one_whose_content_is_durable(recorder: Recorder, how: str) -> None:
    """On a pool that copies, where nothing but a sync writes what the copy holds. The row that names the new run and
    checkpoint comes after the swap: never a new row on the old disk."""
    world = World(recorder.root / "home")
    await world.start()
    try:
        home = recorder.relative(world.pool.machine_dir((await world.machine()).id))
        await world.save("good")
        if how == "wake":
            await world.control.hibernate_machine(OWNER, "web")
        recorder.calls.clear()
        if how == "wake":
            await world.control.wake_machine(OWNER, "web")
        else:
            await world.control.restore_checkpoint(OWNER, "web", "good")
        calls = [(call.kind, call.path) for call in recorder.calls]
        swap = calls.index(("rename", f"{home}/disk.next"))
        assert ("sync", f"{home}/disk.next") in calls[:swap]
        assert calls[swap + 1] == ("sync", home)
    finally:
        await world.close()


def test_a_file_written_atomically_has_its_content_before_its_name(recorder: Recorder) -> None:
    files.write_atomic(recorder.root / "key", b"secret")
    kinds = [call.kind for call in recorder.calls]
    assert kinds == ["sync", "rename", "sync"]
    assert recorder.calls[0].path == recorder.calls[1].path and recorder.calls[1].to == "key"
    assert recorder.calls[2].path == "."


def test_the_model_finds_a_missing_sync(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the test above would assert nothing."""
    pool, before = prepare(recorder)
    monkeypatch.setattr(files, "sync_tree", lambda path: None)
    pool.publish(recorder.root / STAGING, recorder.root / FINAL)
    bare = [
        number
        for number, disk in moments(recorder, before)
        if disk.has(FINAL) and f"{FINAL}/memory.img" not in disk.whole
    ]
    assert bare
