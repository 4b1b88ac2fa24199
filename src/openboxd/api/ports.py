"""What the API needs from control: one method per use-case, in the model's words.

Every method takes the caller first and raises errors of `openboxd.errors` only. A cancelled call cancels the
caller's waiting, never the work. `ref` is always a machine's id or name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from openboxd.api.ports_captures import Captures
from openboxd.api.ports_guest import Guests
from openboxd.api.ports_host import Host
from openboxd.api.ports_machines import Machines, NewMachine
from openboxd.api.ports_people import People
from openboxd.api.ports_ways import Ways
from openboxd.model import ApiKey, Caller, Machine, SshKey, Token, User

__all__ = ["NewMachine", "Service"]


class Service(Machines, Ways, Captures, Guests, Host, People, Protocol):
    """The use-cases."""

    zone: str
    https_port: int  # where the machines' HTTPS domains are served; 0 = HTTPS is off
    root_certificate: str  # PEM of the root that signs the machines' HTTPS certificates
    ssh_host_key: str  # public key of the authority that signs the machines' host keys
    data_dir: str  # for people to read

    async def metrics(self) -> bytes:
        """What this daemon measured, in Prometheus' text format."""
        ...

    def count_error(self, error: BaseException) -> None:
        """Count a call that failed, for the metrics."""
        ...

    def authenticate(self, credential: str) -> Caller:
        """Raises Unauthenticated unless `credential` is a valid API key or token. Looked up on every call."""
        ...

    async def exchange(self, key: str) -> Token:
        """A token for an API key. Raises Unauthenticated."""
        ...

    def on_revoked(self, listener: Callable[[str, str], None]) -> None:
        """Be told the id of every key whose calls must end from now on, and why; no reason: it was deleted."""
        ...

    # -- from inside machines
    def machine_inside(self, origin: str) -> Machine:
        """The machine that this run is, or that has this id. Raises Unauthenticated; PermissionDenied: isolated."""
        ...

    def inside_caller(self, origin: str, credential: str) -> Caller:
        """Who calls over the channel of a run: the machine, or whoever holds the key that came with the call.

        Raises Unauthenticated, also for a token of another machine; PermissionDenied."""
        ...

    async def mint_token(self, run_id: str) -> Token:
        """A token for the machine that this run is, good over its own channel. Raises as `machine_inside` does."""
        ...

    async def destroy_self(self, caller: Caller, confirm_name: str) -> Machine:
        """The machine that speaks is removed in a moment. Raises PermissionDenied, InvalidArgument (its name)."""
        ...

    # -- account
    def user(self, caller: Caller) -> User: ...

    def api_keys(self, caller: Caller) -> Sequence[ApiKey]:
        """Oldest first, expired ones too."""
        ...

    async def create_api_key(
        self, caller: Caller, name: str, lifetime: int, org: str = "", kind: str = ""
    ) -> tuple[ApiKey, str]:
        """The row, and the key, which nobody can show again. `lifetime` in seconds, 0 = without end; with `org`
        (id or name) it does not reach beyond that organization; `kind` is "member" or "org"."""
        ...

    async def delete_api_key(self, caller: Caller, key_id: str) -> None:
        """Raises NotFound; WrongState for the account's last key."""
        ...

    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]: ...
    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None: ...
    async def unlink_ssh_key(self, caller: Caller, fingerprint: str) -> None: ...
