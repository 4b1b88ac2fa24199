"""A guest that boots in seconds: a kernel, and busybox in an initrd written here.

It obeys shell lines on its agent port (or on its second serial... there is none: only the port), prints TICK
lines on the console, and can be told to dirty memory. It needs no disk.
"""

from __future__ import annotations

import lzma
import stat
from pathlib import Path

CMDLINE = "console=ttyS0 quiet panic=-1 reboot=k random.trust_cpu=on"

_INIT = r"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o size=80% tmp /tmp
for module in /modules/*.ko; do [ -e $module ] && insmod $module; done
for port in /sys/class/virtio-ports/*; do
    [ "$(cat $port/name)" = org.boxd.agent.0 ] && device=/dev/${port##*/}
done
n=0
dirty() { # a mix of noise, zeros and rewrites, for ever
    while :; do
        dd if=/dev/urandom of=/tmp/noise bs=64k count=160
        dd if=/dev/zero of=/tmp/noise bs=4k count=700 seek=300 conv=notrunc
        dd if=/tmp/noise of=/tmp/copy bs=1M
        dd if=/tmp/copy of=/tmp/noise bs=4k skip=33 seek=77 conv=notrunc
    done >/dev/null 2>&1
}
scribble() { # as fast as the CPU can: no save converges by itself
    while :; do dd if=/tmp/big of=/tmp/big2 bs=1M conv=notrunc; dd if=/tmp/big2 of=/tmp/big bs=1M conv=notrunc; done
}
echo READY >/dev/console
(while :; do n=$((n+1)); echo TICK $n >/dev/console; echo $n >/tmp/tick; sleep 0.2; done) &
while :; do
    while read -r line; do
        ( eval "$line" ) 2>&1
        echo "--done--"
    done 0<>$device 1>&0
    sleep 0.1
done
"""


def write_initrd(target: Path, busybox: Path, modules: tuple[Path, ...] = (), init: str = _INIT) -> None:
    """Write the guest's initrd; `modules` (.ko or .ko.xz) are loaded in the order given."""
    archive = bytearray()
    number = 0

    def add(name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        nonlocal number
        number += 1
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
        archive.extend(b"070701" + b"".join(b"%08X" % value for value in fields) + name.encode() + b"\0")
        archive.extend(bytes(-len(archive) % 4) + data)
        archive.extend(bytes(-len(archive) % 4))

    for directory in ("bin", "dev", "modules"):
        add(directory, stat.S_IFDIR | 0o755)
    add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    add("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes())
    for position, module in enumerate(modules):
        data = module.read_bytes()
        content = lzma.decompress(data) if module.suffix == ".xz" else data
        add(f"modules/{position}.ko", stat.S_IFREG | 0o644, content)
    add("init", stat.S_IFREG | 0o755, init.encode())
    add("TRAILER!!!", 0)
    target.write_bytes(archive)
