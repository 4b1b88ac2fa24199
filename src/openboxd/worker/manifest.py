"""manifest.json of a capture: what it is, and what it needs to be loaded.

The format is versioned. The manifest carries a digest of itself and one of digests.json, which has those of the big
files: so a capture of which anything small is damaged, or anything big is missing, cut or has lost blocks, is refused
before anything is touched. Damage inside the big files is found by `verify`, which reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openboxd.errors import WrongState
from openboxd.host import digests
from openboxd.host.files import read_regular
from openboxd.model import Damage, SaveReport, Size
from openboxd.ports import Plan

FORMAT = 2
"""Format 1 had no digests; it is still read."""

NAME = "manifest.json"
FILES = ("memory.img", "devices.state", "disk.raw")
READ_AT_ONCE = ("devices.state",)
"""Files small enough to be read whole before every restore."""


@dataclass(frozen=True)
class Origin:
    """What a capture is of: its owner's id and name, the machine, the moment (epoch milliseconds), the hardware.

    `parent` is the id of the checkpoint that the machine descended from; empty = none.
    """

    capture: str
    machine: str
    name: str
    taken_at_ms: int
    size: Size
    parent: str = ""


def describe(origin: Origin, plan: Plan, report: SaveReport, staging: Path, qemu: str) -> dict[str, Any]:
    """The manifest of a capture that lies in `staging`. Sizes are in bytes, times in milliseconds since the epoch."""
    return {
        "format": FORMAT,
        "capture": origin.capture,
        "machine": origin.machine,
        "name": origin.name,
        "taken_at_ms": origin.taken_at_ms,
        "qemu": qemu,
        "plan": dict(plan),
        "size": asdict(origin.size),
        "parent": origin.parent,
        "report": asdict(report),
        "files": {name: (staging / name).stat().st_size for name in FILES},
        "digests": digests.seal(staging),
    }


def write(directory: Path, manifest: dict[str, Any]) -> None:
    """Write manifest.json into a staging directory; publishing syncs it."""
    sealed = {**manifest, "digest": _own_digest(manifest)}
    (directory / NAME).write_text(json.dumps(sealed, indent=1, sort_keys=True) + "\n")


def read(directory: Path, label: str, advice: str = "restore another checkpoint") -> dict[str, Any]:
    """Read a capture's manifest and check it against the files beside it, as far as that takes milliseconds.

    Raises:
        WrongState: the capture is damaged or of a newer format; `label` names it, e.g. "checkpoint 'a' on ...",
            and `advice` says what to do then.
    """
    try:
        manifest, described = load(directory)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(label, _reason(error), advice) from error
    if manifest["format"] not in (1, FORMAT):
        raise WrongState(f"{label} has format {manifest['format']}, this boxd reads {FORMAT}; nothing was touched")
    for name in FILES:
        if (found := digests.lost(directory, name, described[name])) is not None:
            raise _damaged(label, f"{name} {found.text}", advice)
    for name in READ_AT_ONCE:
        if manifest["format"] > 1 and digests.damages(directory, name, described[name]):
            raise _damaged(label, f"{name} is not what it was", advice)
    return manifest


def load(directory: Path) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """A capture's manifest and what digests.json says of its files.

    Raises:
        OSError, ValueError, KeyError, TypeError: one of the two is missing or damaged.
    """
    try:
        manifest = json.loads(read_regular(directory / NAME))
    except RecursionError:
        raise ValueError(f"{NAME} is not what it was") from None
    if manifest["format"] == FORMAT and manifest.pop("digest") != _own_digest(manifest):
        raise ValueError(f"{NAME} is not what it was")
    Size(**manifest["size"])
    if manifest["format"] != FORMAT:
        sizes = manifest.get("files", {})
        return manifest, {name: {"size": sizes.get(name, 0), "pieces": []} for name in FILES}
    described = digests.load(directory, manifest["digests"])
    return manifest, {name: described[name] for name in FILES}


def _own_digest(manifest: Mapping[str, Any]) -> str:
    return digests.digest(json.dumps(manifest, sort_keys=True).encode())


def damage(error: Exception) -> Damage:
    """What `load` raised, as damage of a file."""
    return Damage(digests.NAME if digests.NAME in _reason(error) else NAME, 0, 0, _reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{Path(error.filename).name} is missing"
    if type(error) is ValueError:
        return str(error)
    if isinstance(error, OSError) and error.filename:
        return f"{Path(error.filename).name} cannot be read"
    return f"{NAME} cannot be read"


def _damaged(label: str, reason: str, advice: str) -> WrongState:
    return WrongState(f"{label} is damaged and cannot be restored: {reason}; nothing was touched, {advice}")
