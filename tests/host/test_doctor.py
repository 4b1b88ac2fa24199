"""Findings about the host, and that each says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from openboxd.host import doctor, programs, qemu_least
from openboxd.model import GIB, Accelerator, Finding, Space


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("10.0.2", "ok"), ("9.0.0", "ok"), ("8.2.2", "missing"), ("7.2", "missing"), (None, "missing")],
)
def test_qemu_must_be_nine(version: str | None, verdict: str) -> None:
    finding = doctor.qemu(version, "debian 13")
    assert finding.verdict == verdict
    assert bool(finding.remedy) == (verdict != "ok")


@pytest.mark.parametrize(
    ("system", "word"), [("debian 12", "bookworm-backports"), ("ubuntu 24.04", "cloud-archive"), ("debian 13", "apt")]
)
def test_the_remedy_for_an_old_qemu_fits_the_distribution(system: str, word: str) -> None:
    assert word in doctor.qemu("7.2.1", system).remedy


def test_the_distribution_is_read_from_os_release() -> None:
    assert qemu_least.distribution('PRETTY_NAME="X"\nID=debian\nVERSION_ID="12"\n') == "debian 12"
    assert qemu_least.distribution("") == ""


def test_the_device_is_missing_closed_or_fine(tmp_path: Path) -> None:
    assert doctor.kvm_device(tmp_path / "kvm").verdict == "warning"
    (tmp_path / "kvm").touch()
    assert doctor.kvm_device(tmp_path / "kvm").verdict == "ok"


def test_the_accelerators_verdict_is_passed_on() -> None:
    assert doctor.accelerator(Accelerator("kvm", "a trial guest ran")) == Finding(
        "acceleration", "ok", "a trial guest ran"
    )
    slow = doctor.accelerator(Accelerator("tcg", "a trial guest hung"))
    assert slow.verdict == "warning"
    assert "a trial guest hung" in slow.detail


def test_pool_room_and_python() -> None:
    assert doctor.pool("reflink", "it is XFS").verdict == "ok"
    assert "BOXD_HOME" in doctor.pool("copy", "it is ext4").remedy
    gone = doctor.no_pool("it is not mounted any more")
    assert (gone.verdict, gone.detail) == ("missing", "it is not mounted any more")
    assert "mount it again" in gone.remedy
    verdicts = [doctor.room(Space(100 * GIB, free * GIB)).verdict for free in (50, 5, 1)]
    assert verdicts == ["ok", "warning", "missing"]
    assert doctor.python((3, 11, 2)).verdict == "ok"
    assert doctor.python((3, 9, 2)).verdict == "missing"


def test_a_missing_program_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.program("sh", "nothing works").verdict == "ok"
    monkeypatch.setattr(programs, "locate", lambda program: None)
    finding = doctor.program("mkfs.xfs", "there are no reflinks", needed=False)
    assert (finding.verdict, finding.remedy) == ("warning", "apt install xfsprogs")
    assert {found.verdict for found in doctor.host()} & {"missing"}
