"""What holds bytes of a pool that shares blocks: whatever is own is held by that alone."""

from __future__ import annotations

import os

from openboxd.control.holdings import KINDS, held
from openboxd.host import files
from openboxd.model import MIB, Usage
from openboxd.pool import DirectoryPool


def test_nothing_is_own_that_a_copy_holds_as_well(reflink_pool: DirectoryPool) -> None:
    image, machine = reflink_pool.image_dir("d1"), reflink_pool.machine_dir("m1")
    checkpoint = reflink_pool.checkpoint_dir("m1", "c1")
    for directory in (image, checkpoint):
        directory.mkdir(parents=True)
    for path, mib in ((image / "disk.raw", 8), (checkpoint / "memory.img", 2)):
        path.write_bytes(os.urandom(mib * MIB))
        files.sync_file(path)
    reflink_pool.clone(image / "disk.raw", machine / "disk.raw")
    expected = dict.fromkeys(KINDS, Usage(0, 0)) | {
        "image": Usage(0, 8 * MIB),
        "disk": Usage(0, 8 * MIB),
        "checkpoint": Usage(2 * MIB, 0),
    }
    assert held(reflink_pool, ["m1", "gone"], ["d1", "gone"]) == expected


def test_it_ends_when_it_is_of_no_use_any_more(copy_pool: DirectoryPool) -> None:
    machine = copy_pool.machine_dir("m1")
    machine.mkdir(parents=True)
    (machine / "disk.raw").write_bytes(os.urandom(MIB))
    assert held(copy_pool, ["m1"], [])["disk"] == Usage(MIB, 0)
    assert held(copy_pool, ["m1"], [], lambda: True)["disk"] == Usage(0, 0)
