"""What the worker needs from its drivers, as small interfaces with their promises.

The daemon builds the real drivers, tests build fakes; both pass the same contract suites in `tests/contracts`.
Every promise says what holds after success and after failure. Unless said otherwise a method that raises has
changed nothing, and a method that ends or removes something may be called twice.
"""

from openboxd.ports.guest import (
    Agent,
    AgentConnector,
    ExecSession,
    GuestConnection,
    GuestDatagrams,
    GuestDialer,
)
from openboxd.ports.hypervisor import Hypervisor, Plan, Report, Run, RunEnd, RunSpec, RunState, SaveJob
from openboxd.ports.network import Network, NetworkLink
from openboxd.ports.pool import Pool
from openboxd.ports.store import Store
from openboxd.ports.ways import Ways

__all__ = [
    "Agent",
    "AgentConnector",
    "ExecSession",
    "GuestConnection",
    "GuestDatagrams",
    "GuestDialer",
    "Hypervisor",
    "Network",
    "NetworkLink",
    "Plan",
    "Pool",
    "Report",
    "Run",
    "RunEnd",
    "RunSpec",
    "RunState",
    "SaveJob",
    "Store",
    "Ways",
]
