"""Running programs of the host: found or refused with the package's name, never left behind.

Every program gets a session of its own; on failure, deadline or cancellation its whole group is killed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from openboxd.errors import HostUnfit, OperationFailed

PACKAGES = {
    "caddy": "caddy",
    "ip": "iproute2",
    "losetup": "mount",
    "mke2fs": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mmdebstrap": "mmdebstrap",
    "mount": "mount",
    "nft": "nftables",
    "pasta": "passt",
    "qemu-system-x86_64": "qemu-system-x86",
    "umount": "mount",
    "unshare": "util-linux",
}
"""Debian's package for each program we may miss."""

_SBIN = "/usr/sbin:/sbin"  # absent from an ordinary user's PATH on Debian, and often from a service's
_TAIL = 2000  # characters of output kept for the error


def find(program: str) -> str:
    """Path of a program. Raises HostUnfit naming the package that has it."""
    path = locate(program)
    if path is None:
        raise HostUnfit(
            f"{program} is not installed; run scripts/setup, or apt install {PACKAGES.get(program, program)}"
        )
    return path


def locate(program: str) -> str | None:
    """Path of a program, or None."""
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{_SBIN}")


def run(arguments: Sequence[str], *, timeout: float = 60.0) -> str:
    """Run a short program to its end and return its stdout.

    Raises:
        HostUnfit: it is not installed.
        OperationFailed: it failed, or did not end within `timeout` seconds and was killed.
    """
    argv = [find(arguments[0]), *arguments[1:]]
    try:
        done = subprocess.run(  # the arguments are ours, and there is no shell
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OperationFailed(f"{arguments[0]} did not end within {timeout:.0f} s and was killed") from error
    if done.returncode:
        raise OperationFailed(_failure(arguments[0], done.returncode, done.stderr or done.stdout))
    return done.stdout


async def stream(
    arguments: Sequence[str],
    on_line: Callable[[str], None],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> None:
    """Run a long program, handing every line of its output on as it comes.

    Returns when it has ended well. However this ends, no process of its group is left.

    Raises:
        HostUnfit: it is not installed.
        OperationFailed: it failed or took longer than `timeout` seconds; the text has its last words.
    """
    process = await asyncio.create_subprocess_exec(
        find(arguments[0]),
        *arguments[1:],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=None if env is None else dict(env),
        start_new_session=True,
        pass_fds=pass_fds,
    )
    tail = ""
    try:
        async with asyncio.timeout(timeout):
            assert process.stdout is not None
            async for raw in process.stdout:
                line = raw.decode(errors="replace").rstrip()
                tail = f"{tail}{line}\n"[-_TAIL:]
                on_line(line)
            status = await process.wait()
    except TimeoutError as error:
        raise OperationFailed(f"{arguments[0]} did not end within {timeout:.0f} s and was killed") from error
    finally:
        await _end_group(process)
    if status:
        raise OperationFailed(_failure(arguments[0], status, tail))


async def communicated(
    process: asyncio.subprocess.Process, timeout: float, data: bytes | None = None
) -> tuple[bytes, bytes]:
    """What a program that is given `data` says until it has ended; one that nobody waits for any more is killed.

    Raises:
        TimeoutError: it did not end within `timeout` seconds.
    """
    try:
        async with asyncio.timeout(timeout):
            return await process.communicate(data)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Kill what is left of the group. The leader is waited for even while we are being cancelled."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())


def _failure(program: str, status: int, output: str) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"failed with status {status}"
    words = [line.strip() for line in output.splitlines() if line.strip()]
    return f"{program} {how}" + (f": {' | '.join(words[-5:])}" if words else "")
