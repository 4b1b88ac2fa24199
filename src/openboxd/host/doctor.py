"""What this host has and lacks, one finding a question; each says what to do.

The functions look at facts they are given or can read in passing; none starts a guest or changes anything.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from openboxd.host import programs, qemu_least
from openboxd.model import GIB, Accelerator, Finding, Space

PYTHON_LEAST = (3, 11)
ROOM_LEAST = 4 * GIB
ROOM_GOOD = 10 * GIB

OK, WARNING, MISSING = "ok", "warning", "missing"


def qemu(version: str | None, system: str) -> Finding:
    """QEMU by its version ("10.0.2"; None if it is not installed) on the distribution `system`."""
    remedy = qemu_least.remedy(system)
    if version is None:
        return Finding("QEMU", MISSING, "it is not installed", remedy)
    if qemu_least.is_too_old(version):
        text = f"{version} loses memory when it saves a machine; {qemu_least.TEXT} does not"
        return Finding("QEMU", MISSING, text, remedy)
    return Finding("QEMU", OK, version)


def qemu_version(program: str = "qemu-system-x86_64") -> str | None:
    """Version of the installed QEMU, or None."""
    if programs.locate(program) is None:
        return None
    match = re.search(r"version (\d+(?:\.\d+)+)", programs.run([program, "--version"]))
    return match[1] if match else None


def kvm_device(path: Path = Path("/dev/kvm")) -> Finding:
    """Whether /dev/kvm can be opened. That it opens does not mean that guests run: see `accelerator`."""
    if not path.exists():
        return Finding(
            "/dev/kvm", WARNING, "it does not exist", "enable virtualisation in the firmware or outer host"
        )
    if not os.access(path, os.R_OK | os.W_OK):
        return Finding("/dev/kvm", WARNING, "this user may not open it", "usermod -aG kvm USER, and log in again")
    return Finding("/dev/kvm", OK, "the device opens, which alone does not mean that guests run with it")


def accelerator(found: Accelerator) -> Finding:
    """The hypervisor's own verdict, which rests on a guest that really ran."""
    if found.name == "kvm":
        return Finding("acceleration", OK, found.reason)
    return Finding(
        "acceleration",
        WARNING,
        f"machines run in software, several times slower: {found.reason}",
        "boxd image build, if there is no image yet; else a host with working KVM",
    )


def pool(kind: str, reason: str) -> Finding:
    """Whether copies in the pool are free."""
    if kind == "reflink":
        return Finding("pool", OK, f"copies share blocks: {reason}")
    remedy = "put BOXD_HOME on XFS or btrfs, or run boxd as root so that it can mount an image"
    return Finding("pool", WARNING, f"every copy is a full copy: {reason}", remedy)


def no_pool(reason: str) -> Finding:
    """The pool was there when the daemon started, and is not."""
    return Finding("pool", MISSING, reason, "mount it again, or restart boxd")


def room(space: Space) -> Finding:
    """Free space of the pool."""
    text = f"{space.free_bytes / GIB:.1f} of {space.total_bytes / GIB:.1f} GiB are free"
    if space.free_bytes >= ROOM_GOOD:
        return Finding("space", OK, text)
    verdict = WARNING if space.free_bytes >= ROOM_LEAST else MISSING
    return Finding("space", verdict, text, "remove checkpoints or machines, or enlarge BOXD_POOL_SIZE or BOXD_HOME")


def program(name: str, purpose: str, *, needed: bool = True) -> Finding:
    """Whether a program is installed; without it `purpose` does not work."""
    path = programs.locate(name)
    if path is not None:
        return Finding(name, OK, path)
    package = programs.PACKAGES.get(name, name)
    return Finding(name, MISSING if needed else WARNING, f"without it {purpose}", f"apt install {package}")


def python(version: Sequence[int] = sys.version_info[:3]) -> Finding:
    """The interpreter that runs this."""
    text = ".".join(str(part) for part in version)
    if tuple(version[:2]) < PYTHON_LEAST:
        return Finding("Python", MISSING, f"{text} is too old; 3.11 is needed", "use Debian 12 or newer")
    return Finding("Python", OK, text)


PROGRAMS: Mapping[str, tuple[str, bool]] = {
    "mmdebstrap": ("no image can be built", True),
    "mke2fs": ("no image can be built", True),
    "mkfs.xfs": ("no pool with reflinks can be made", False),
    "caddy": ("machines have no HTTPS domains", False),
    "nft": ("machines have no network of their own", False),
}
"""Program -> (what fails without it, whether boxd is useless then)."""


def host(qemu_program: str = "qemu-system-x86_64") -> list[Finding]:
    """All findings that need nothing but the host."""
    found = [python(), qemu(qemu_version(qemu_program), qemu_least.distribution()), kvm_device()]
    return found + [program(name, text, needed=needed) for name, (text, needed) in PROGRAMS.items()]
