"""What the API needs from control: one method per use-case, in the model's words.

Every method takes the caller first and raises errors of `openboxd.errors` only. A cancelled call cancels the
caller's waiting, never the work. `ref` is always a machine's id or name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openboxd.api.ports_people import People
from openboxd.model import (
    ApiKey,
    Caller,
    Checkpoint,
    CheckpointView,
    CustomDomainView,
    Event,
    ExecRequest,
    ExposedPort,
    Finding,
    Held,
    Image,
    Listing,
    Machine,
    Progress,
    RouteView,
    Size,
    Snapshot,
    SnapshotView,
    SshKey,
    Token,
    User,
    Verification,
)
from openboxd.ports import ExecSession


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


class Service(People, Protocol):
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

    # -- machines
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

    # -- ways in
    async def routes(self, caller: Caller, ref: str = "") -> Sequence[RouteView]:
        """Of one machine, or of all; each machine's default route first."""
        ...

    async def create_route(self, caller: Caller, ref: str, name: str, port: int) -> RouteView:
        """Raises InvalidArgument, AlreadyExists."""
        ...

    async def set_route_port(self, caller: Caller, ref: str, name: str, port: str) -> None:
        """An empty name is the default route, the only one that takes "auto". Raises InvalidArgument, NotFound."""
        ...

    async def delete_route(self, caller: Caller, ref: str, name: str) -> None: ...

    async def expose_port(self, caller: Caller, ref: str, port: int, protocol: str) -> tuple[Machine, ExposedPort]:
        """The public port that it has or gets. Raises InvalidArgument, WrongState for one too many."""
        ...

    async def unexpose_port(self, caller: Caller, ref: str, port: int) -> tuple[Machine, ExposedPort]: ...
    def exposed_ports(self, caller: Caller, ref: str = "") -> Sequence[tuple[Machine, ExposedPort]]: ...

    async def add_custom_domain(self, caller: Caller, ref: str, domain: str) -> CustomDomainView:
        """Raises InvalidArgument, AlreadyExists."""
        ...

    def custom_domains(self, caller: Caller) -> Sequence[CustomDomainView]: ...
    def domains_of(self, caller: Caller, machine: Machine) -> Sequence[CustomDomainView]: ...
    async def remove_custom_domain(self, caller: Caller, domain: str) -> None: ...

    async def set_networks(self, caller: Caller, ref: str, networks: Sequence[str]) -> Machine:
        """The whole set. Raises InvalidArgument, WrongState where the host cannot do it."""
        ...

    async def set_egress_allow(self, caller: Caller, ref: str, entries: Sequence[str]) -> Machine:
        """The whole list; an empty one allows everything. Raises InvalidArgument, WrongState."""
        ...

    def problems(self, machine: Machine) -> Sequence[str]:
        """What of a machine's ways in cannot be listened on, and why; the machine is one the caller may see."""
        ...

    def last_hold(self, caller: Caller, ref: str) -> Held:
        """What the machine's last swap cost those who came in meanwhile."""
        ...

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

    def verify_checkpoint(self, caller: Caller, ref: str, name: str) -> AsyncIterator[Progress | Verification]:
        """Progress, then what was found as the last item. Raises NotFound; WrongState unless it is ready."""
        ...

    def events(self, caller: Caller, ref: str, limit: int) -> Sequence[tuple[Event, str]]:
        """The machine's last events, oldest first, each with the name of who ordered it."""
        ...

    def progress(self, caller: Caller, ref: str) -> AsyncIterator[Progress]:
        """Progress of whatever operations run on the machine from now on, until the iterator is closed."""
        ...

    # -- snapshots
    async def save_snapshot(self, caller: Caller, ref: str, name: str) -> Snapshot:
        """Admits the save of a version and answers `pending`; the save goes on."""
        ...

    async def snapshots(self, caller: Caller) -> Sequence[SnapshotView]: ...

    async def snapshot_view(self, caller: Caller, ref: str) -> SnapshotView:
        """By name or id."""
        ...

    async def snapshot_done(self, caller: Caller, ref: str) -> SnapshotView:
        """Wait until no version is pending any more."""
        ...

    def verify_snapshot(self, caller: Caller, ref: str) -> AsyncIterator[Progress | Verification]:
        """Progress, then what was found as the last item. Raises NotFound; WrongState unless a version is there."""
        ...

    async def create_from_snapshot(
        self, caller: Caller, ref: str, new: NewMachine, given: Collection[str] = (), *, wait: bool = False
    ) -> Machine:
        """Answers when the machine is scheduled, or with `wait` when it runs. `ref` may name a version (base:v2).

        Of the idle settings it has those of `new` that are `given`, else the captured ones.

        Raises: as create_machine; InvalidArgument for another size; WrongState unless there is such a version."""
        ...

    async def remove_snapshot(self, caller: Caller, ref: str) -> None:
        """Raises Busy naming who makes a machine from it."""
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

    def warm_sizes(self, image: Image) -> Sequence[Size]:
        """Sizes in which machines of an image need no boot."""
        ...

    def boots_first(self, machine: Machine) -> bool:
        """Whether a machine just made boots because its size was not kept warm, as it will be from now on."""
        ...

    def build_image(self, caller: Caller, name: str) -> AsyncIterator[Progress | Image]:
        """Progress, then the image as the last item. A build under way is joined; a cached one answers at once."""
        ...

    def warm_image(self, caller: Caller, name: str, vcpu: int, memory_bytes: int) -> AsyncIterator[Progress | Image]:
        """Capture a booted guest of this size, so that new machines need not boot; answers at once if it is there."""
        ...

    async def remove_image(self, caller: Caller, name: str) -> None:
        """Raises WrongState naming the machines that still use it."""
        ...

    def default_image(self) -> str: ...

    async def doctor(self, caller: Caller) -> Sequence[Finding]: ...

    # -- account
    def user(self, caller: Caller) -> User: ...

    def api_keys(self, caller: Caller) -> Sequence[ApiKey]:
        """Oldest first, expired ones too."""
        ...

    async def create_api_key(self, caller: Caller, name: str, lifetime: int) -> tuple[ApiKey, str]:
        """The row, and the key, which nobody can show again. `lifetime` in seconds, 0 = without end."""
        ...

    async def delete_api_key(self, caller: Caller, key_id: str) -> None:
        """Raises NotFound; WrongState for the account's last key."""
        ...

    def ssh_keys(self, caller: Caller) -> Sequence[SshKey]: ...
    async def link_ssh_key(self, caller: Caller, public_key: str, device_id: str, label: str) -> None: ...
    async def unlink_ssh_key(self, caller: Caller, fingerprint: str) -> None: ...
