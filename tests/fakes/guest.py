"""A guest without QEMU: what it holds in RAM is a dict, what it holds on disk a document inside the disk file.

The two know of each other. Every change of the disk raises a generation number that is kept in both, so a memory
that meets a disk of another instant is found out, as it would be by a real kernel.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HOME = "/home/boxd"
DISK_LIMIT = 16 << 20
"""Bytes at the start of the disk file that the document may take."""


class Corrupt(Exception):
    """Memory and disk are not of one instant."""


@dataclass
class Node:
    """A file (text in latin-1, so that any bytes fit) or a directory."""

    is_dir: bool = False
    data: str = ""
    modified_at: int = field(default_factory=lambda: int(time.time()))


@dataclass
class Memory:
    """What is lost at power-off: variables, a counter that every command raises, the boot's id, and who it is."""

    variables: dict[str, str] = field(default_factory=dict)
    counter: int = 0
    boot_id: str = field(default_factory=lambda: secrets.token_hex(8))
    disk_generation: int = 0
    identity: dict[str, str] = field(default_factory=dict)
    """Who the guest was told to be."""


class Disk:
    """The document in a disk file, held open like QEMU does: a rename of the file is not noticed."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.nodes: dict[str, Node] = {}
        self.generation = 0
        self.boots = 0
        self._read()

    def _read(self) -> None:
        text = os.pread(self._descriptor, DISK_LIMIT, 0).split(b"\0", 1)[0]
        try:
            document = json.loads(text)
        except ValueError:  # whatever a test put there stands for a freshly built system
            document = {"generation": 0, "boots": 0, "nodes": {}}
        self.generation, self.boots = document["generation"], document["boots"]
        self.nodes = {path: Node(**node) for path, node in document["nodes"].items()}
        for path in ("/", "/home", HOME, "/tmp"):
            self.nodes.setdefault(path, Node(is_dir=True))

    def write(self) -> None:
        """Put the present state into the file."""
        self.generation += 1
        nodes = {path: asdict(node) for path, node in self.nodes.items()}
        document = {"generation": self.generation, "boots": self.boots, "nodes": nodes}
        os.pwrite(self._descriptor, json.dumps(document).encode() + b"\0", 0)

    def is_at(self, path: Path) -> bool:
        """Whether `path` names this very file."""
        return path.exists() and os.path.samestat(os.fstat(self._descriptor), path.stat())

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class FakeGuest:
    """A running system: memory and disk together."""

    def __init__(self, disk: Path, memory: dict[str, Any] | None = None) -> None:
        """Boot from `disk`, or go on with a captured `memory`. Raises Corrupt, OSError."""
        self.disk = Disk(disk)
        self.memory = Memory(**memory) if memory else Memory()
        if memory is None:
            self.disk.boots += 1
            self.write_disk()
        elif self.memory.disk_generation != self.disk.generation:
            found, expected = self.disk.generation, self.memory.disk_generation
            self.disk.close()
            raise Corrupt(f"the disk is of generation {found}, the memory knows {expected}")

    def write_disk(self) -> None:
        """Make a change of `disk.nodes` last."""
        self.disk.write()
        self.memory.disk_generation = self.disk.generation

    def captured_memory(self) -> dict[str, Any]:
        """The memory as it is now, for a capture."""
        copy: dict[str, Any] = json.loads(json.dumps(asdict(self.memory)))
        return copy
