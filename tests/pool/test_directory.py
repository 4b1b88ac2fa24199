"""What is particular to pools on a real disk: shared blocks, a full filesystem, a crash in the middle."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openboxd.errors import WrongState
from openboxd.host import extents, files
from openboxd.model import MIB, Usage
from openboxd.pool import DirectoryPool
from openboxd.ports import Pool
from tests.host.xfs import mounted


def synced(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    files.sync_file(path)
    return path


def eventually(holds: Callable[[], bool], limit: float = 10.0) -> None:
    """XFS gives blocks of unlinked files back a moment later, and tells nobody when."""
    end = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < end, "XFS did not give the blocks back"
        time.sleep(0.01)


def test_it_is_the_workers_pool(copy_pool: DirectoryPool) -> None:
    pool: Pool = copy_pool
    assert pool.space().total_bytes


def test_a_clone_shares_its_bytes_until_they_are_written(reflink_pool: DirectoryPool) -> None:
    source, clone = reflink_pool.stage("source"), reflink_pool.stage("clone")
    synced(source / "disk.raw", os.urandom(8 * MIB))
    assert reflink_pool.usage(source) == Usage(8 * MIB, 0)
    reflink_pool.clone(source / "disk.raw", clone / "disk.raw")
    assert reflink_pool.usage(source) == reflink_pool.usage(clone) == Usage(0, 8 * MIB)

    with (clone / "disk.raw").open("r+b") as file:
        file.seek(2 * MIB)
        file.write(b"z" * MIB)
    files.sync_file(clone / "disk.raw")
    usage = reflink_pool.usage(clone)
    assert usage.shared_bytes == 7 * MIB
    assert MIB <= usage.exclusive_bytes < 2 * MIB


def test_weighing_counts_each_block_once_and_nothing_that_others_hold(reflink_pool: DirectoryPool) -> None:
    image, machine, checkpoint = (reflink_pool.stage(name) for name in ("image", "machine", "checkpoint"))
    (image / "disk.raw").write_bytes(os.urandom(8 * MIB))
    reflink_pool.clone(image / "disk.raw", machine / "disk.raw")
    assert reflink_pool.weigh([machine], [image]) == 0
    with (machine / "disk.raw").open("r+b") as disk:
        disk.write(os.urandom(2 * MIB))
    assert reflink_pool.weigh([machine], [image]) == 2 * MIB
    reflink_pool.clone(machine / "disk.raw", checkpoint / "disk.raw")
    assert reflink_pool.weigh([checkpoint], [image, machine]) == 0
    assert reflink_pool.weigh([machine, checkpoint], [image]) == 2 * MIB
    with (machine / "disk.raw").open("r+b") as disk:  # from here on the checkpoint alone holds what was there
        disk.write(os.urandom(MIB))
    assert reflink_pool.weigh([checkpoint], [image, machine / "disk.raw"]) == MIB
    assert reflink_pool.weigh([machine, checkpoint], [image]) == 3 * MIB


def test_bytes_become_exclusive_when_the_other_side_is_discarded(reflink_pool: DirectoryPool) -> None:
    source, clone = reflink_pool.stage("source"), reflink_pool.stage("clone")
    synced(source / "disk.raw", os.urandom(MIB))
    reflink_pool.clone(source / "disk.raw", clone / "disk.raw")
    reflink_pool.discard(source)
    eventually(lambda: reflink_pool.usage(clone) == Usage(MIB, 0))


def test_a_clone_takes_no_space(reflink_pool: DirectoryPool) -> None:
    staging = reflink_pool.stage("test")
    synced(staging / "disk.raw", os.urandom(32 * MIB))
    before = reflink_pool.space().free_bytes
    for number in range(8):
        reflink_pool.clone(staging / "disk.raw", staging / f"clone{number}")
    assert before - reflink_pool.space().free_bytes < 2 * MIB


def test_young_bytes_that_are_not_on_disk_yet_are_counted(reflink_pool: DirectoryPool) -> None:
    staging = reflink_pool.stage("test")
    (staging / "memory.img").write_bytes(os.urandom(4 * MIB))
    assert reflink_pool.usage(staging).exclusive_bytes >= 4 * MIB


def test_a_file_in_thousands_of_pieces_is_counted_whole(reflink_pool: DirectoryPool) -> None:
    pieces = 3000  # several calls of FIEMAP
    file = reflink_pool.stage("test") / "memory.img"
    with file.open("wb") as stream:
        stream.truncate(pieces * 64 * 1024)  # beyond its end XFS would reserve the gaps as well
        for number in range(pieces):
            stream.seek(number * 64 * 1024)
            stream.write(b"x" * 4096)
    usage = extents.tree_usage(file, reflinks=True)
    assert usage == Usage(pieces * 4096, 0)


def test_a_copy_pool_shares_nothing(copy_pool: DirectoryPool) -> None:
    staging = copy_pool.stage("test")
    synced(staging / "one", os.urandom(MIB))
    copy_pool.clone(staging / "one", staging / "two")
    usage = copy_pool.usage(staging)
    assert usage.shared_bytes == 0
    assert 2 * MIB <= usage.exclusive_bytes < 3 * MIB


def test_a_source_on_another_filesystem_is_copied(reflink_pool: DirectoryPool, tmp_path: Path) -> None:
    synced(tmp_path / "disk.raw", b"far" * MIB)
    staging = reflink_pool.stage("test")
    reflink_pool.clone(tmp_path / "disk.raw", staging / "disk.raw")
    assert (staging / "disk.raw").read_bytes() == b"far" * MIB


@pytest.mark.parametrize("kind", ["copy", "reflink"])
def test_a_copy_that_does_not_fit_is_refused_with_numbers_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    with mounted(tmp_path / "small") as point:
        pool = DirectoryPool(point / "pool", "copy" if kind == "copy" else "reflink", "it is told so")
        # in the reflink pool the source lies outside, so that its clone is a copy as well
        source = (pool.stage("source") if kind == "copy" else tmp_path) / "disk.raw"
        synced(source, os.urandom(160 * MIB))
        staging = pool.stage("clone")
        if kind == "reflink":
            synced(staging / "filler", os.urandom(100 * MIB))
        with pytest.raises(WrongState, match=r"full: \d+ MiB are free and up to 160 MiB are needed"):
            pool.clone(source, staging / "disk.raw")
        assert not (staging / "disk.raw").exists()
        pool.discard(staging)
        assert pool.recover() == (1 if kind == "copy" else 0)


def test_things_can_be_discarded_when_the_filesystem_is_full(tmp_path: Path) -> None:
    with mounted(tmp_path / "small") as point:
        pool = DirectoryPool(point / "pool", "reflink", "it is XFS")
        staging = pool.stage("hog")
        with (
            pytest.raises(OSError, match=r"No space left") as caught,
            (staging / "hog").open("wb", buffering=0) as file,
        ):
            while True:
                file.write(b"x" * MIB)
        assert caught.value.errno == errno.ENOSPC
        pool.discard(staging)
        eventually(lambda: pool.space().free_bytes > 100 * MIB)


def test_a_failed_publish_leaves_the_staging_directory_whole(
    copy_pool: DirectoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging = copy_pool.stage("test")
    (staging / "one").write_bytes(b"1")

    def fail(path: Path) -> None:
        raise OSError(errno.EIO, "the disk is ill")

    monkeypatch.setattr(files, "sync_tree", fail)
    with pytest.raises(OSError, match="ill"):
        copy_pool.publish(staging, copy_pool.image_dir("abc"))
    assert not copy_pool.image_dir("abc").exists()
    assert (staging / "one").read_bytes() == b"1"


def test_everything_is_synced_before_the_rename(copy_pool: DirectoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    synced_paths: list[Path] = []
    real = os.fsync

    def note(descriptor: int) -> None:
        synced_paths.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        real(descriptor)

    staging = copy_pool.stage("test")
    (staging / "sub").mkdir()
    (staging / "sub/deep").write_bytes(b"1")
    (staging / "one").write_bytes(b"1")
    final = copy_pool.checkpoint_dir("m1", "cp1")
    final.parent.mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", note)
    copy_pool.publish(staging, final)
    assert set(synced_paths[:4]) == {staging / "sub/deep", staging / "one", staging / "sub", staging}
    assert synced_paths[4:] == [final.parent, staging.parent]


def test_a_discard_that_was_cut_short_is_finished_by_recovery(
    copy_pool: DirectoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging = copy_pool.stage("test")
    (staging / "one").write_bytes(b"1")
    copy_pool.publish(staging, copy_pool.image_dir("abc"))

    def die(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(files, "remove", die)
        copy_pool.discard(copy_pool.image_dir("abc"))
    assert not copy_pool.image_dir("abc").exists()
    assert copy_pool.recover() == 1


def test_nothing_outside_the_pool_is_moved_or_removed(copy_pool: DirectoryPool, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    for path in (precious, copy_pool.root, copy_pool.root / "staging", copy_pool.root / "x/../../precious"):
        with pytest.raises(ValueError, match="pool"):
            copy_pool.discard(path)
    with pytest.raises(ValueError, match="pool"):
        copy_pool.publish(precious, copy_pool.image_dir("abc"))
    assert precious.is_dir()
