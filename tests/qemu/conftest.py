"""Fixtures of tests that start QEMU: a pool with reflinks, and a tiny guest."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openboxd.host import pidfd, reflink
from openboxd.model import MIB, Size
from openboxd.ports import Plan, Run, RunSpec
from openboxd.qemu.hypervisor import QemuHypervisor
from openboxd.settings import Settings
from tests.lab import Lab
from tests.qemu.tinyguest import CMDLINE, write_initrd

RAM = 256 * MIB
DISK = 64 * MIB


BUSYBOX = Path("/bin/busybox")
"""Of the package busybox-static, which `scripts/setup --dev` installs."""


@pytest.fixture(scope="session")
def kernel(lab: Lab) -> Path:
    """The kernel of the default image."""
    return lab.image_dir / "vmlinuz"


@pytest.fixture(scope="session")
def module(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That kernel's driver of the disk, out of the image's root filesystem."""
    version = json.loads((lab.image_dir / "manifest.json").read_text())["kernel_version"]
    target = tmp_path_factory.mktemp("module") / "virtio_blk.ko.xz"
    source = f"/usr/lib/modules/{version}/kernel/drivers/block/{target.name}"
    subprocess.run(["debugfs", "-R", f"dump {source} {target}", lab.image_dir / "disk.raw"], check=True)
    assert target.stat().st_size, f"the image has no {source}"
    return target


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory on a filesystem with reflinks; an XFS file is mounted where there is none."""
    given = tmp_path_factory.mktemp("pool")
    if reflink.probe(given)[0]:
        yield given
        return
    image, mount = given / "pool.xfs", given / "mnt"
    with image.open("wb") as file:
        file.truncate(8 << 30)
    mount.mkdir()
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    yield mount
    subprocess.run(["umount", mount], check=True)


@pytest.fixture(scope="session")
def initrd(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("guest") / "initrd"
    write_initrd(target, BUSYBOX, (module,))
    return target


@dataclass
class Port:
    """The host end of a guest's agent port."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def shell(self, line: str, limit: float = 60) -> str:
        """Run a shell line in the guest; its output."""
        self.writer.write(line.encode() + b"\n")
        async with asyncio.timeout(limit):
            return (await self.reader.readuntil(b"--done--\n")).decode()


@dataclass
class Bench:
    """A home, a pool, and what the guests of a test need. Ends everything it started."""

    home: Path
    run_root: Path
    pool: Path
    kernel: Path
    initrd: Path
    ram: int = RAM
    ports: dict[Path, Port] = field(default_factory=dict)

    def settings(self) -> Settings:
        return Settings(home=self.home, run_root=self.run_root, accel="tcg")

    def hypervisor(self, **more: Any) -> QemuHypervisor:
        return QemuHypervisor(self.settings(), **more)

    def spec(self, plan: Plan | None = None, disk: Path | None = None) -> RunSpec:
        run_id = secrets.token_hex(6)
        if disk is None:
            disk = self.pool / f"{run_id}.raw"
            with disk.open("wb") as file:
                file.truncate(DISK)
        return RunSpec(
            run_id=run_id,
            machine_id="m-1",
            name="web",
            size=Size(2, self.ram),
            disk=disk,
            kernel=self.kernel,
            initrd=self.initrd,
            cmdline=CMDLINE,
            console=self.home / f"{run_id}.console",
            address="10.77.0.9",
            mac="52:54:00:12:34:56",
            plan=plan,
        )

    def staging(self) -> Path:
        directory = self.pool / f"staging-{secrets.token_hex(4)}"
        directory.mkdir()
        return directory

    async def connect(self, socket: Path) -> Port:
        if socket not in self.ports:
            self.ports[socket] = Port(*await asyncio.open_unix_connection(str(socket)))
        return self.ports[socket]

    async def boot(self, hypervisor: QemuHypervisor | None = None) -> tuple[Run, RunSpec, Port]:
        """A run whose guest is up, and its port."""
        spec = self.spec()
        run = await (hypervisor or self.hypervisor()).boot(spec)
        port = await self.connect(run.agent_socket)
        await port.shell("echo up")
        return run, spec, port

    async def ticks(self, spec: RunSpec, more: int = 2, limit: float = 60) -> None:
        """Until the guest has printed `more` lines from now on."""
        want = self.count_ticks(spec) + more
        end = time.monotonic() + limit
        while self.count_ticks(spec) < want:
            assert time.monotonic() < end, "the guest does not run"
            await asyncio.sleep(0.02)

    def count_ticks(self, spec: RunSpec) -> int:
        return spec.console.read_bytes().count(b"TICK")


@pytest.fixture
async def bench(
    pool: Path, kernel: Path, initrd: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Bench]:
    root = Path(tmp_path_factory.mktemp("q"))
    work = pool / secrets.token_hex(4)
    work.mkdir()
    bench = Bench(root, root / "r", work, kernel, initrd)
    yield bench
    for port in bench.ports.values():
        port.writer.close()
    root_words = str(bench.run_root)
    await pidfd.kill_all(
        pidfd.find(lambda argv: any(word.startswith(root_words) for word in argv))
    )  # of a failed test
    shutil.rmtree(work)
