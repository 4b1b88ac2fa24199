"""manifest.json of a capture: what it is, and what it needs to be loaded.

The format is versioned; a capture whose manifest is missing, damaged or of a newer format is refused before
anything is touched.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openboxd.errors import WrongState
from openboxd.model import Checkpoint, SaveReport, Size
from openboxd.worker.ports import Plan

FORMAT = 1
FILES = ("memory.img", "devices.state", "disk.raw")


def describe(checkpoint: Checkpoint, plan: Plan, report: SaveReport, staging: Path, qemu: str) -> dict[str, Any]:
    """The manifest of a capture that lies in `staging`. Sizes are in bytes, times in milliseconds since the epoch."""
    return {
        "format": FORMAT,
        "capture": checkpoint.id,
        "machine": checkpoint.machine_id,
        "name": checkpoint.name,
        "taken_at_ms": checkpoint.created_at_ms,
        "qemu": qemu,
        "plan": dict(plan),
        "size": asdict(checkpoint.size),
        "parent": checkpoint.parent,
        "report": asdict(report),
        "files": {name: (staging / name).stat().st_size for name in FILES},
    }


def write(directory: Path, manifest: dict[str, Any]) -> None:
    """Write manifest.json into a staging directory; publishing syncs it."""
    (directory / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def read(directory: Path, label: str) -> dict[str, Any]:
    """Read and check a capture's manifest against the files beside it.

    Raises:
        WrongState: the capture is damaged or of a newer format; `label` names it, e.g. "checkpoint 'a' on ...".
    """
    try:
        manifest = json.loads((directory / "manifest.json").read_text())
        if manifest["format"] != FORMAT:
            raise WrongState(
                f"{label} has format {manifest['format']}, this boxd reads {FORMAT}; nothing was touched"
            )
        for name in FILES:
            if (directory / name).stat().st_size != manifest["files"][name]:
                raise WrongState(f"{label} is damaged: {name} does not have its recorded size; nothing was touched")
        Size(**manifest["size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WrongState(f"{label} is damaged and cannot be used; nothing was touched") from error
    return dict(manifest)
