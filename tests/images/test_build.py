"""A real image: built, checked from outside, booted by a plain QEMU, shut down by its power button."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from openboxd import images
from openboxd.host import pidfd
from openboxd.model import GIB, MIB, Progress
from openboxd.worker import template

pytestmark = pytest.mark.guest

BOOT_LIMIT = 240.0  # seconds; about 15 on an idle host without KVM
MACHINE = "0f8fad5b-d9cb-469f-a165-70867728950e"


def debugfs(disk: Path, request: str) -> str:
    return subprocess.run(["debugfs", "-R", request, disk], capture_output=True, text=True, check=True).stdout


def fsck(disk: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["e2fsck", "-fn", disk], capture_output=True, text=True, check=False)


def test_the_manifest_says_what_was_built(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    image = images.load(built)
    assert image.digest == built.name == manifest["digest"]
    assert image.disk_bytes == (built / "disk.raw").stat().st_size == 16 * GIB
    assert image.kernel_version.startswith("6.12.")
    assert {"systemd", "openssh-server", "python3", "linux-image-cloud-amd64"} <= set(manifest["packages"])


def test_only_the_result_is_left_private_and_small(built: Path) -> None:
    found = {file.name for file in built.iterdir()}
    assert found - {template.NAME} == {"disk.raw", "vmlinuz", "initrd", "manifest.json"}  # templates come later
    assert all(file.stat().st_mode & 0o077 == 0 for file in built.iterdir())
    assert (built / "disk.raw").stat().st_blocks * 512 < 600 * MIB


def test_the_filesystem_is_clean_and_has_a_journal(built: Path) -> None:
    done = fsck(built / "disk.raw")
    assert done.returncode == 0, done.stdout
    assert "has_journal" in debugfs(built / "disk.raw", "stats")


def test_it_has_no_identity_of_its_own(built: Path) -> None:
    listing = debugfs(built / "disk.raw", "ls /etc/ssh")
    assert "ssh_host" not in listing
    assert debugfs(built / "disk.raw", "cat /etc/machine-id") == ""
    assert "hostname" not in debugfs(built / "disk.raw", "ls /etc").split()


class Guest:
    """A plain QEMU with the image, its console and its monitor."""

    def __init__(self, process: asyncio.subprocess.Process, monitor: Path) -> None:
        self.process = process
        self.seen = ""
        self._monitor = monitor

    async def until(self, words: str) -> None:
        """Wait until the console has shown `words`."""
        assert self.process.stdout is not None
        async with asyncio.timeout(BOOT_LIMIT):
            while words not in self.seen:
                data = await self.process.stdout.read(4096)
                assert data, f"the guest ended; its console: {self.seen[-2000:]}"
                self.seen += data.decode(errors="replace")

    async def keep_pressing_power_button(self) -> None:
        reader, writer = await asyncio.open_unix_connection(self._monitor)
        writer.write(b'{"execute": "qmp_capabilities"}')
        try:
            while True:
                writer.write(b'{"execute": "system_powerdown"}')
                with suppress(TimeoutError):
                    async with asyncio.timeout(3):
                        while await reader.readline():
                            pass
                        return
        finally:
            writer.close()


@asynccontextmanager
async def booted(built: Path, disk: Path, memory: int, vcpus: int) -> AsyncIterator[Guest]:
    monitor = disk.with_name("qmp")
    line = images.cmdline("web", MACHINE) + " systemd.show_status=true"
    process = await asyncio.create_subprocess_exec(
        *["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-M", "q35", "-cpu", "max", "-nodefaults"],
        *["-display", "none", "-no-reboot", "-serial", "stdio", "-smp", str(vcpus), "-m", str(memory)],
        *["-kernel", built / "vmlinuz", "-initrd", built / "initrd", "-append", line],
        *["-drive", f"file={disk},format=raw,if=none,id=root", "-device", "virtio-blk-pci,drive=root"],
        *["-qmp", f"unix:{monitor},server=on,wait=off"],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Guest(process, monitor)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_the_smallest_machine_boots_and_its_power_button_leaves_a_clean_disk(built: Path, disk: Path) -> None:
    async with booted(built, disk, 512, 1) as guest:
        await guest.until("Multi-User System")
        # The button counts only once logind listens to it, which no line on the console tells: press until heard.
        pressing = asyncio.create_task(guest.keep_pressing_power_button())
        await guest.until("Power down")
        pressing.cancel()
        await asyncio.wait_for(guest.process.communicate(), 60)
        assert guest.process.returncode == 0
    assert "Failed to start" not in guest.seen
    done = fsck(disk)
    assert done.returncode == 0, done.stdout
    assert "ssh_host_ed25519_key" in debugfs(disk, "ls /etc/ssh")
    assert debugfs(disk, "cat /etc/machine-id").strip() == MACHINE.replace("-", "")


@pytest.mark.parametrize("step", ["fetch the base packages", "set up the base system"])
async def test_a_cancelled_build_leaves_no_process_mount_or_file(tmp_path: Path, step: str) -> None:
    staging = tmp_path / "staging"
    staging.mkdir()
    reached = asyncio.Event()

    def report(progress: Progress) -> None:
        if progress.step == step:
            reached.set()

    task = asyncio.create_task(images.build(staging, images.debian([]), report))
    await asyncio.wait_for(reached.wait(), BOOT_LIMIT)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(staging.iterdir()) == []
    assert str(staging) not in Path("/proc/self/mountinfo").read_text()
    left = pidfd.find(lambda argv: any(str(staging) in word for word in argv))
    for process in left:
        os.close(process.pidfd)
    assert left == []
