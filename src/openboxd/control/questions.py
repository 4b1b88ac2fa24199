"""What a machine's agent may ask: which key may log in, which SSH host key the machine has, and whether there is a
way to boxd from inside.

Which machine asks is known by the run whose channel the question came through, never by what it says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from openboxd.control.access import Access
from openboxd.control.ports import ControlStore
from openboxd.errors import NotFound, NotSupported
from openboxd.host.ssh_ca import HostIdentity
from openboxd.model import Machine

LOGIN = "boxd"
"""The user whose login those who may use the machine may have; nobody logs in as another by a linked key."""

Identify = Callable[[Machine], HostIdentity]
"""The machine's host key; reads and writes files."""


class Questions:
    """Answers questions of agents."""

    def __init__(self, store: ControlStore, identify: Identify) -> None:
        self._store = store
        self._identify = identify
        self._identifying = asyncio.Lock()  # a key is made once

    async def answer(self, run_id: str, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to one question.

        Raises:
            NotFound: the run is no machine's (any more).
            NotSupported: nobody answers such a question.
        """
        machine = self._store.machine_of_run(run_id)
        if machine is None:
            raise NotFound(f"run {run_id} is no machine's; stop and start the machine")
        match question.get("op"):
            case "keys":
                return {"keys": self._keys(machine, question.get("user"), question.get("fingerprint"))}
            case "identity":
                return await self._identity(machine, question.get("certificate"))
            case "inside":
                return {"open": not machine.isolated}
        raise NotSupported("this daemon does not answer such a question")

    def _keys(self, machine: Machine, user: object, fingerprint: object) -> list[str]:
        """The line for authorized_keys, if somebody who may use the machine has linked this key."""
        if user != LOGIN:
            return []
        keys = Access(self._store).ssh_keys(machine)
        return [key.public_key for key in keys if key.fingerprint == fingerprint][:1]

    async def _identity(self, machine: Machine, certificate: object) -> dict[str, Any]:
        """Nothing if the guest has it already: the private key does not travel without need."""
        async with self._identifying:
            identity = await asyncio.to_thread(self._identify, machine)
        return {} if certificate == identity.certificate else asdict(identity)
