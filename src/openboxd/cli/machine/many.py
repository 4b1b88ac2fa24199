"""What the file calls of the wire cannot do, done for many paths by one command in the machine: links and modes.

Paths go by stdin, each ended by a zero byte, so that neither their number nor any character in them matters.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openboxd.cli.machine.shell import shell_line
from openboxd.errors import OperationFailed
from openboxd.model import ExecRequest

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.client.execution import Execution

# Each prints the paths it failed for.
MAKE_EXECUTABLE = 'for path; do chmod +x -- "$path" || printf "%s\\0" "$path"; done'
MAKE_LINKS = 'while [ $# -gt 1 ]; do ln -sfnT -- "$1" "$2" || printf "%s\\0" "$2"; shift 2; done'

# Prints one target a path, an empty one where there is none.
READ_LINKS = 'for path; do readlink -zn -- "$path"; printf "\\0"; done'

# Prints those that are programs.
PROGRAMS = 'for path; do [ -f "$path" ] && [ -x "$path" ] && printf "%s\\0" "$path"; done; :'

AT_A_TIME = 500
"""Arguments of one shell; even, because links come in pairs."""


async def make_executable(client: Client, machine: str, paths: Sequence[str]) -> list[str]:
    """Give files their x; those that could not have it."""
    return await _for_all(client, machine, MAKE_EXECUTABLE, paths)


async def make_links(client: Client, machine: str, links: Sequence[tuple[str, str]]) -> list[str]:
    """Make symbolic links, given as (target, path), in the place of files but never of directories; what failed."""
    return await _for_all(client, machine, MAKE_LINKS, [word for link in links for word in link])


async def read_links(client: Client, machine: str, paths: Sequence[str]) -> list[str]:
    """Where symbolic links point, as it is written in them; empty where that cannot be read."""
    targets = await _for_all(client, machine, READ_LINKS, paths)
    if len(targets) != len(paths):
        raise OperationFailed(
            f"machine '{machine}' told of {len(targets)} targets for {len(paths)} links; copy again"
        )
    return targets


async def is_executable(client: Client, machine: str, path: str) -> bool:
    """Whether a file is a program for the machine's user."""
    return bool(await _for_all(client, machine, PROGRAMS, [path]))


async def _for_all(client: Client, machine: str, script: str, words: Sequence[str]) -> list[str]:
    """Run `script` with the words as its arguments; the strings it prints."""
    if not words:
        return []
    line = shell_line(["xargs", "-0", "-r", "-n", str(AT_A_TIME), "sh", "-c", script, "sh"])
    execution = await client.exec(machine, ExecRequest(line))
    feeding = asyncio.create_task(_feed(execution, words))
    output = bytearray()
    try:
        async for piece in execution.output():
            if not piece.is_stderr:
                output += piece.data
    finally:
        feeding.cancel()
        await asyncio.wait([feeding])
        execution.cancel()
    if execution.exit_code != 0:
        raise OperationFailed(f"links and modes could not be copied: xargs failed in machine '{machine}'")
    return [os.fsdecode(word) for word in bytes(output).split(b"\0")[:-1]]


async def _feed(execution: Execution, words: Sequence[str]) -> None:
    await execution.write(b"".join(os.fsencode(word) + b"\0" for word in words))
    await execution.write_eof()
