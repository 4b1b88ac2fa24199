"""Templates: captures of a freshly booted image, one a size, from which new machines go on instead of booting.

    pool/images/<digest>/template/<vCPUs>x<MiB>/    = a capture; goes with its image

The guest that is captured is no machine: it has no row and no way in, and its network leads nowhere. What is left of
one whose daemon was killed is nobody's: its run is ended and its files are swept by the next daemon.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from openboxd.errors import BoxdError, OperationFailed, Unavailable
from openboxd.model import MIB, ExecRequest, Image, Machine, MachineStatus, Progress, Size
from openboxd.ports import Agent, NetworkLink, Pool, Report, Run, RunSpec, SaveJob
from openboxd.worker import manifest
from openboxd.worker.drivers import Drivers
from openboxd.worker.events import now_ms
from openboxd.worker.links import let_go, start_linked
from openboxd.worker.manifest import Origin
from openboxd.worker.runs import new_run_id
from openboxd.worker.staging import Staging
from openboxd.worker.steps import Steps, to_the_end

NAME = "template"
ADDRESS, MAC = "10.213.0.9", "52:54:00:00:00:09"
"""No machine is given this address, and nothing leads to it: every copy has its own before it says a word."""

SETTLE = (
    # systemd may be done before udev is: the network card's driver comes last. The module resets connections of
    # copies, which should not have to load it.
    "systemctl is-system-running --wait; sudo udevadm settle; sudo modprobe -q tcp_diag; hostname -I | grep -q ."
)
TRY_AGAIN = 0.5
"""Seconds until the guest is asked once more whether it has settled."""

log = logging.getLogger(__name__)


def template_dir(pool: Pool, digest: str, size: Size) -> Path:
    """Where the template of an image for machines of this size lies, if there is one."""
    return pool.image_dir(digest) / "template" / f"{size.vcpu}x{size.memory_bytes // MIB}"


def kept_sizes(pool: Pool, digest: str) -> list[Size]:
    """The sizes that an image has templates for, smallest first; whether they are of use is not looked at."""
    names = [path.name for path in (pool.image_dir(digest) / "template").glob("*x*")]
    matches = [re.fullmatch(r"(\d+)x(\d+)", name) for name in names]
    found = [Size(int(match[1]), int(match[2]) * MIB) for match in matches if match]
    return sorted(found, key=lambda size: (size.vcpu, size.memory_bytes))


async def usable(drivers: Drivers, digest: str, size: Size) -> Path | None:
    """The template, if it is whole and new machines would have its hardware today."""
    directory = template_dir(drivers.pool, digest, size)
    if not directory.exists():
        return None
    try:
        described = await asyncio.to_thread(manifest.read, directory, "the template", "boot instead")
        return directory if described["plan"] == await drivers.hypervisor.plan(size) else None
    except BoxdError as error:
        log.warning("the template %s of image %s is of no use: %s", directory.name, digest, error)
        return None


async def make(drivers: Drivers, image: Image, size: Size, report: Report) -> None:
    """Boot a guest from the image, let it settle, and capture it; in place of an older template.

    Raises:
        BoxdError: there is none then, and nothing is left; machines of this size boot.
    """

    async def enter(step: str) -> None:
        report(Progress("build", f"warming: {step}", None, f"{size.vcpu} vCPU, {size.memory_bytes // MIB} MiB"))

    steps, final = Steps("warm", enter=enter, fault=drivers.fault), template_dir(drivers.pool, image.digest, size)
    try:
        work = await Staging(drivers.pool, "warming").make(steps)
        machine = _nobody(image, size)
        async with _booted(drivers, steps, machine, work) as (run, agent):
            await steps.run("settle", lambda: _settle(drivers, run, agent))
            staging = await Staging(drivers.pool, NAME).make(steps)
            job = SaveJob(staging=staging, disk=work / "disk.raw", parent=None)
            saved = await steps.run("capture", lambda: run.save(job, report))
            origin = Origin(NAME, machine.id, f"template of {image.name}", now_ms(), size)
            content = manifest.describe(origin, run.plan, saved, staging, await drivers.hypervisor.version())
            await steps.run("describe", lambda: asyncio.to_thread(manifest.write, staging, content))
        await steps.run("publish", lambda: asyncio.to_thread(_publish, drivers.pool, staging, final))
    except OSError as error:
        raise OperationFailed(f"image '{image.name}' has no template for this size: {error}") from error
    finally:
        await to_the_end(steps.unwind())  # nothing in the staging area is needed any more


def _publish(pool: Pool, staging: Path, final: Path) -> None:
    pool.discard(final)
    pool.publish(staging, final)


def _nobody(image: Image, size: Size) -> Machine:
    """Who the captured guest is until it is a machine."""
    return Machine(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{image.digest} {size}")),
        name=NAME,
        owner_id="",
        image=image.digest,
        image_name=image.name,
        size=size,
        disk_bytes=image.disk_bytes,
        address=ADDRESS,
        mac=MAC,
        status=MachineStatus.STARTING,
        created_at=0,
    )


@asynccontextmanager
async def _booted(drivers: Drivers, steps: Steps, machine: Machine, work: Path) -> AsyncIterator[tuple[Run, Agent]]:
    """A run of the image and its agent, for the time of the block."""
    pool, run_id = drivers.pool, new_run_id()
    image = pool.image_dir(machine.image)
    runs: list[Run] = []
    agent: Agent | None = None

    async def start(link: NetworkLink) -> Run:
        await asyncio.to_thread(pool.clone, image / "disk.raw", work / "disk.raw")
        spec = RunSpec(
            run_id=run_id,
            machine_id=machine.id,
            name=machine.name,
            size=machine.size,
            disk=work / "disk.raw",
            kernel=image / "vmlinuz",
            initrd=image / "initrd",
            cmdline=drivers.cmdline(machine.name, machine.id),
            console=work / "console.log",
            address=machine.address,
            mac=machine.mac,
            link=link,
        )
        return await drivers.hypervisor.boot(spec)

    async def boot() -> None:
        runs.append(await start_linked(drivers.network, machine, run_id, start))

    try:
        await steps.run("boot", boot)
        agent = await drivers.connector.connect(runs[0].agent_socket, machine.name, machine.identity)
        yield runs[0], agent
    finally:
        await to_the_end(_end(drivers, machine, runs, agent))


async def _end(drivers: Drivers, machine: Machine, runs: Sequence[Run], agent: Agent | None) -> None:
    if agent is not None:
        await agent.close("the template is made")
    for run in runs:
        await run.kill()
        await let_go(drivers.network, machine, run.run_id)


async def _settle(drivers: Drivers, run: Run, agent: Agent) -> None:
    """Until nothing of the boot is left to do. Raises Unavailable, OperationFailed."""
    limit = drivers.settings.boot_timeout
    settling = asyncio.ensure_future(_until_settled(agent, limit))
    ended = asyncio.ensure_future(run.ended())
    try:
        await asyncio.wait([settling, ended], return_when=asyncio.FIRST_COMPLETED)
        if settling.done():
            return settling.result()
        raise OperationFailed(f"the guest ended while it started: {ended.result().text}")
    finally:
        settling.cancel()
        ended.cancel()


async def _until_settled(agent: Agent, limit: float) -> None:
    await agent.wait_ready(limit)
    try:
        async with asyncio.timeout(limit):
            while True:
                if await _asked(agent) == 0:
                    return
                await asyncio.sleep(TRY_AGAIN)
    except TimeoutError:
        raise Unavailable(f"the guest has not settled within {limit:.0f} s") from None


async def _asked(agent: Agent) -> int | None:
    session = await agent.exec(ExecRequest(SETTLE))
    await session.write_eof()
    async for _ in session.output():
        pass
    return session.exit_code
