"""A tiny initrd: busybox, the one module that Debian's cloud kernel lacks for a virtio disk, and a short script.

Debian's own initramfs brings udev and takes seconds to boot without hardware virtualisation; ours has nothing to
find out. The archive is `newc` cpio, written here so that it is the same bytes for the same input.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openboxd.errors import OperationFailed

MODULES = ("virtio_blk",)

INIT = """\
#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /modules/*.ko; do $b insmod "$module"; done
n=0
while ! [ -b /dev/vda ]; do
    n=$((n + 1))
    if [ $n -gt 500 ]; then echo "boxd: the root disk did not appear"; exit 1; fi
    $b usleep 20000
done
if ! $b mount -t ext4 -o rw,noatime /dev/vda /root; then
    echo "boxd: the root disk cannot be mounted"
    exit 1
fi
$b mount -o move /dev /root/dev
exec $b switch_root /root /sbin/init "$@"
"""

_DIRECTORY, _FILE, _DEVICE = 0o040755, 0o100755, 0o020600


@dataclass(frozen=True)
class Entry:
    """One member of the archive."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def archive(entries: Iterable[Entry]) -> bytes:
    """The members as a newc cpio archive."""
    out = bytearray()
    for inode, entry in enumerate([*entries, Entry("TRAILER!!!", 0)], start=1):
        name = entry.name.encode() + b"\0"
        fields = (inode, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, *entry.device, len(name), 0)
        out += b"070701" + b"".join(b"%08X" % value for value in fields) + name
        out += bytes(-len(out) % 4)
        out += entry.data
        out += bytes(-len(out) % 4)
    return bytes(out)


def build(root: Path, modules: Sequence[str], init: str) -> bytes:
    """The initrd for the kernel in the tree `root`, as an uncompressed archive (nothing to unpack at boot)."""
    directories = [Entry(name, _DIRECTORY) for name in ("bin", "dev", "modules", "root")]
    console = Entry("dev/console", _DEVICE, device=(5, 1))
    busybox = Entry("bin/busybox", _FILE, (root / "bin/busybox").read_bytes())
    loaded = [
        Entry(f"modules/{index:02}-{name}", _FILE, data)
        for index, (name, data) in enumerate(module_files(root, modules))
    ]
    return archive([*directories, console, busybox, *loaded, Entry("init", _FILE, init.encode())])


def module_files(root: Path, names: Sequence[str]) -> list[tuple[str, bytes]]:
    """(file name, content) of the modules and what they depend on, in loading order; built-in ones are left out."""
    base = _module_directory(root)
    depends, builtin = _dependencies(base), (base / "modules.builtin").read_text()
    order: list[str] = []
    for name in names:
        path = next((path for path in depends if Path(path).name.split(".")[0] == name), None)
        if path is not None:
            # modules.dep lists what must be loaded last first
            order += [each for each in [*reversed(depends[path]), path] if each not in order]
        elif f"/{name}.ko" not in builtin:
            raise OperationFailed(f"the image's kernel has no module {name}")
    return [(Path(path).name.split(".")[0] + ".ko", _read_module(base / path)) for path in order]


def kernel_version(root: Path) -> str:
    """Version of the one kernel in the tree."""
    return _module_directory(root).name


def _module_directory(root: Path) -> Path:
    found = sorted((root / "usr/lib/modules").iterdir())
    if len(found) != 1:
        raise OperationFailed(f"the image must have exactly one kernel; it has {len(found)}")
    return found[0]


def _dependencies(base: Path) -> dict[str, list[str]]:
    lines = (line.partition(":") for line in (base / "modules.dep").read_text().splitlines())
    return {path: rest.split() for path, _, rest in lines}


def _read_module(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data
