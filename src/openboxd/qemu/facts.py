"""What the installed QEMU is: version and machine types, and whether it is fit to carry machines."""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass

from openboxd.errors import HostUnfit
from openboxd.host import programs, qemu_least

_VERSION = re.compile(r"QEMU emulator version (\d+)\.(\d+)(?:\.(\d+))?")
_MACHINE = re.compile(r"^(pc-q35-(\d+)\.(\d+))\s", re.MULTILINE)
_LIMIT = 20.0  # seconds for a program that only prints


def remedy() -> str:
    """What to do about a QEMU that is not fit."""
    return f"install QEMU {qemu_least.TEXT} or newer: {qemu_least.remedy()}"


@dataclass(frozen=True)
class Facts:
    """What was found.

    Attributes:
        program: path of QEMU.
        version: e.g. "10.0.2".
        machine: its newest versioned q35 machine type, e.g. "pc-q35-10.0".
    """

    program: str
    version: str
    machine: str


async def find_facts(program: str) -> Facts:
    """Look at QEMU. Raises HostUnfit with the remedy if it is missing, too old or unusable."""
    path = shutil.which(program)
    if path is None:
        raise HostUnfit(f"QEMU ({program}) is not installed; {remedy()}")
    version = parse_version(await _output(path, "--version"))
    return Facts(path, version, newest_machine(await _output(path, "-machine", "help")))


def parse_version(text: str) -> str:
    """The version in the answer to `--version`. Raises HostUnfit if there is none, or it is too old."""
    match = _VERSION.search(text)
    if match is None:
        raise HostUnfit(f"QEMU does not tell its version; {remedy()}")
    version = ".".join(part or "0" for part in match.groups())
    if qemu_least.is_too_old(version):
        least = qemu_least.TEXT
        raise HostUnfit(f"QEMU {version} is too old: before {least} it loses memory pages while it saves; {remedy()}")
    return version


def newest_machine(text: str) -> str:
    """The newest versioned q35 type in the answer to `-machine help`; never the alias, which moves with QEMU."""
    found = [(int(match[2]), int(match[3]), match[1]) for match in _MACHINE.finditer(text)]
    if not found:
        raise HostUnfit(f"this QEMU has no q35 machine; {remedy()}")
    return max(found)[2]


async def _output(*argv: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        output, _ = await programs.communicated(process, _LIMIT)
    except TimeoutError as error:
        raise HostUnfit(f"QEMU ({argv[0]}) hangs when asked for {argv[-1]}; {remedy()}") from error
    if process.returncode:
        raise HostUnfit(f"QEMU ({argv[0]}) does not run: {output.decode(errors='replace').strip()}")
    return output.decode(errors="replace")
