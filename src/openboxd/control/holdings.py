"""What of the pool is held by what: disks, captures and images, own bytes and shared ones.

The filesystem says of each block whether several files hold it. So no block is counted as own twice; one that is
shared counts for each file that holds it, a copy as well as its original.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from openboxd.model import Usage
from openboxd.ports import Pool

KINDS = ("disk", "checkpoint", "hibernated", "snapshot", "image", "template")
"""What holds bytes. `hibernated` is the capture that a hibernated machine wakes from."""


def held(
    pool: Pool, machines: Collection[str], images: Collection[str], is_over: Callable[[], bool] = lambda: False
) -> dict[str, Usage]:
    """Bytes that each of KINDS holds, of these machines (ids) and images (digests) and of all snapshots.

    It asks for every extent of every file: call it in a thread. Between files it ends once `is_over`, and what it
    returns then is of no use.

    Raises:
        HostUnfit: the pool is not mounted, or was not all the time.
    """
    pool.check()
    own, shared = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for kind, path in _places(pool, machines, images):
        if is_over():
            break
        usage = pool.usage(path)
        own[kind] += usage.exclusive_bytes
        shared[kind] += usage.shared_bytes
    pool.check()
    return {kind: Usage(own[kind], shared[kind]) for kind in KINDS}


def _places(pool: Pool, machines: Collection[str], images: Collection[str]) -> Iterator[tuple[str, Path]]:
    """Files and directories by kind. Some may not exist, or not any more."""
    for machine in machines:
        home = pool.machine_dir(machine)
        yield from (("disk", path) for path in home.glob("disk.*"))
        yield from (("checkpoint", path) for path in home.glob("checkpoints/*"))
        yield "hibernated", home / "hibernated"
    for directory in pool.snapshot_dirs():
        yield "snapshot", directory
    for digest in images:
        home = pool.image_dir(digest)
        yield from (("image", path) for path in home.glob("*") if path.name != "template")
        yield from (("template", path) for path in home.glob("template/*"))
