"""Which accelerator runs guests: KVM only where a real guest has been seen to run under it.

/dev/kvm can exist, open and create machines, and still hang every guest. So a kernel is booted under it, without
any disk: it must print its own first line and, finding no root, panic and reboot, which ends QEMU. The answer is
kept until the host boots again or QEMU changes. Whoever demands KVM gets the same trial: a machine that hangs until
its boot times out tells nobody why.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
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
_WORDS = 200  # characters of what QEMU said
_SIGN = b"Linux version"  # the kernel's own first line
_APPEND = "console=ttyS0 earlyprintk=serial panic=-1 reboot=t"


@dataclass(frozen=True)
class Trial:
    """How a trial guest fared under KVM: a clause about what went wrong, or None."""

    fault: str | None


class Accelerators:
    """Finds the accelerator once and remembers it."""

    def __init__(self, home: Path, wish: str, device: Path = KVM) -> None:
        """`wish` is "auto", "kvm" or "tcg"."""
        self._memory = home / "accel.json"
        self._wish = wish
        self._device = device
        self._trial: Trial | None = None
        self._lock = asyncio.Lock()

    async def find(self, facts: Facts, kernel: Path | None) -> Accelerator:
        """The accelerator and why. Without a kernel to try KVM with, the answer is not kept.

        Raises:
            HostUnfit: KVM was demanded and no guest runs under it here.
        """
        if self._wish == "tcg":
            return Accelerator("tcg", "Software emulation, because BOXD_ACCEL demands it.")
        async with self._lock:
            self._trial = self._trial or self._remembered(facts)
            hindrance = None if self._trial else self._hindrance()
            if self._trial is None and hindrance is None and kernel is not None:
                self._trial = await self._try(facts, kernel)
        if self._wish == "kvm":
            return self._demanded(hindrance)
        return self._chosen(hindrance)

    def _demanded(self, hindrance: str | None) -> Accelerator:
        fault = self._trial.fault if self._trial else hindrance
        if fault:
            raise HostUnfit(
                f"BOXD_ACCEL demands KVM, but {fault}; set BOXD_ACCEL=auto, or make KVM work and try again"
            )
        if self._trial is None:
            return Accelerator("kvm", "KVM, because BOXD_ACCEL demands it: it is tried as soon as an image exists.")
        return Accelerator("kvm", "KVM, because BOXD_ACCEL demands it: a trial guest ran.")

    def _chosen(self, hindrance: str | None) -> Accelerator:
        if self._trial is None and hindrance is None:
            return Accelerator("tcg", "Software emulation: KVM is tried as soon as an image exists.")
        fault = self._trial.fault if self._trial else hindrance
        if fault:
            return Accelerator("tcg", f"Software emulation: {fault}.")
        return Accelerator("kvm", "KVM: a trial guest ran.")

    def _hindrance(self) -> str | None:
        try:
            os.close(os.open(self._device, os.O_RDWR | os.O_CLOEXEC))
        except FileNotFoundError:
            return f"{self._device} does not exist"
        except OSError as error:
            return f"{self._device} cannot be opened ({error.strerror})"
        return None

    async def _try(self, facts: Facts, kernel: Path) -> Trial:
        fault = await try_kvm(facts.program, kernel)
        trial = Trial(fault and f"{self._device} exists, but {fault}")
        record = {**self._circumstances(facts), "fault": trial.fault}
        with suppress(OSError):  # then it is tried again after the next start
            await asyncio.to_thread(write_atomic, self._memory, json.dumps(record).encode())
        return trial

    def _remembered(self, facts: Facts) -> Trial | None:
        """What an earlier daemon saw. Who demands KVM has a reason to think that it works now: it is tried again."""
        try:
            record = json.loads(self._memory.read_bytes())
            if {key: record.get(key) for key in ("boot_id", "qemu")} != self._circumstances(facts):
                return None
            trial = Trial(record["fault"])
        except (OSError, ValueError, KeyError, AttributeError):
            return None
        unreliable = self._wish == "kvm" if trial.fault else self._hindrance() is not None
        return None if unreliable else trial

    def _circumstances(self, facts: Facts) -> dict[str, str]:
        return {"boot_id": _BOOT_ID.read_text().strip(), "qemu": facts.version}


async def try_kvm(program: str, kernel: Path, accelerator: str = "kvm", deadline: float = DEADLINE) -> str | None:
    """Boot the kernel under the accelerator; None if it ran, else a clause that says what happened."""
    process = await asyncio.create_subprocess_exec(
        *trial_arguments(program, kernel, accelerator),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=clean_environment(os.environ),
    )
    try:
        async with asyncio.timeout(deadline):
            output, complaint = await process.communicate()
    except TimeoutError:
        return f"a trial guest did not get through its start within {deadline:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())
    if process.returncode:
        words = complaint.decode(errors="replace").strip().splitlines()
        reason = f" ({words[-1][:_WORDS]})" if words else ""
        return f"QEMU ended with status {process.returncode} when a trial guest ran{reason}"
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
