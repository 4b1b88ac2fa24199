"""What the API needs from control: one method per use-case, in the model's words.

Every method takes the caller first and raises errors of `openboxd.errors` only. A cancelled call cancels the
caller's waiting, never the work. `ref` is always a machine's id or name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openboxd.model import (
    Caller,
    Checkpoint,
    CheckpointView,
    ExecOutput,
    ExecRequest,
    Finding,
    Image,
    Listing,
    Machine,
    Progress,
    SshKey,
    User,
)


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


class ExecSession(Protocol):
    """See worker.ports.ExecSession."""

    exit_code: int | None

    def output(self) -> AsyncIterator[ExecOutput]: ...
    async def write(self, data: bytes) -> None: ...
    async def write_eof(self) -> None: ...
    async def resize(self, cols: int, rows: int) -> None: ...
    async def cancel(self) -> None: ...


class Service(Protocol):
    """The use-cases."""

    zone: str

    def authenticate(self, token: str) -> Caller:
        """Raises Unauthenticated unless `token` is a valid API key."""
        ...

    # -- machines
    async def create_machine(self, caller: Caller, new: NewMachine) -> Machine:
        """Answers when the machine is scheduled (status pending or starting); it boots by itself.

        Raises: InvalidArgument (name, size), AlreadyExists, NotFound (image), WrongState (space), HostUnfit."""
        ...

    def machine(self, caller: Caller, ref: str) -> Machine: ...

    def machines(self, caller: Caller, selector: Sequence[str] = ()) -> Sequence[Machine]:
        """`selector` items are "k=v" or "k"; all must match."""
        ...

    async def start_machine(self, caller: Caller, ref: str) -> Machine:
        """Returns when the guest has answered (or the boot has failed)."""
        ...

    async def stop_machine(self, caller: Caller, ref: str) -> Machine:
        """Clean shutdown with a limit, then the run is killed."""
        ...

    async def reboot_machine(self, caller: Caller, ref: str) -> Machine: ...

    async def destroy_machine(self, caller: Caller, ref: str) -> None: ...

    def suggest_name(self, caller: Caller) -> str: ...

    # -- checkpoints
    async def save_checkpoint(self, caller: Caller, ref: str, name: str) -> Checkpoint:
        """Admits the save and answers `pending`; the save goes on. An empty name is generated."""
        ...

    async def checkpoints(self, caller: Caller, ref: str) -> Sequence[CheckpointView]: ...

    async def checkpoint_done(self, caller: Caller, ref: str, name: str) -> CheckpointView:
        """Wait until the checkpoint is not pending any more."""
        ...

    async def restore_checkpoint(self, caller: Caller, ref: str, name: str) -> Machine: ...

    async def remove_checkpoint(self, caller: Caller, ref: str, name: str) -> None: ...

    def progress(self, caller: Caller, ref: str) -> AsyncIterator[Progress]:
        """Progress of whatever operations run on the machine from now on, until the iterator is closed."""
        ...

    # -- guest
    async def exec(self, caller: Caller, ref: str, request: ExecRequest) -> ExecSession: ...
    async def upload(
        self, caller: Caller, ref: str, path: str, total_size: int, data: AsyncIterator[bytes]
    ) -> int: ...
    async def download(self, caller: Caller, ref: str, path: str) -> tuple[int, AsyncIterator[bytes]]: ...
    async def list_dir(self, caller: Caller, ref: str, path: str) -> Listing: ...
    async def mkdir(self, caller: Caller, ref: str, path: str) -> None: ...
    async def rename_path(self, caller: Caller, ref: str, old: str, new: str) -> None: ...
    async def delete_path(self, caller: Caller, ref: str, path: str) -> None: ...
    async def copy_path(self, caller: Caller, ref: str, old: str, new: str) -> None: ...

    # -- images and host
    def images(self, caller: Caller) -> Sequence[Image]: ...

    def build_image(self, caller: Caller, name: str) -> AsyncIterator[Progress | Image]:
        """Progress, then the image as the last item. A build under way is joined; a cached one answers at once."""
        ...

    async def remove_image(self, caller: Caller, name: str) -> None:
        """Raises WrongState naming the machines that still use it."""
        ...

    def default_image(self) -> str: ...

    async def doctor(self, caller: Caller) -> Sequence[Finding]: ...

    # -- account
    def user(self, caller: Caller) -> User: ...
    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]: ...
    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None: ...
