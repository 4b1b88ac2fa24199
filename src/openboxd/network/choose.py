"""Which network this host's machines get."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence

from openboxd.errors import BoxdError, HostUnfit
from openboxd.host import programs
from openboxd.model import Machine
from openboxd.network.bridge import BridgeNetwork
from openboxd.network.user import UserNetwork
from openboxd.ports import Network
from openboxd.settings import Settings

log = logging.getLogger(__name__)


async def choose(settings: Settings, machines: Callable[[], Sequence[Machine]]) -> Network:
    """Open the network that is wanted; `auto` is the bridge for root where the host lets us, else the user network.
    `machines` tells all that there are, now and later.

    Raises:
        HostUnfit: the bridge was asked for and cannot be had.
    """
    kind, user = settings.network, UserNetwork(settings.run_dir)
    if kind == "bridge" or (kind == "auto" and os.geteuid() == 0):
        bridge = BridgeNetwork(settings.run_dir.name, machines=machines)
        try:
            await bridge.open(machines())
        except HostUnfit as error:
            if kind == "bridge":
                raise
            log.warning("machines get the user network: %s", error.message)
        else:
            return bridge
    await user.open(machines())
    await _remove_idle_bridge(settings, machines())
    return user


async def _remove_idle_bridge(settings: Settings, machines: Sequence[Machine]) -> None:
    """Take away the bridge that an earlier daemon of this home has left, unless a machine may be using it still."""
    if os.geteuid() != 0 or any(machine.run_id for machine in machines) or programs.locate("ip") is None:
        return
    try:
        await BridgeNetwork(settings.run_dir.name, resolver="").remove_leftovers()
    except BoxdError as error:
        log.warning("the bridge of an earlier daemon is left: %s", error.message)
