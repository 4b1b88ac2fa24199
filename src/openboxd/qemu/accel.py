"""Which accelerator runs guests: KVM only where a real guest has been seen to run under it.

/dev/kvm can exist, open and create machines, and still hang every guest. So a kernel is booted under it, without
any disk: it must print its own first line and, finding no root, panic and reboot, which ends QEMU. The answer is
kept until the host boots again or QEMU changes.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from openboxd.errors import HostUnfit
from openboxd.host.files import write_atomic
from openboxd.host.process import clean_environment
from openboxd.model import Accelerator
from openboxd.qemu.facts import Facts

KVM = Path("/dev/kvm")
DEADLINE = 8.0
"""Seconds for the trial: a kernel under KVM needs less than two."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SIGN = b"Linux version"  # the kernel's own first line
_APPEND = "console=ttyS0 earlyprintk=serial panic=-1 reboot=t"


class Accelerators:
    """Finds the accelerator once and remembers it."""

    def __init__(self, home: Path, wish: str, device: Path = KVM) -> None:
        """`wish` is "auto", "kvm" or "tcg"."""
        self._memory = home / "accel.json"
        self._wish = wish
        self._device = device
        self._known: Accelerator | None = None
        self._lock = asyncio.Lock()

    async def find(self, facts: Facts, kernel: Path | None) -> Accelerator:
        """The accelerator and why. Without a kernel to try, "tcg", and that answer is not kept.

        Raises:
            HostUnfit: KVM was demanded and cannot be opened.
        """
        async with self._lock:
            if self._known is None:
                self._known = self._demanded() or self._remembered(facts)
            if self._known is None:
                hindrance = self._hindrance()
                if hindrance is None and kernel is None:
                    return Accelerator("tcg", "Software emulation: KVM is tried as soon as an image exists.")
                self._known = await self._try(facts, kernel, hindrance)
            return self._known

    def _demanded(self) -> Accelerator | None:
        if self._wish == "tcg":
            return Accelerator("tcg", "Software emulation, because BOXD_ACCEL demands it.")
        if self._wish == "kvm":
            hindrance = self._hindrance()
            if hindrance is not None:
                raise HostUnfit(f"BOXD_ACCEL demands KVM, but {hindrance}; set BOXD_ACCEL=auto, or enable KVM")
            return Accelerator("kvm", "KVM, because BOXD_ACCEL demands it.")
        return None

    def _hindrance(self) -> str | None:
        try:
            os.close(os.open(self._device, os.O_RDWR | os.O_CLOEXEC))
        except FileNotFoundError:
            return f"{self._device} does not exist"
        except OSError as error:
            return f"{self._device} cannot be opened ({error.strerror})"
        return None

    async def _try(self, facts: Facts, kernel: Path | None, hindrance: str | None) -> Accelerator:
        if hindrance is not None or kernel is None:
            return Accelerator("tcg", f"Software emulation: {hindrance}.")
        fault = await try_kvm(facts.program, kernel)
        if fault is None:
            answer = Accelerator("kvm", "KVM: a trial guest ran.")
        else:
            answer = Accelerator("tcg", f"Software emulation: {self._device} exists, but {fault}.")
        record = {**self._circumstances(facts), "name": answer.name, "reason": answer.reason}
        with suppress(OSError):  # then it is tried again after the next start
            await asyncio.to_thread(write_atomic, self._memory, json.dumps(record).encode())
        return answer

    def _remembered(self, facts: Facts) -> Accelerator | None:
        try:
            record = json.loads(self._memory.read_bytes())
            if {key: record.get(key) for key in ("boot_id", "qemu")} != self._circumstances(facts):
                return None
            if record["name"] == "kvm" and self._hindrance() is not None:
                return None
            return Accelerator(record["name"], record["reason"])
        except (OSError, ValueError, KeyError, AttributeError):
            return None

    def _circumstances(self, facts: Facts) -> dict[str, str]:
        return {"boot_id": _BOOT_ID.read_text().strip(), "qemu": facts.version}


async def try_kvm(program: str, kernel: Path, accelerator: str = "kvm", deadline: float = DEADLINE) -> str | None:
    """Boot the kernel under the accelerator; None if it ran, else a clause that says what happened."""
    process = await asyncio.create_subprocess_exec(
        *trial_arguments(program, kernel, accelerator),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        env=clean_environment(os.environ),
    )
    try:
        async with asyncio.timeout(deadline):
            output, _ = await process.communicate()
    except TimeoutError:
        return f"a trial guest did not get through its start within {deadline:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())
    if process.returncode:
        return f"QEMU ended with status {process.returncode} when a trial guest ran"
    return None if _SIGN in output else "a trial guest ended without a sign of its kernel"


def trial_arguments(program: str, kernel: Path, accelerator: str) -> list[str]:
    """QEMU without any device but a serial port, ending when the guest reboots."""
    fixed = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-m", "256M", "-serial", "stdio"]
    sandbox = ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]
    boot = ["-kernel", str(kernel), "-append", _APPEND]
    return [
        program,
        "-machine",
        "q35,dump-guest-core=off",
        "-accel",
        accelerator,
        "-cpu",
        "max",
        *fixed,
        *sandbox,
        *boot,
    ]
