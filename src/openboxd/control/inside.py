"""Use-cases of machines that speak for themselves: who they are, by the run whose channel brought the call.

No secret of the guest decides that. Tokens are for clients that expect one; they are good for the machine that asked
for them, over its own channel, and for nobody else.
"""

from __future__ import annotations

import asyncio
import secrets
import time

from openboxd.control import accounts, names
from openboxd.control.keys import Account
from openboxd.errors import InvalidArgument, PermissionDenied, Unauthenticated
from openboxd.model import Caller, Machine, MachineStatus, Token

PREFIX = "bxm_"
LIFETIME = 900
"""Seconds, as at the hosted service."""

FAREWELL = 2
"""Seconds until a machine that removes itself is gone: its caller gets the answer first."""


class Inside(Account):
    """See the module."""

    def machine_inside(self, origin: str) -> Machine:
        """The machine that this run is; by its id, for a command that the daemon runs for it.

        Raises:
            Unauthenticated: the run is no machine's (any more), or its owner is being removed.
            PermissionDenied: the machine is isolated.
        """
        # Machines call often, so one row is read and not those of all.
        machine = self._store.machine(origin) if names.is_uuid(origin) else self._store.machine_of_run(origin)
        if machine is None or machine.status is MachineStatus.DESTROYED:
            raise Unauthenticated("this machine was restored, stopped or removed meanwhile; nothing was done")
        if machine.owner_id in self._leaving:
            raise Unauthenticated(f"the owner of machine '{machine.name}' is being removed; nothing was done")
        if machine.isolated:
            raise PermissionDenied(f"machine '{machine.name}' is isolated: it has no way to boxd from inside")
        return machine

    def inside_caller(self, origin: str, credential: str) -> Caller:
        """Who calls over the channel of this run: the machine itself, or whoever holds the key that came with it.

        Raises:
            Unauthenticated: an unknown or expired credential, or one of another machine.
            PermissionDenied: the machine is isolated.
        """
        machine = self.machine_inside(origin)
        if credential.startswith(PREFIX):
            self._check_token(machine, credential)
        elif credential:
            return self.authenticate(credential)
        return Caller(user_id=machine.owner_id, key_id="", machine_id=machine.id)

    def _check_token(self, machine: Machine, token: str) -> None:
        found = self._store.machine_token(accounts.digest_of(token))
        if found is None or found[0] != machine.id or found[1] <= time.time():
            raise Unauthenticated("the token is unknown or expired, or another machine's; ask the metadata for one")

    async def mint_token(self, run_id: str) -> Token:
        """A token of 15 minutes for the machine that this run is. Raises as `machine_inside` does."""
        machine = self.machine_inside(run_id)
        token = PREFIX + "".join(secrets.choice(accounts.BASE62) for _ in range(accounts.KEY_LENGTH))
        now = int(time.time())
        await self._store.add_machine_token(machine.id, accounts.digest_of(token), now + LIFETIME, now)
        return Token(token, now + LIFETIME, machine.owner_id)

    async def destroy_self(self, caller: Caller, confirm_name: str) -> Machine:
        """Remove the machine that speaks, in a moment. `confirm_name` must be its name.

        Raises:
            PermissionDenied: no machine speaks, or it is shared.
            InvalidArgument: another name.
        """
        machine = self._store.machine(caller.machine_id) if caller.machine_id else None
        if machine is None:
            raise PermissionDenied("only a machine can remove itself; say which one is to be removed")
        if machine.shared:
            raise PermissionDenied(f"machine '{machine.name}' is shared, and is removed from outside only")
        if confirm_name != machine.name:
            raise InvalidArgument("that is not this machine's name; nothing was done")
        self._later(self._destroy_later(machine, caller))
        return machine

    async def _destroy_later(self, machine: Machine, caller: Caller) -> None:
        await asyncio.sleep(FAREWELL)
        await self.team.destroy(machine.id, caller.author)
