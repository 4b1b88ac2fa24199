"""Machines that a recovery goes through."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from openboxd.errors import BoxdError
from openboxd.worker.machine import MachineWorker

Workers = Mapping[str, MachineWorker]

log = logging.getLogger(__name__)


async def each(workers: Iterable[MachineWorker], action: Callable[[MachineWorker], Awaitable[int]]) -> int:
    """Do something for every machine; a failure of one is logged and concerns nobody else."""
    count = 0
    for worker in workers:
        try:
            count += await action(worker)
        except (BoxdError, OSError):
            log.exception("recovery of machine %s failed", worker.id)
    return count
