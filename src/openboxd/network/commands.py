"""Running `ip` and `nft` with their orders on stdin: a few milliseconds each, all or nothing for nft."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import Any

from openboxd.errors import OperationFailed
from openboxd.host import programs
from openboxd.network import within

_LIMIT = 20.0


async def nft(script: str) -> None:
    """Carry out a script as one transaction. Raises OperationFailed with nft's words, HostUnfit without nft."""
    await _run(["nft", "-f", "-"], script)


async def nft_within(pid: int, script: str) -> None:
    """The same in the network namespace of a process of ours. Raises OperationFailed, HostUnfit."""
    await _run([sys.executable, "-I", within.__file__, str(pid), programs.find("nft"), "-f", "-"], script)


async def nft_json(*words: str) -> list[dict[str, Any]]:
    """What `nft` knows; nothing of what is not there."""
    try:
        answer = json.loads(await _run(["nft", "-j", *words], ""))
    except OperationFailed:
        return []
    return [entry for entry in answer["nftables"] if isinstance(entry, dict)]


async def ip(orders: Iterable[str], *, force: bool = False) -> None:
    """Carry out orders one after the other; with `force`, also those after a failed one.

    Raises OperationFailed, HostUnfit without ip."""
    await _run(["ip", *(["-force"] if force else []), "-batch", "-"], "".join(f"{order}\n" for order in orders))


async def ip_json(*words: str) -> list[dict[str, Any]]:
    """What `ip` knows."""
    answer = json.loads(await _run(["ip", "-json", *words], "") or "[]")
    return [entry for entry in answer if isinstance(entry, dict) and entry]


async def _run(argv: list[str], text: str) -> str:
    process = await asyncio.create_subprocess_exec(
        programs.find(argv[0]),
        *argv[1:],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, said = await programs.communicated(process, _LIMIT, text.encode())
    except TimeoutError as error:
        raise OperationFailed(f"{argv[0]} did not end within {_LIMIT:.0f} s and was killed") from error
    if process.returncode:
        words = " ".join(said.decode(errors="replace").split())[:400]
        raise OperationFailed(f"{argv[0]} failed with status {process.returncode}: {words}")
    return out.decode(errors="replace")
