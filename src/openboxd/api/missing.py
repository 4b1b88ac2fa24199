"""What this boxd does not offer: one sentence for people per kind of call."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from openboxd.errors import NotSupported

# The first pattern that is found in the name of the call decides.
TOPICS = (
    ("ProxyNodes", "proxy nodes"),
    ("Network", "networks"),
    ("Desktop", "desktops"),
    ("Token", "tokens"),
    ("Var|Secret", "variables and secrets"),
    ("Disk", "extra disks"),
    ("Backup", "backups"),
    ("Billing|Plan|Checkout", "billing"),
    ("Team", "teams"),
    ("Org", "defaults of organizations"),
    ("Spec", "machine specs"),
)


def sentence(call: str) -> str:
    """Why this call is refused."""
    for pattern, topic in TOPICS:
        if re.search(pattern, call):
            return not_offered(topic)
    return not_offered(f"the call {call}")


def not_offered(topic: str) -> str:
    """The one wording for things that do not exist here."""
    return f"this boxd does not offer {topic} yet"


def refusal(call: str) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """A method that refuses `call`."""

    async def refuse(service: Any, caller: Any, request: Any) -> None:
        raise NotSupported(sentence(call))

    return refuse
