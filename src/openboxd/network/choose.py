"""Which network this host's machines get."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from openboxd.errors import HostUnfit
from openboxd.model import Machine
from openboxd.network.bridge import BridgeNetwork
from openboxd.network.user import UserNetwork
from openboxd.ports import Network
from openboxd.settings import Settings

log = logging.getLogger(__name__)


async def choose(settings: Settings, machines: Sequence[Machine]) -> Network:
    """Open the network that is wanted; `auto` is the bridge for root where the host lets us, else the user network.

    Raises:
        HostUnfit: the bridge was asked for and cannot be had.
    """
    kind, user = settings.network, UserNetwork(settings.run_dir)
    if kind == "bridge" or (kind == "auto" and os.geteuid() == 0):
        bridge = BridgeNetwork(settings.run_dir.name)
        try:
            await bridge.open(machines)
        except HostUnfit as error:
            if kind == "bridge":
                raise
            log.warning("machines get the user network: %s", error.message)
        else:
            return bridge
    await user.open(machines)
    return user
