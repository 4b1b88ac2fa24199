"""Which QEMU is fit, and which accelerator is chosen; with small programs that answer like QEMU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openboxd.errors import HostUnfit
from openboxd.qemu import accel
from openboxd.qemu.accel import Accelerators, trial_arguments, try_kvm
from openboxd.qemu.facts import Facts, find_facts, newest_machine, parse_version

MACHINES = """Supported machines are:
pc                   Standard PC (i440FX + PIIX, 1996) (alias of pc-i440fx-10.0)
pc-q35-9.2           Standard PC (Q35 + ICH9, 2009)
q35                  Standard PC (Q35 + ICH9, 2009) (alias of pc-q35-10.0)
pc-q35-10.0          Standard PC (Q35 + ICH9, 2009)
pc-q35-9.1           Standard PC (Q35 + ICH9, 2009)
"""


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", "10.0.2"),
        ("QEMU emulator version 9.0.0", "9.0.0"),
        ("QEMU emulator version 11.1", "11.1.0"),
    ],
)
def test_versions_that_will_do(text: str, version: str) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["QEMU emulator version 7.2.17", "QEMU emulator version 8.2.0", "hello"])
def test_versions_that_will_not_do_name_the_remedy(text: str) -> None:
    with pytest.raises(HostUnfit, match=r"QEMU 9\.0 or newer: .*qemu-system-x86"):
        parse_version(text)


def test_the_machine_type_is_the_newest_versioned_one() -> None:
    assert newest_machine(MACHINES) == "pc-q35-10.0"
    with pytest.raises(HostUnfit, match="no q35"):
        newest_machine("microvm   microvm (i386)\n")


async def test_facts_come_from_the_program(tmp_path: Path) -> None:
    script = f"case $1 in --version) echo QEMU emulator version 10.0.2;; *) cat <<E\n{MACHINES}E\n;; esac"
    path = program(tmp_path / "qemu", script)
    assert await find_facts(path) == Facts(path, "10.0.2", "pc-q35-10.0")


async def test_a_missing_or_broken_qemu(tmp_path: Path) -> None:
    with pytest.raises(HostUnfit, match="not installed"):
        await find_facts(str(tmp_path / "none"))
    with pytest.raises(HostUnfit, match="does not run: no library"):
        await find_facts(program(tmp_path / "qemu", "echo no library >&2; exit 127"))


# ------------------------------------------------------------------------------------------------- accelerators

GOOD = "echo 'Linux version 6.12'"


def facts(path: str, version: str = "10.0.2") -> Facts:
    return Facts(path, version, "pc-q35-10.0")


@pytest.fixture
def kvm(tmp_path: Path) -> Path:
    device = tmp_path / "kvm"
    device.touch()
    return device


async def test_software_on_demand_needs_no_trial(tmp_path: Path, kvm: Path) -> None:
    assert (await Accelerators(tmp_path, "tcg", kvm).find(facts("x"), Path("k"))).name == "tcg"


async def test_kvm_on_demand_is_tried_and_refused_with_the_fault(tmp_path: Path, kvm: Path) -> None:
    def demand(device: Path = kvm) -> Accelerators:
        return Accelerators(tmp_path, "kvm", device)

    answer = await demand().find(facts("x"), None)
    assert (answer.name, "as soon as an image exists" in answer.reason) == ("kvm", True)
    good = facts(program(tmp_path / "good", GOOD))
    assert (await demand().find(good, Path("k"))).name == "kvm"
    (tmp_path / "accel.json").unlink()
    aborting = facts(program(tmp_path / "aborting", "echo 'qemu: failed to set MSR 0x4b' >&2; exit 134"))
    sentence = r"demands KVM, but .*status 134.*failed to set MSR 0x4b.*BOXD_ACCEL=auto"
    for kernel in (Path("k"), None):
        with pytest.raises(HostUnfit, match=sentence):
            tried = demand()
            await tried.find(aborting, Path("k"))
        with pytest.raises(HostUnfit, match=sentence):
            await tried.find(aborting, kernel)  # known by now, also without a kernel
    with pytest.raises(HostUnfit, match="does not exist"):
        await demand(tmp_path / "none").find(facts("x"), None)


async def test_a_demand_tries_again_what_failed_for_an_earlier_daemon(tmp_path: Path, kvm: Path) -> None:
    silent = facts(program(tmp_path / "silent", "exit 0"))
    assert (await Accelerators(tmp_path, "auto", kvm).find(silent, Path("k"))).name == "tcg"
    good = facts(program(tmp_path / "good", GOOD))
    assert (await Accelerators(tmp_path, "auto", kvm).find(good, Path("k"))).name == "tcg"
    assert (await Accelerators(tmp_path, "kvm", kvm).find(good, Path("k"))).name == "kvm"
    assert (await Accelerators(tmp_path, "auto", kvm).find(silent, Path("k"))).name == "kvm"


async def test_without_a_kernel_nothing_is_remembered(tmp_path: Path, kvm: Path) -> None:
    found = Accelerators(tmp_path, "auto", kvm)
    answer = await found.find(facts("x"), None)
    assert answer.name == "tcg"
    assert "image" in answer.reason
    assert not (tmp_path / "accel.json").exists()
    good = program(tmp_path / "good", GOOD)
    assert (await found.find(facts(good), Path("k"))).name == "kvm"


async def test_kvm_is_believed_only_when_a_guest_ran(tmp_path: Path, kvm: Path) -> None:
    silent = facts(program(tmp_path / "silent", "exit 0"))
    failing = facts(program(tmp_path / "failing", f"{GOOD}; exit 1"))
    for number, broken in enumerate((silent, failing)):
        home = tmp_path / str(number)
        home.mkdir()
        answer = await Accelerators(home, "auto", kvm).find(broken, Path("k"))
        assert answer.name == "tcg"
        assert "exists, but" in answer.reason


async def test_a_hanging_guest_is_ended(tmp_path: Path) -> None:
    hanging = program(tmp_path / "hanging", f"{GOOD}; sleep 60 & sleep 60")
    reason = await try_kvm(hanging, Path("k"), deadline=0.3)
    assert reason is not None
    assert "did not get through" in reason


async def test_the_answer_is_remembered_for_this_boot_and_this_qemu(
    tmp_path: Path, kvm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = program(tmp_path / "good", f"echo x >>{tmp_path}/trials; {GOOD}")

    async def find(version: str = "10.0.2") -> str:
        return (await Accelerators(tmp_path, "auto", kvm).find(facts(good, version), Path("k"))).name

    def trials() -> int:
        return len((tmp_path / "trials").read_text().splitlines())

    assert (await find(), await find(), trials()) == ("kvm", "kvm", 1)
    assert (tmp_path / "accel.json").stat().st_mode & 0o777 == 0o600
    assert (await find("10.0.3"), trials()) == ("kvm", 2)
    boot = tmp_path / "boot"
    boot.write_text("another\n")
    monkeypatch.setattr(accel, "_BOOT_ID", boot)
    assert (await find("10.0.3"), trials()) == ("kvm", 3)
    (tmp_path / "accel.json").write_text("rubbish")
    assert (await find("10.0.3"), trials()) == ("kvm", 4)
    assert json.loads((tmp_path / "accel.json").read_text())["fault"] is None
    kvm.unlink()
    assert await find("10.0.3") == "tcg"


def test_the_trial_ends_when_the_guest_reboots() -> None:
    argv = trial_arguments("qemu", Path("k"), "kvm")
    assert "-no-reboot" in argv
    assert any("panic=-1" in word for word in argv)
