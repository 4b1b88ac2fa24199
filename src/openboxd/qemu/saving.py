"""The daemon's side of a save: starts a saver, passes its progress on, and takes over if it fails or dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from openboxd.errors import BoxdError, MachineLost, OperationFailed, OutcomeUnknown, WrongState
from openboxd.host import pidfd
from openboxd.host.process import Process, start_detached
from openboxd.model import Progress, SaveReport
from openboxd.ports import Report
from openboxd.qemu import ram_file
from openboxd.qemu.qmp import Gone, Monitor, QmpError
from openboxd.qemu.rescue import let_run, let_stand
from openboxd.qemu.rundir import RunDir
from openboxd.qemu.saver import MODULE, saver_arguments
from openboxd.qemu.take import Order

COMMAND = (sys.executable, "-P", "-m", MODULE)
"""How a saver is started. -P: no module comes from the current directory."""

_SILENCE = 15.0  # seconds; a saver gives a sign of life every half second, so this one hangs
_GRACE = 5.0  # seconds for a saver to take its save back by itself


class Saving:
    """One save of one run."""

    def __init__(self, run: RunDir, monitor: Monitor, process: Process, command: Sequence[str] = COMMAND) -> None:
        self._run = run
        self._monitor = monitor
        self._process = process
        self._command = command

    async def save(self, order: Order, report: Report) -> SaveReport:
        """See `ports.Run.save`."""
        saver = None
        try:
            read, write = os.pipe()
            try:
                argv = [*self._command, *saver_arguments(self._run, order)]
                saver = start_detached(argv, log=self._run.saver_log, stdout=write)
            except BaseException:
                os.close(read)
                raise
            finally:
                os.close(write)
            result = await _follow(read, report)
            await saver.wait()
            return result
        except BaseException as error:
            await uncancelled(self._take_back(saver, order, error))
            if isinstance(error, (OSError, _Broken)):
                raise OperationFailed(f"the save failed and the machine runs on: {error}") from error
            raise
        finally:
            await asyncio.to_thread(ram_file.forget_holes, self._process.pid)

    async def _take_back(self, saver: Process | None, order: Order, reason: BaseException) -> None:
        """Whatever happened: no saver, no migration, vCPUs running (or standing still, if they did)."""
        if saver is not None:
            await _end(saver)
        if not self._process.alive:
            raise self._lost() from reason
        try:
            await (let_stand if order.paused else let_run)(self._monitor)
        except QmpError as error:
            if isinstance(error, Gone) and not self._process.alive:
                raise self._lost() from reason
            raise OutcomeUnknown(
                f"{error}, so nobody knows whether the machine runs; restore a checkpoint or reboot it if it stays so"
            ) from reason

    def _lost(self) -> MachineLost:
        return MachineLost("the machine's run ended while it was being saved; its disk and checkpoints are intact")


class _Broken(Exception):
    """The saver ended without a report."""


async def _follow(pipe: int, report: Report) -> SaveReport:
    """Read what a saver says, to its end. Closes the pipe."""
    reader = asyncio.StreamReader()
    file = os.fdopen(pipe, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), file
    )
    outcome: dict[str, Any] = {}
    try:
        while True:
            try:
                async with asyncio.timeout(_SILENCE):
                    line = await reader.readline()
            except TimeoutError as error:
                raise _Broken("the saver hung") from error
            if not line:
                break
            try:
                message = json.loads(line)
            except ValueError as error:
                raise _Broken("the saver does not speak clearly") from error
            if "step" in message:
                report(Progress("save", message["step"], message.get("fraction")))
            else:
                outcome = message
    finally:
        transport.close()
    return _result(outcome)


def _result(outcome: dict[str, Any]) -> SaveReport:
    if "report" in outcome:
        return SaveReport(**outcome["report"])
    raise _refusal(outcome)


def _refusal(outcome: dict[str, Any]) -> Exception:
    kind, text = outcome.get("error"), outcome.get("text", "")
    if kind == "full":
        return WrongState("there is no space left in the pool; the machine runs on, remove a checkpoint or add space")
    if kind is None:
        return _Broken("the saver ended unexpectedly")
    return _Broken(text)


async def _end(saver: Process) -> None:
    saver.kill(signal.SIGTERM)
    try:
        async with asyncio.timeout(_GRACE):
            await saver.wait()
    except TimeoutError:
        saver.kill(signal.SIGKILL)
        await saver.wait()


def savers_of(run: RunDir) -> list[pidfd.Found]:
    """Living saver processes of a run, whoever started them; the caller closes their pidfds."""
    return pidfd.find(lambda argv: "--staging" in argv and _option(argv, "--run") == str(run.path))


def _option(argv: Sequence[str], name: str) -> str | None:
    return next((value for word, value in pairwise(argv) if word == name), None)


async def uncancelled(action: Coroutine[Any, Any, None]) -> None:
    """Carry an action out to its end, also while the caller is being cancelled, which is then passed on."""
    task = asyncio.ensure_future(action)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except BoxdError:
            break
        except Exception:
            break
    if cancelled and not task.cancelled():
        with suppress(Exception):
            task.result()
        raise asyncio.CancelledError
    task.result()
