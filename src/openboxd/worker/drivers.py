"""The bundle of drivers and limits every machine's worker is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from openboxd.host.boot import boot_id
from openboxd.metrics import Metrics
from openboxd.model import Machine
from openboxd.ports import AgentConnector, Hypervisor, Network, Pool, Store, Ways
from openboxd.settings import Settings
from openboxd.worker.holds import Holds
from openboxd.worker.links import NoNetwork
from openboxd.worker.orders import Order
from openboxd.worker.steps import Fault, no_fault
from openboxd.worker.turns import Turns
from openboxd.worker.ways import NoWays


def _no_quota(machine: Machine, order: Order) -> None:
    """Everything is allowed."""


@dataclass(frozen=True)
class Drivers:
    """What a worker works with.

    Attributes:
        cmdline: the kernel command line for (machine name, machine id).
        boot_id: names this boot of the host; another one at the next start means that the host was rebooted.
        metrics: told what operations cost.
        holds: captures that machines are being made from.
        turns: of machines that come up as copies.
        allow: raises for an order that its machine's owner has no quota for; asked when it is admitted otherwise.
        fault: called before and after each step; raises in tests that fail a step on purpose.
    """

    settings: Settings
    store: Store
    pool: Pool
    hypervisor: Hypervisor
    connector: AgentConnector
    cmdline: Callable[[str, str], str]
    ways: Ways = field(default_factory=NoWays)
    network: Network = field(default_factory=NoNetwork)
    boot_id: str = field(default_factory=boot_id)
    metrics: Metrics = field(default_factory=Metrics)
    holds: Holds = field(default_factory=Holds)
    turns: Turns = field(default_factory=Turns)
    allow: Callable[[Machine, Order], None] = _no_quota
    fault: Fault = no_fault
