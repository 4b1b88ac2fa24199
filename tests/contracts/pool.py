"""What every pool must do; see `ports.Pool`. A subclass provides the fixture `pool`."""

from __future__ import annotations

from pathlib import Path

import pytest

from openboxd.errors import InvalidArgument
from openboxd.model import MIB
from openboxd.ports import Pool

MACHINE = "0f8fad5b-d9cb-469f-a165-70867728950e"
CHECKPOINT = "cp_abcdefghij234567abcd"
SNAPSHOT = "snap_abcdefghij234567abcd"


def filled(pool: Pool, **contents: bytes) -> Path:
    """A staging directory with one file per argument."""
    staging = pool.stage("test")
    for name, data in contents.items():
        (staging / name).write_bytes(data)
    return staging


class PoolContract:
    """Every pool passes these."""

    def test_versions_of_a_snapshot_lie_beside_each_other(self, pool: Pool) -> None:
        assert list(pool.snapshot_dirs()) == []
        for version in (1, 2):
            pool.publish(filled(pool, data=b"x"), pool.snapshot_dir(SNAPSHOT, version))
        both = pool.snapshot_dir(SNAPSHOT)
        assert list(pool.snapshot_dirs()) == [both]
        assert {path.name for path in both.iterdir()} == {"v1", "v2"}
        pool.discard(pool.snapshot_dir(SNAPSHOT, 1))
        assert [path.name for path in both.iterdir()] == ["v2"]
        pool.discard(both)
        assert list(pool.snapshot_dirs()) == []

    @pytest.mark.parametrize("identity", ["../up", "a/b", ".", "", "Up", "a\0b", "x" * 300])
    def test_no_id_of_a_snapshot_leads_out_of_its_place(self, pool: Pool, identity: str) -> None:
        with pytest.raises(InvalidArgument):
            pool.snapshot_dir(identity, 1)

    def test_a_staged_directory_is_new_empty_and_private(self, pool: Pool) -> None:
        one, two = pool.stage("save"), pool.stage("save")
        assert one != two
        assert list(one.iterdir()) == [] == list(two.iterdir())
        assert one.stat().st_mode & 0o077 == 0
        assert "save" in one.name

    @pytest.mark.parametrize("label", ["../../etc", "a/b", "", "v1.0", "x" * 300, "\0"])
    def test_no_label_leads_out_of_the_staging_area(self, pool: Pool, label: str) -> None:
        assert pool.stage(label).parent == pool.stage("plain").parent

    def test_a_clone_has_the_content_and_is_private(self, pool: Pool) -> None:
        staging = filled(pool, source=b"x" * MIB)
        pool.clone(staging / "source", staging / "target")
        assert (staging / "target").read_bytes() == b"x" * MIB
        assert (staging / "target").stat().st_mode & 0o077 == 0

    def test_later_writes_to_either_side_do_not_reach_the_other(self, pool: Pool) -> None:
        staging = filled(pool, source=b"old" * 100_000)
        pool.clone(staging / "source", staging / "target")
        with (staging / "source").open("r+b") as file:
            file.write(b"one")
        with (staging / "target").open("r+b") as file:
            file.seek(3)
            file.write(b"two")
        assert (staging / "source").read_bytes()[:9] == b"oneoldold"
        assert (staging / "target").read_bytes()[:9] == b"oldtwoold"

    def test_a_clone_keeps_holes(self, pool: Pool) -> None:
        staging = pool.stage("test")
        with (staging / "source").open("wb") as file:
            file.truncate(256 * MIB)
            file.seek(128 * MIB)
            file.write(b"middle")
        pool.clone(staging / "source", staging / "target")
        status = (staging / "target").stat()
        assert status.st_size == 256 * MIB
        assert status.st_blocks * 512 < 2 * MIB
        with (staging / "target").open("rb") as file:
            file.seek(128 * MIB)
            assert file.read(6) == b"middle"

    def test_an_empty_file_can_be_cloned(self, pool: Pool) -> None:
        staging = filled(pool, source=b"")
        pool.clone(staging / "source", staging / "target")
        assert (staging / "target").read_bytes() == b""

    def test_a_clone_never_replaces_a_file(self, pool: Pool) -> None:
        staging = filled(pool, source=b"new", target=b"old")
        with pytest.raises(FileExistsError):
            pool.clone(staging / "source", staging / "target")
        assert (staging / "target").read_bytes() == b"old"

    def test_cloning_what_is_not_there_leaves_nothing(self, pool: Pool) -> None:
        staging = pool.stage("test")
        with pytest.raises(FileNotFoundError):
            pool.clone(staging / "source", staging / "target")
        assert list(staging.iterdir()) == []

    def test_a_published_directory_has_moved_as_a_whole(self, pool: Pool) -> None:
        staging = filled(pool, one=b"1", two=b"2")
        final = pool.checkpoint_dir(MACHINE, CHECKPOINT)
        assert not final.exists()
        pool.publish(staging, final)
        assert {file.name: file.read_bytes() for file in final.iterdir()} == {"one": b"1", "two": b"2"}
        assert not staging.exists()

    def test_publishing_never_replaces_anything(self, pool: Pool) -> None:
        pool.publish(filled(pool, one=b"old"), pool.image_dir("abc"))
        second = filled(pool, one=b"new")
        with pytest.raises(OSError, match=r"."):
            pool.publish(second, pool.image_dir("abc"))
        assert (pool.image_dir("abc") / "one").read_bytes() == b"old"
        assert (second / "one").read_bytes() == b"new"

    def test_discarding_removes_a_tree_and_nothing_else(self, pool: Pool) -> None:
        for digest in ("one", "two"):
            pool.publish(filled(pool, file=digest.encode()), pool.image_dir(digest))
        pool.discard(pool.image_dir("one"))
        assert not pool.image_dir("one").exists()
        assert (pool.image_dir("two") / "file").read_bytes() == b"two"

    def test_discarding_twice_is_harmless(self, pool: Pool) -> None:
        pool.publish(filled(pool, one=b"1"), pool.machine_dir(MACHINE))
        pool.discard(pool.machine_dir(MACHINE))
        pool.discard(pool.machine_dir(MACHINE))
        pool.discard(pool.checkpoint_dir(MACHINE, CHECKPOINT))  # its parent is gone as well
        assert not pool.machine_dir(MACHINE).exists()

    def test_a_single_file_and_a_staging_directory_can_be_discarded(self, pool: Pool) -> None:
        staging = filled(pool, one=b"1", two=b"2")
        pool.discard(staging / "one")
        assert [file.name for file in staging.iterdir()] == ["two"]
        pool.discard(staging)
        assert not staging.exists()

    def test_discarding_a_link_does_not_follow_it(self, pool: Pool, tmp_path: Path) -> None:
        (tmp_path / "precious").write_bytes(b"stay")
        staging = pool.stage("test")
        (staging / "link").symlink_to(tmp_path)
        pool.discard(staging / "link")
        pool.discard(staging)
        assert (tmp_path / "precious").read_bytes() == b"stay"

    def test_a_discarded_clone_does_not_take_its_source_along(self, pool: Pool) -> None:
        staging, other = filled(pool, source=b"x" * MIB), pool.stage("test")
        pool.clone(staging / "source", other / "target")
        pool.discard(staging)
        assert (other / "target").read_bytes() == b"x" * MIB

    def test_usage_counts_what_is_allocated(self, pool: Pool) -> None:
        staging = filled(pool, one=b"x" * MIB, two=b"y" * MIB)
        with (staging / "sparse").open("wb") as file:
            file.truncate(1024 * MIB)
        pool.publish(staging, pool.image_dir("abc"))
        usage = pool.usage(pool.image_dir("abc"))
        assert 2 * MIB <= usage.exclusive_bytes + usage.shared_bytes < 3 * MIB

    def test_usage_of_nothing_is_zero(self, pool: Pool) -> None:
        usage = pool.usage(pool.image_dir("missing"))
        assert (usage.exclusive_bytes, usage.shared_bytes) == (0, 0)

    def test_weighing_counts_what_is_allocated(self, pool: Pool) -> None:
        one, two = filled(pool, a=b"x" * MIB), filled(pool, b=b"y" * 2 * MIB)
        assert MIB <= pool.weigh([one]) < 2 * MIB
        assert 3 * MIB <= pool.weigh([one, two]) < 4 * MIB
        assert 2 * MIB <= pool.weigh([two], beyond=[one]) < 3 * MIB
        assert pool.weigh([one / "missing"]) == pool.weigh([], beyond=[one]) == 0

    def test_recovery_empties_the_staging_area_and_nothing_else(self, pool: Pool) -> None:
        pool.recover()
        pool.publish(filled(pool, one=b"1"), pool.image_dir("abc"))
        filled(pool, half=b"1")
        pool.stage("empty")
        assert pool.recover() == 2
        assert pool.recover() == 0
        assert (pool.image_dir("abc") / "one").read_bytes() == b"1"
        assert pool.stage("after").is_dir()

    def test_space_is_that_of_a_real_filesystem(self, pool: Pool) -> None:
        space = pool.space()
        assert 0 < space.free_bytes <= space.total_bytes

    @pytest.mark.parametrize("bad", ["", ".", "..", "../x", "a/b", "/etc", "a\0b", "A", "a b", "a\n"])
    def test_ids_that_are_paths_are_refused(self, pool: Pool, bad: str) -> None:
        with pytest.raises(InvalidArgument):
            pool.image_dir(bad)
        with pytest.raises(InvalidArgument):
            pool.machine_dir(bad)
        with pytest.raises(InvalidArgument):
            pool.checkpoint_dir(MACHINE, bad)
