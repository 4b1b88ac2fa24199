"""The bundle of drivers and limits every machine's worker is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openboxd.settings import Settings
from openboxd.worker.ports import AgentConnector, Hypervisor, Pool, Store
from openboxd.worker.steps import Fault, no_fault


@dataclass(frozen=True)
class Drivers:
    """What a worker works with.

    Attributes:
        cmdline: the kernel command line for (machine name, machine id).
        fault: called before and after each step; raises in tests that fail a step on purpose.
    """

    settings: Settings
    store: Store
    pool: Pool
    hypervisor: Hypervisor
    connector: AgentConnector
    cmdline: Callable[[str, str], str]
    fault: Fault = no_fault
