"""What a guest is told at the beginning of an epoch, and its word that it is who it was told to be."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from dataclasses import asdict
from typing import Any

from openboxd.guest import wire
from openboxd.guest.epoch import Epoch
from openboxd.guest.refusals import printable
from openboxd.model import Identity

IDENTIFIES_SINCE = 2
"""Version of the agents that take an identity and say so."""

log = logging.getLogger(__name__)


def hello(run: str, identity: Identity | None) -> bytes:
    """The frame that begins an epoch: which run this is, the time, what the random generator is seeded with."""
    told: dict[str, Any] = {"version": 1, "run": run, "seed": secrets.token_hex(32), "now": time.time_ns()}
    if identity is not None:
        told["identity"] = asdict(identity)
    return wire.frame(wire.HELLO, 0, json.dumps(told).encode("ascii"))


async def identified(epoch: Epoch, identity: Identity | None, wait: float) -> None:
    """Until the guest is who it was told to be, or says why not, which is then the epoch's `refusal`.

    The agent has said HELLO already. `wait`: seconds.
    """
    if identity is None:
        return
    if epoch.hello.result().get("version", 1) in range(IDENTIFIES_SINCE):
        epoch.refusal = "its agent is older than copies"
        return
    answer: set[asyncio.Future[Any]] = {epoch.identified, epoch.over}
    await asyncio.wait(answer, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
    if not epoch.identified.done():
        epoch.refusal = "its agent did not say that it took its identity"
    else:
        epoch.refusal = printable(epoch.identified.result())
    if epoch.refusal:
        log.warning("machine %s has not taken its identity: %s", epoch.label, epoch.refusal)
