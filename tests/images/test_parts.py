"""The pure parts of a build: command line, archives, initrd, package list, progress."""

from __future__ import annotations

import io
import lzma
import subprocess
import tarfile
from pathlib import Path

import pytest

from openboxd.errors import InvalidArgument, OperationFailed
from openboxd.images import cmdline, initrd, load, steps, system
from openboxd.images.build import package_versions, tar
from openboxd.images.recipe import TreeFile
from openboxd.model import Progress

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def test_the_command_line_carries_the_identity() -> None:
    words = cmdline("web", UUID).split()
    assert "systemd.hostname=web" in words
    assert "systemd.machine_id=0f8fad5bd9cb469fa16570867728950e" in words
    assert {"root=/dev/vda", "rw", "console=ttyS0"} <= set(words)
    assert len(cmdline("x" * 40, UUID)) < 1024


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("web init=/bin/sh", UUID),
        ("", UUID),
        ("web\n", UUID),
        ("web", "x"),
        ("web", UUID + " single"),
        ("-web", UUID),
    ],
)
def test_nothing_can_be_smuggled_into_the_command_line(name: str, identity: str) -> None:
    with pytest.raises(InvalidArgument):
        cmdline(name, identity)


def test_files_become_an_archive_owned_by_root() -> None:
    data = tar([TreeFile("/etc/a", b"text", 0o440), TreeFile("/etc/b", link="/dev/null")])
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        one, two = archive.getmembers()
        content = archive.extractfile(one)
        assert content is not None
        assert content.read() == b"text"
    assert (one.name, one.mode, one.uid, one.gid) == ("./etc/a", 0o440, 0, 0)
    assert (two.name, two.issym(), two.linkname) == ("./etc/b", True, "/dev/null")
    assert data == tar([TreeFile("/etc/a", b"text", 0o440), TreeFile("/etc/b", link="/dev/null")])


def kernel_tree(root: Path) -> Path:
    """A tree with one kernel: module a needs b, b needs c; d is built in."""
    base = root / "usr/lib/modules/6.12.1"
    (base / "kernel").mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "bin/busybox").write_bytes(b"busybox")
    for name in "abc":
        (base / f"kernel/mod_{name}.ko.xz").write_bytes(lzma.compress(f"module {name}".encode()))
    (base / "modules.dep").write_text(
        "kernel/mod_a.ko.xz: kernel/mod_b.ko.xz kernel/mod_c.ko.xz\n"
        "kernel/mod_b.ko.xz: kernel/mod_c.ko.xz\nkernel/mod_c.ko.xz:\n"
    )
    (base / "modules.builtin").write_text("kernel/mod_d.ko\n")
    return root


def test_modules_come_unpacked_and_after_what_they_need(tmp_path: Path) -> None:
    found = initrd.module_files(kernel_tree(tmp_path), ["mod_d", "mod_a", "mod_b"])
    assert found == [("mod_c.ko", b"module c"), ("mod_b.ko", b"module b"), ("mod_a.ko", b"module a")]


def test_a_module_that_the_kernel_lacks_fails_the_build(tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match="no module mod_x"):
        initrd.module_files(kernel_tree(tmp_path), ["mod_x"])


def test_a_tree_with_two_kernels_fails_the_build(tmp_path: Path) -> None:
    (kernel_tree(tmp_path) / "usr/lib/modules/6.12.2").mkdir()
    with pytest.raises(OperationFailed, match="exactly one kernel; it has 2"):
        initrd.kernel_version(tmp_path)


def test_the_initrd_is_an_archive_that_busybox_understands(tmp_path: Path) -> None:
    data = initrd.build(kernel_tree(tmp_path), ["mod_a"], "#!/bin/busybox sh\n")
    done = subprocess.run(["busybox", "cpio", "-t"], input=data, capture_output=True, check=True)
    assert done.stdout.decode().split() == [
        *["bin", "dev", "modules", "root", "dev/console", "bin/busybox"],
        *["modules/00-mod_c.ko", "modules/01-mod_b.ko", "modules/02-mod_a.ko", "init"],
    ]
    assert data == initrd.build(tmp_path, ["mod_a"], "#!/bin/busybox sh\n")


def test_installed_packages_are_read_from_dpkgs_status() -> None:
    status = (
        "Package: a\nStatus: install ok installed\nVersion: 1.0-1\nDescription: x\n Version: 9\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 2\n\n"
        "Package: b\nStatus: hold ok installed\nVersion: 2:3\n"
    )
    assert package_versions(status) == {"a": "1.0-1", "b": "2:3"}


def test_progress_goes_forward_only_and_tells_each_step_once() -> None:
    seen: list[Progress] = []
    follower = steps.Follower(seen.append)
    for line in (
        "I: running apt-get update...",
        "Get:1 something",
        "I: installing essential packages...",
        "I: running apt-get update...",
        "I: running --customize-hook in shell: one",
        "I: running --customize-hook in shell: two",
        "I: cleaning package lists and apt cache...",
    ):
        follower.line(line)
    fractions = [progress.fraction for progress in seen]
    assert len(fractions) == 4
    assert fractions == sorted(fractions, key=lambda value: value or 0)
    assert {progress.operation for progress in seen} == {"build"}


def test_a_directory_without_a_manifest_is_no_image(tmp_path: Path) -> None:
    for text in (None, "{", "[]", "{}"):
        if text is not None:
            (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(OperationFailed, match="no readable manifest"):
            load(tmp_path)


def test_timers_that_would_fire_after_a_restore_are_masked() -> None:
    masked = {path.rsplit("/", 1)[1] for path, target in system.links().items() if target == "/dev/null"}
    assert {"apt-daily.timer", "apt-daily-upgrade.timer", "logrotate.timer", "man-db.timer", "fstrim.timer"} <= masked
    assert not masked & {"ssh.service", "systemd-logind.service", "systemd-networkd.service", "dbus.service"}
