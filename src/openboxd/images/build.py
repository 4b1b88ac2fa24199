"""Building an image: packages -> tree -> ext4 in a raw file, kernel and initrd beside it, a manifest.

Nothing is mounted on the host. Every program runs in a mount and PID namespace of its own (for an ordinary user
also a user namespace), so that when it ends, fails or is killed, its mounts and children are gone with it.

    <staging>/   disk.raw  vmlinuz  initrd  manifest.json      the result; the caller publishes it
                 .work/    tree/ tmp/                          removed however the build ends
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from openboxd.errors import OperationFailed
from openboxd.host import files, programs
from openboxd.images import initrd, steps
from openboxd.images.recipe import Recipe, TreeFile
from openboxd.model import Image, Progress

MANIFEST = "manifest.json"
_DEBOOTSTRAP_LIMIT = 3600.0  # seconds; a slow mirror is not a failure
_STEP_LIMIT = 600.0
_EPOCH = "1767225600"  # 2026-01-01: files made by the build carry no time of their own


class Report(Protocol):
    """Takes progress; never blocks, never raises."""

    def __call__(self, progress: Progress, /) -> None: ...


@dataclass(frozen=True)
class _Place:
    """The paths of one build."""

    staging: Path

    @property
    def work(self) -> Path:
        return self.staging / ".work"

    @property
    def tree(self) -> Path:
        return self.work / "tree"

    @property
    def temporary(self) -> Path:
        return self.work / "tmp"


async def build(staging: Path, recipe: Recipe, report: Report, *, mirror: str = "") -> Image:
    """Build `recipe` into the existing empty directory `staging`.

    On failure or cancellation `staging` may hold a half-made disk, but no mount, process or foreign file is left.

    Raises:
        HostUnfit: a program is missing; the text names its package.
        OperationFailed: a step failed; the text has the program's last words.
    """
    place = _Place(staging)
    place.temporary.mkdir(parents=True, mode=0o700)
    try:
        await _make_tree(place, recipe, report, mirror)
        report(Progress("build", "make the disk", 0.85))
        await _make_disk(place, recipe)
        report(Progress("build", "make the initrd", 0.95))
        return await asyncio.to_thread(_finish, place, recipe)
    finally:
        await asyncio.shield(_remove_work(place))


def load(directory: Path) -> Image:
    """The image in a published directory. Raises OperationFailed if its manifest cannot be read."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text())
        return Image(
            digest=manifest["digest"],
            name=manifest["name"],
            created_at=manifest["built_at"],
            disk_bytes=manifest["disk_bytes"],
            kernel_version=manifest["kernel_version"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OperationFailed(f"the image {directory.name} has no readable manifest; remove and build it") from error


def _isolated(arguments: Sequence[str]) -> list[str]:
    """The arguments, run in namespaces of their own and with the umask a system's files need."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user", "--map-auto"]
    enter = ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*enter, "/bin/sh", "-c", 'umask 022; exec "$@"', "sh", programs.find(arguments[0]), *arguments[1:]]


def _environment(place: _Place) -> Mapping[str, str]:
    """Only what the programs need: the daemon's own variables may hold secrets."""
    kept = ("PATH", "http_proxy", "https_proxy", "no_proxy")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    return env | {
        "PATH": f"{env.get('PATH', os.defpath)}:/usr/sbin:/sbin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(place.temporary),
        "SOURCE_DATE_EPOCH": _EPOCH,
        "DEBIAN_FRONTEND": "noninteractive",
        "INITRD": "No",  # the kernel's package makes none: the image boots with ours
    }


async def _make_tree(place: _Place, recipe: Recipe, report: Report, mirror: str) -> None:
    early, late, script = (place.temporary / name for name in ("early.tar", "late.tar", "customize"))
    early.write_bytes(tar(recipe.early))
    late.write_bytes(tar(recipe.late))
    script.write_text("#!/bin/sh\n" + recipe.script)
    script.chmod(0o700)
    follower = steps.Follower(report)
    await programs.stream(
        _isolated(debootstrap_arguments(recipe, place.tree, early, late, script, mirror)),
        follower.line,
        timeout=_DEBOOTSTRAP_LIMIT,
        env=_environment(place),
    )


def debootstrap_arguments(
    recipe: Recipe, tree: Path, early: Path, late: Path, script: Path, mirror: str
) -> list[str]:
    """How mmdebstrap is called. Pure; compared with a golden list."""
    options = [
        "--mode=root",
        "--format=directory",
        "--variant=minbase",
        f"--include={','.join(recipe.packages)}",
        '--aptopt=APT::Install-Recommends "false"',
        # The download directory lies in a private place, where apt's own user cannot go.
        '--aptopt=APT::Sandbox::User "root"',
        "--dpkgopt=force-unsafe-io",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        "--dpkgopt=path-exclude=/usr/share/info/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        f"--essential-hook=tar-in {early} /",
        f"--customize-hook=tar-in {late} /",
        f"--customize-hook={script}",
    ]
    return ["mmdebstrap", *options, recipe.suite, str(tree), *([mirror] if mirror else [])]


async def _make_disk(place: _Place, recipe: Recipe) -> None:
    raw, disk = place.work / "disk.raw", place.staging / "disk.raw"
    # mke2fs reserves blocks for what it zeroes; a copy keeps only the bytes that mean something
    copy = ["cp", "--sparse=always", "--reflink=never", str(raw), str(disk)]
    for arguments in (disk_arguments(recipe, place.tree, raw), copy):
        await programs.stream(_isolated(arguments), lambda line: None, timeout=_STEP_LIMIT, env=_environment(place))
    disk.chmod(0o600)


def disk_arguments(recipe: Recipe, tree: Path, disk: Path) -> list[str]:
    """How mke2fs is called. Pure.

    The inode tables are written out (and become holes again), because the kernel would otherwise write them in the
    background of every new machine, and so into its first checkpoint.
    """
    identity = str(uuid.UUID(hex=recipe.digest))
    extended = f"lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed={identity},root_owner=0:0"
    options = [
        "-q",
        "-F",
        "-t",
        "ext4",
        "-O",
        "has_journal",
        "-J",
        "size=64",
        "-m",
        "1",
        "-L",
        "root",
        "-U",
        identity,
    ]
    return ["mke2fs", *options, "-E", extended, "-d", str(tree), str(disk), f"{recipe.disk_bytes // 1024}k"]


def _finish(place: _Place, recipe: Recipe) -> Image:
    version = initrd.kernel_version(place.tree)
    kernel = (place.tree / f"boot/vmlinuz-{version}").read_bytes()
    ramdisk = initrd.build(place.tree, recipe.modules, recipe.init)
    files.write_atomic(place.staging / "vmlinuz", kernel)
    files.write_atomic(place.staging / "initrd", ramdisk)
    image = Image(recipe.digest, recipe.name, int(time.time()), recipe.disk_bytes, version)
    manifest = {
        "format": 1,
        "digest": image.digest,
        "name": image.name,
        "suite": recipe.suite,
        "built_at": image.created_at,
        "kernel_version": version,
        "disk_bytes": image.disk_bytes,
        "disk_allocated_bytes": (place.staging / "disk.raw").stat().st_blocks * 512,
        "kernel_bytes": len(kernel),
        "initrd_bytes": len(ramdisk),
        "packages": package_versions((place.tree / "var/lib/dpkg/status").read_text()),
    }
    files.write_atomic(place.staging / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode() + b"\n")
    return image


def package_versions(status: str) -> dict[str, str]:
    """Package -> version of what dpkg's status file lists as installed."""
    found: dict[str, str] = {}
    for paragraph in status.split("\n\n"):
        lines = (line.partition(": ") for line in paragraph.splitlines() if not line.startswith(" "))
        fields = {key: value for key, _, value in lines}
        if fields.get("Status", "").endswith(" installed"):
            found[fields["Package"]] = fields["Version"]
    return found


def tar(members: Sequence[TreeFile]) -> bytes:
    """The files as a tar archive: owned by root, without times, the same bytes for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            info = tarfile.TarInfo(f".{member.path}")
            info.mode, info.uid, info.gid, info.mtime = member.mode, 0, 0, int(_EPOCH)
            if member.link:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, member.link, 0o777
                archive.addfile(info)
            else:
                info.size = len(member.data)
                archive.addfile(info, io.BytesIO(member.data))
    return buffer.getvalue()


async def _remove_work(place: _Place) -> None:
    """In the same namespaces as the build: an ordinary user does not own every file of the tree outside them."""
    await programs.stream(
        _isolated(["rm", "-rf", "--one-file-system", str(place.work)]), lambda line: None, timeout=_STEP_LIMIT
    )
