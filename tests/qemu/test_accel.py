"""The trial of KVM with the real QEMU and the image's kernel, whatever this host is."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from openboxd.errors import HostUnfit
from openboxd.qemu.accel import DEADLINE, Accelerators, try_kvm
from openboxd.qemu.facts import find_facts
from openboxd.qemu.hypervisor import QemuHypervisor
from tests.qemu.conftest import Bench

pytestmark = pytest.mark.guest

QEMU = "qemu-system-x86_64"
LONG = 60.0  # seconds: no guest that runs at all needs more for its first lines


async def test_the_trial_guest_gets_through_its_start_in_software(kernel: Path) -> None:
    began = time.monotonic()
    assert await try_kvm(QEMU, kernel, "tcg,thread=multi", LONG) is None
    print(f"the trial took {time.monotonic() - began:.1f} s in software")


async def test_the_trial_agrees_with_a_longer_one(kernel: Path, tmp_path: Path) -> None:
    """Says yes only if it is yes again, and no only to a guest that does not get through in that time."""
    began = time.monotonic()
    answer = await Accelerators(tmp_path, "auto").find(await find_facts(QEMU), kernel)
    print(f"{answer.name} after {time.monotonic() - began:.1f} s: {answer.reason}")
    if not (tmp_path / "accel.json").exists():
        assert answer.name == "tcg"  # no device that can be opened, so no trial
        return
    began = time.monotonic()
    fault = await try_kvm(QEMU, kernel, deadline=LONG / 2)
    took = time.monotonic() - began
    print(f"again, after {took:.1f} s: {fault}")
    assert (fault is None) == (answer.name == "kvm") or took > DEADLINE


async def test_a_machine_that_demands_kvm_runs_or_is_refused(bench: Bench) -> None:
    settings = replace(bench.settings(), accel="kvm")
    try:
        run, _, port = await bench.boot(QemuHypervisor(settings))
    except HostUnfit as error:
        print(error)
        assert "BOXD_ACCEL demands KVM, but /dev/kvm " in str(error)
        assert "BOXD_ACCEL=auto" in str(error)
        return
    assert "up" in await port.shell("echo up")
    await run.kill()
