"""What the figures were measured on: the host, and the guest of each benchmark."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bench.place import Place
from openboxd import __version__
from openboxd.model import GIB
from tests.guests.direct import sh
from tests.lab import BOOTED, GOLDEN, run


def describe() -> Mapping[str, object]:
    """Host, kernel, boxd, in words; never the host's name."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((line.partition(": ")[2] for line in info.splitlines() if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "boxd": __version__,
        "commit": _commit(),
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / GIB, 1),
        "kernel": platform.release(),
    }


def _filesystem(path: Path) -> str:
    return " ".join(run("findmnt", "--noheadings", "--output", "FSTYPE,SOURCE", "--target", path).split())


def _commit() -> str:
    """Of this checkout; with a plus if files differ from it. Without git there is none to tell."""
    told = subprocess.run(
        ["git", "-C", Path(__file__).parent, "describe", "--always", "--abbrev=12", "--dirty=+"],
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"


async def setting(place: Place) -> Mapping[str, object]:
    """What the service runs the prepared machine with: the plan in its capture, its image, and the guest's kernel."""
    client = place.client
    machine = await client.machine(GOLDEN)
    [booted] = [info.checkpoint_id for info in await client.checkpoints(GOLDEN) if info.name == BOOTED]
    capture = place.daemon.home / "pool/machines" / machine.vm_id / "checkpoints" / booted
    plan = json.loads((capture / "manifest.json").read_text())["plan"]
    return {
        "qemu": plan["qemu"],
        "accelerator": plan["accel"],
        "machine_type": plan["machine"],
        "cpu": plan["cpu"],
        "vcpus": plan["vcpus"],
        "pool": await asyncio.to_thread(_filesystem, place.daemon.home),
        "image": next((place.daemon.home / "pool/images").glob("*/vmlinuz")).parent.name,
        "guest_kernel": (await sh(client, "uname -r")).strip(),
    }
