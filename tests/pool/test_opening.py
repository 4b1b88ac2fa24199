"""Opening the pool of a home: found, made, mounted again, or plain with a warning."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openboxd.errors import HostUnfit, OperationFailed, WrongState
from openboxd.host import mount, programs, reflink
from openboxd.model import GIB
from openboxd.pool import close_pool, open_pool, opening
from openboxd.settings import Settings

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A home on a filesystem without reflinks; its pool image is small, so that tests need little disk."""
    monkeypatch.setattr(opening, "LEAST_BYTES", GIB // 2)
    with without_reflinks(tmp_path) as directory:
        settings = Settings(home=directory / "home", pool_bytes=GIB // 2)
        yield settings
        close_pool(settings)


@contextmanager
def without_reflinks(directory: Path) -> Iterator[Path]:
    """The directory, or memory mounted on it where its filesystem has reflinks."""
    if not reflink.probe(directory)[0]:
        yield directory
        return
    if os.geteuid() != 0:
        pytest.skip("the temporary directory has reflinks, and only root can mount another filesystem")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g,mode=0700", "none", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@needs_root
def test_root_gets_a_reserved_xfs_image_that_survives_a_reboot(
    home: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pool = open_pool(home)
    assert "GiB are reserved" in caplog.text
    assert pool.kind == "reflink"
    assert mount.is_mounted(home.pool_dir)
    assert home.pool_image.stat().st_blocks * 512 >= home.pool_bytes
    assert home.pool_image.stat().st_mode & 0o077 == 0
    assert home.pool_dir.stat().st_mode & 0o077 == 0
    staging = pool.stage("image")
    (staging / "one").write_bytes(b"1")
    pool.publish(staging, pool.image_dir("abc"))

    assert open_pool(home).kind == "reflink"  # a second time changes nothing
    close_pool(home)
    close_pool(home)
    assert not mount.is_mounted(home.pool_dir)
    assert not pool.image_dir("abc").exists()

    again = open_pool(home)  # as after a reboot
    assert (again.image_dir("abc") / "one").read_bytes() == b"1"


@needs_root
def test_a_pool_in_use_is_not_unmounted(home: Settings) -> None:
    pool = open_pool(home)
    assert pool.kind == "reflink"
    with (pool.stage("busy") / "file").open("wb"), pytest.raises(WrongState, match="in use"):
        close_pool(home)
    assert mount.is_mounted(home.pool_dir)


@needs_root
def test_processes_that_start_at_once_mount_it_once(home: Settings) -> None:
    program = (
        "import sys; from pathlib import Path; from openboxd.settings import Settings; "
        "from openboxd.pool import open_pool, opening; opening.LEAST_BYTES = 1 << 29; "
        "print(open_pool(Settings(home=Path(sys.argv[1]), pool_bytes=1 << 29)).kind)"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(home.home)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    kinds = {process.communicate(timeout=60)[0].strip() for process in started}
    assert kinds == {"reflink"}
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(home.pool_dir) in line]
    assert len(mounts) == 1


def test_a_filesystem_with_reflinks_is_used_as_it_is(xfs: Path) -> None:
    settings = Settings(home=xfs / "home")
    assert open_pool(settings).kind == "reflink"
    assert not settings.pool_image.exists()


def test_without_root_the_pool_copies_and_says_so_once(
    home: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with caplog.at_level(logging.WARNING):
        pool = open_pool(home)
    assert pool.kind == "copy"
    assert "no reflinks" in pool.reason
    assert len(caplog.records) == 1
    assert "plain copies" in caplog.text
    assert not home.pool_image.exists()


def test_a_pool_that_cannot_be_mounted_is_never_shown_empty(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    home.home.mkdir()
    home.pool_image.write_bytes(b"")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostUnfit, match="not mounted"):
        open_pool(home)


def test_where_images_cannot_be_mounted_the_pool_copies(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(image: Path, directory: Path) -> None:
        raise OperationFailed("mount failed with status 32: no loop devices")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(mount, "mount_image", refuse)
    pool = open_pool(home)
    assert pool.kind == "copy"
    assert "loop devices" in pool.reason
    assert not home.pool_image.exists()


def test_an_image_never_hides_a_pool_that_is_in_use(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 1000)
        pool = open_pool(home)
    staging = pool.stage("image")
    pool.publish(staging, pool.image_dir("abc"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    again = open_pool(home)
    assert again.kind == "copy"
    assert again.image_dir("abc").is_dir()


def test_a_missing_program_is_named_with_its_package(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(programs, "locate", lambda program: None)
    with pytest.raises(HostUnfit, match=r"mkfs\.xfs is not installed.*xfsprogs"):
        open_pool(home)
    assert not home.pool_image.exists()


@pytest.mark.parametrize(
    ("wanted", "free", "size"),
    [
        (0, 1000 * GIB, 32 * GIB),
        (0, 20 * GIB, 8 * GIB),
        (0, 11 * GIB, 4 * GIB),
        (8 * GIB, 9 * GIB, 8 * GIB),
        (40 * GIB, 100 * GIB, 40 * GIB),
    ],
)
def test_the_size_of_a_new_image(wanted: int, free: int, size: int) -> None:
    assert opening.image_size(wanted, free) == size


@pytest.mark.parametrize(("wanted", "free"), [(0, 9 * GIB), (3 * GIB, 100 * GIB), (50 * GIB, 40 * GIB), (0, 0)])
def test_sizes_that_cannot_be_are_refused_with_numbers(wanted: int, free: int) -> None:
    with pytest.raises(HostUnfit, match=r"GiB"):
        opening.image_size(wanted, free)
