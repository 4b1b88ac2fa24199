"""What the API needs from control about machines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openboxd.model import Caller, Event, Machine, Progress


@dataclass(frozen=True)
class NewMachine:
    """What a caller asks for; empty or zero means the default."""

    name: str = ""
    image: str = ""
    vcpu: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    restart_policy: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    auto_suspend_secs: int = 0
    auto_hibernate_secs: int = 0
    idle_ignore_outbound: bool = False
    routes: Sequence[tuple[str, int]] = ()  # named ones: name, port
    isolated: bool = False  # without a way to boxd from inside
    networks: Sequence[str] = ()
    org: str = ""  # name or id of an organization; empty = the caller's own
    shared: bool = False  # with that organization, or the caller's only one


class Machines(Protocol):
    """Their life, what they are set to, and how they sleep. `ref` is an id or a name."""

    async def create_machine(self, caller: Caller, new: NewMachine) -> Machine:
        """Answers when the machine is scheduled (status pending or starting); it boots by itself.

        Raises: InvalidArgument (name, size), AlreadyExists, NotFound (image), WrongState (space), HostUnfit."""
        ...

    def machine(self, caller: Caller, ref: str) -> Machine: ...

    def machines(
        self, caller: Caller, selector: Sequence[str] = (), org: str = "", *, everywhere: bool = False
    ) -> Sequence[Machine]:
        """The caller's own, those of an organization, or all they may use; `selector` items are "k=v" or "k"."""
        ...

    async def fork_machine(
        self,
        caller: Caller,
        ref: str,
        new: NewMachine,
        checkpoint: str = "",
        given: Collection[str] = (),
    ) -> Machine:
        """Returns when the copy runs; one of a stopped machine is starting.

        Of the idle settings it has those of `new` that are `given`, else the source's.

        Raises: as create_machine; NotFound; InvalidArgument for another size; WrongState for a source that cannot be
        forked now, Busy if something runs on it; whatever went wrong with a copy, of which then nothing is left."""
        ...

    async def start_machine(self, caller: Caller, ref: str) -> Machine:
        """Returns when the guest has answered (or the boot has failed). One that sleeps is woken."""
        ...

    async def stop_machine(self, caller: Caller, ref: str) -> Machine:
        """Clean shutdown with a limit, then the run is killed."""
        ...

    async def reboot_machine(self, caller: Caller, ref: str) -> Machine: ...

    def resident_bytes(self, machine: Machine) -> int:
        """Memory of the host that the machine takes now; 0 if it has no run."""
        ...

    async def suspend_machine(self, caller: Caller, ref: str) -> int:
        """How long pausing took, in microseconds; 0 if it was suspended already. Raises WrongState unless it runs."""
        ...

    async def resume_machine(self, caller: Caller, ref: str) -> int:
        """How long it took until it ran, in microseconds; 0 if it ran. Raises WrongState unless it is suspended."""
        ...

    async def hibernate_machine(self, caller: Caller, ref: str) -> None:
        """From running or suspended. Raises WrongState otherwise, or if there is no room."""
        ...

    async def wake_machine(self, caller: Caller, ref: str) -> None:
        """Returns when the guest has answered. Raises WrongState unless it is hibernated, or if that is damaged."""
        ...

    async def set_auto_suspend(self, caller: Caller, ref: str, secs: int) -> None:
        """0 is no timer. Raises InvalidArgument."""
        ...

    async def set_auto_hibernate(self, caller: Caller, ref: str, secs: int) -> None:
        """0 is no timer. Raises InvalidArgument."""
        ...

    async def rename_machine(self, caller: Caller, ref: str, name: str) -> Machine:
        """A machine that runs is rebooted; returns when its guest has answered."""
        ...

    async def resize_machine(self, caller: Caller, ref: str, vcpu: int, memory_bytes: int) -> tuple[Machine, bool]:
        """0 means that the other one decides. The machine, and whether it was rebooted."""
        ...

    async def update_labels(
        self, caller: Caller, ref: str, wanted: Mapping[str, str], remove: Collection[str], *, replace_all: bool
    ) -> Mapping[str, str]:
        """The labels afterwards."""
        ...

    async def set_delete_after(self, caller: Caller, ref: str, secs: int, cron: str) -> Machine:
        """Neither clears the timer. Raises InvalidArgument for both."""
        ...

    async def set_idle_ignore_outbound(self, caller: Caller, ref: str, *, enabled: bool) -> None: ...

    async def set_bot_protection(self, caller: Caller, ref: str, mode: str, *, enabled: bool) -> None: ...

    def logs(self, caller: Caller, ref: str, *, follow: bool) -> AsyncIterator[bytes]:
        """Raw bytes of the console; with `follow` until the machine is removed. Raises NotFound at once."""
        ...

    async def destroy_machine(self, caller: Caller, ref: str) -> None: ...

    def suggest_name(self, caller: Caller) -> str: ...

    # -- what was done to them
    def events(self, caller: Caller, ref: str, limit: int) -> Sequence[tuple[Event, str]]:
        """The machine's last events, oldest first, each with the name of who ordered it."""
        ...

    def author_name(self, caller: Caller, author: str) -> str:
        """Who did something, for the caller to read: a user or a machine; empty for somebody who is not there."""
        ...

    def progress(self, caller: Caller, ref: str) -> AsyncIterator[Progress]:
        """Progress of whatever operations run on the machine from now on, until the iterator is closed."""
        ...
