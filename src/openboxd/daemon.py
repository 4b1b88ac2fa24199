"""The daemon: the one file that builds everything and hands the drivers to the workers."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from openboxd import __version__, images, logs
from openboxd.api.front import listen
from openboxd.api.inside import Inside
from openboxd.api.server import serve as serve_api
from openboxd.api.server import serve_inside
from openboxd.api.tls import kept_tls
from openboxd.client.config import config_path, read_config, write_config
from openboxd.control import accounts
from openboxd.control.control import Control
from openboxd.control.questions import Questions
from openboxd.edge.caddy import Caddy
from openboxd.edge.gates import Gates
from openboxd.edge.kept import Kept
from openboxd.edge.serve import findings, serve_https, unserved
from openboxd.errors import BoxdError, HostUnfit, NotFound
from openboxd.guest import payload
from openboxd.guest.connector import ChannelConnector
from openboxd.host import doctor
from openboxd.host.ca import open_authority
from openboxd.host.files import write_atomic
from openboxd.host.home import check_not_lost, check_pool_holds, make_home
from openboxd.host.own_names import local_address, own_names
from openboxd.host.ssh_ca import HostIdentity, SshAuthority, open_ssh_authority
from openboxd.metrics import Metrics
from openboxd.model import Finding, Image, Machine
from openboxd.network import choose
from openboxd.pool import DirectoryPool, open_pool
from openboxd.ports import GuestConnection, Network, Pool, Report
from openboxd.qemu.hypervisor import QemuHypervisor
from openboxd.settings import Settings
from openboxd.store import SqlStore, open_store
from openboxd.worker.drivers import Drivers
from openboxd.worker.housekeeping import keep_house
from openboxd.worker.steps import Fault, no_fault

FILES = 65_536
"""Open files of this process."""

log = logging.getLogger(__name__)


class Builder:
    """The image recipes of this host, with the agent that belongs to this daemon."""

    def __init__(self, mirror: str) -> None:
        recipe = images.debian(payload.files().values())
        self._recipes = {recipe.name: recipe}
        self._mirror = mirror

    def names(self) -> Sequence[str]:
        """The default image's name first."""
        return list(self._recipes)

    def digest(self, name: str) -> str:
        """See control.ports.ImageBuilder."""
        return self._recipe(name).digest

    async def build(self, name: str, staging: Path, report: Report) -> Image:
        """See control.ports.ImageBuilder."""
        return await images.build(staging, self._recipe(name), report, mirror=self._mirror)

    def _recipe(self, name: str) -> images.Recipe:
        if name not in self._recipes:
            raise NotFound(f"image '{name}' not found; this boxd builds: {', '.join(self._recipes)}")
        return self._recipes[name]


def serve(settings: Settings) -> None:
    """Run in the foreground until SIGTERM or SIGINT; logs go to stderr.

    Raises:
        BoxdError: the daemon cannot start; nothing was changed for the machines.
    """
    level = logging.DEBUG if os.environ.get("BOXD_DEBUG") else logging.INFO
    logs.set_up(os.environ.get("BOXD_LOG", "text"), level)
    os.umask(0o077)
    _allow_files()
    asyncio.run(_until_told(settings))


def _allow_files() -> None:
    """Take all the descriptors we may have, within reason: every connection costs three, and 1024 is soon used up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


async def _until_told(settings: Settings) -> None:
    loop = asyncio.get_running_loop()
    told: asyncio.Future[int] = loop.create_future()  # the signal that ends us
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _tell, told, number)
    async with daemon(settings, for_good=lambda: told.done() and told.result() == signal.SIGINT) as address:
        log.info("boxd %s serves %s, home %s", __version__, address, settings.home)
        await told
        log.info("stopping; machines run on")


def _tell(told: asyncio.Future[int], number: int) -> None:
    if not told.done():
        told.set_result(number)


@asynccontextmanager
async def daemon(
    settings: Settings, fault: Fault = no_fault, for_good: Callable[[], bool] = lambda: True
) -> AsyncIterator[str]:
    """A daemon that serves while the block runs; the value is the address it listens on.

    Afterwards clients wait for another one, unless it ended `for_good`, as somebody does who presses Ctrl-C.
    """
    listen(settings.listen).close()  # an address that cannot be had must leave nothing behind, such as a pool
    make_home(settings.home)
    check_not_lost(settings)
    store = open_store(settings.database)
    kept = Kept(settings.run_dir, settings.handover)
    try:
        await kept.open()
        check_pool_holds(settings, store.machines())
        parts = await _build(settings, store, kept, fault)
        async with _controlling(parts) as control, _serving(parts, control) as address:
            yield address
    finally:
        kept.close(for_good=for_good())
        store.close()


@dataclass
class _Parts:
    """What one daemon consists of; the last ones are there only once it serves.

    Attributes:
        inside: where visits of machines go.
        front: what serves HTTPS; `doctor` asks it once it `is_fronted`, also where HTTPS is off.
    """

    settings: Settings
    store: SqlStore
    kept: Kept
    pool: DirectoryPool
    gates: Gates
    network: Network
    metrics: Metrics
    fault: Fault
    inside: Inside | None = None
    front: Caddy | None = None
    is_fronted: bool = False


async def _build(settings: Settings, store: SqlStore, kept: Kept, fault: Fault) -> _Parts:
    pool, metrics, why = open_pool(settings), Metrics(), partial(unserved, settings)
    gates = Gates(settings.gates_dir, settings.ways_host, waited=metrics.holds.observe, unserved=why, kept=kept)
    return _Parts(settings, store, kept, pool, gates, await choose(settings, store.machines), metrics, fault)


@asynccontextmanager
async def _controlling(parts: _Parts) -> AsyncIterator[Control]:
    """Machines are looked after while the block runs, and run on afterwards."""
    control = _control(parts)
    try:
        yield control
    finally:
        await parts.gates.close()
        await control.close()
        if not any(machine.run_id for machine in parts.store.machines()):
            await parts.network.close()  # else the machines run on, and need it


@asynccontextmanager
async def _serving(parts: _Parts, control: Control) -> AsyncIterator[str]:
    """Find out how the machines are, then serve while the block runs; the value is the address."""
    settings = parts.settings
    await control.arrange_ways()
    parts.gates.sweep()
    await control.team.recover()
    async with (
        keep_house(parts.store, parts.pool, settings.home, settings.run_dir),
        serve_inside(control, settings.run_dir, settings.home / "guards") as inside,
        kept_tls(lambda: _certificate(settings)) as tls,
        serve_api(control, settings.listen, settings.run_dir, tls, settings.metrics) as address,
    ):
        parts.inside = inside
        await _first_start(settings, parts.store, address)
        async with serve_https(settings, parts.kept, local_address(address)) as parts.front:
            parts.is_fronted = True
            yield address


def _control(parts: _Parts) -> Control:
    settings, store, pool = parts.settings, parts.store, parts.pool
    hypervisor = QemuHypervisor(settings, lambda: _any_kernel(store, pool))
    authority = open_ssh_authority(settings.ssh_dir)
    questions = Questions(store, lambda machine: _host_key(settings, pool, authority, machine))

    async def answer(agent_socket: Path, question: dict[str, Any]) -> dict[str, Any]:
        return await questions.answer(agent_socket.parent.name, question)

    async def receive(agent_socket: Path, door: str, visit: GuestConnection) -> None:
        if parts.inside is not None:
            await parts.inside.visit(agent_socket.parent.name, door, visit)

    drivers = Drivers(
        settings=settings,
        store=store,
        pool=pool,
        hypervisor=hypervisor,
        connector=ChannelConnector(questions=answer, visits=receive),
        cmdline=images.cmdline,
        ways=parts.gates,
        network=parts.network,
        metrics=parts.metrics,
        fault=parts.fault,
    )

    async def examine() -> Sequence[Finding]:
        found = list(await _examine(settings, hypervisor, pool))
        found += await parts.network.check()
        return [*found, *(findings(parts.front, parts.gates) if parts.is_fronted else ())]

    root = open_authority(settings.tls_dir).root.read_text()
    return Control(drivers, store, Builder(settings.mirror), examine, authority.public_line, root)


def _host_key(settings: Settings, pool: Pool, authority: SshAuthority, machine: Machine) -> HostIdentity:
    """A machine's SSH host key, certified for the names that this host is reached by."""
    return authority.identity(pool.machine_dir(machine.id), machine.id, own_names(settings))


def _certificate(settings: Settings) -> tuple[Path, Path]:
    """The API's certificate and its key: the user's, else one under our own root."""
    if settings.tls_cert is not None and settings.tls_key is not None:
        return settings.tls_cert, settings.tls_key
    issued = open_authority(settings.tls_dir).issue("server", [f"*.{settings.zone}", *own_names(settings)])
    return issued, issued


def _any_kernel(store: SqlStore, pool: Pool) -> Path | None:
    """A kernel to prove an accelerator with: that of the newest image."""
    newest = sorted(store.images(), key=lambda image: -image.created_at)
    return next((kernel for image in newest if (kernel := pool.image_dir(image.digest) / "vmlinuz").exists()), None)


async def _examine(settings: Settings, hypervisor: QemuHypervisor, pool: DirectoryPool) -> Sequence[Finding]:
    """What the host has, then what this daemon found in use."""
    found = await asyncio.to_thread(doctor.host, settings.qemu)
    try:
        found.append(doctor.accelerator(await hypervisor.accelerator()))
    except BoxdError as error:
        found.append(Finding("acceleration", doctor.MISSING, error.message))
    try:
        pool.check()
    except HostUnfit as error:
        return [*found, doctor.no_pool(error.message)]
    return [*found, doctor.pool(pool.kind, pool.reason), doctor.room(pool.space())]


async def _first_start(settings: Settings, store: SqlStore, address: str) -> None:
    """Make the owner and their key, and let the `boxd` of whoever started us find both.

    A key that is on file but not in the store would lock everybody out, so the file is written first.
    """
    owner = accounts.owner_of_host(store)
    if owner is not None and store.api_keys(owner.id):
        return
    key = accounts.new_key()
    write_atomic(settings.admin_key, f"{key}\n".encode())
    await accounts.create_owner(store, getpass.getuser(), key)
    url, path = f"http://{local_address(address)}", config_path()
    try:
        if read_config(path).base_url not in ("", url):
            log.info("%s is about another daemon and was left alone; use the key in %s", path, settings.admin_key)
            return
        write_config(base_url=url, api_key=key)
    except (OSError, BoxdError) as error:
        log.warning("the local configuration was not written (%s); use the key in %s", error, settings.admin_key)
        return
    log.info("made the owner's key: %s, and the configuration: %s", settings.admin_key, path)
