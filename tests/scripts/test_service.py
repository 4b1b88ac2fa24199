"""The systemd unit: valid, and in agreement with setup, with the command and with the defaults of the settings."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from openboxd import settings
from openboxd.cli.main import cli

TOP = Path(__file__).parents[2]
SETUP = (TOP / "scripts/setup").read_text()
UNIT = (TOP / "packaging/boxd.service").read_text()
BOXD = Path(sys.executable).with_name("boxd")


def installed() -> str:
    """The unit as setup writes it, for the environment that runs this test."""
    (expression,) = re.findall(r'sed "(s\|.*?\|)" "\$top/packaging/boxd\.service"', SETUP)
    assert expression == "s|@BOXD@|$top/.venv/bin/boxd|"
    return UNIT.replace("@BOXD@", str(BOXD))


def values() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(installed())
    return unit["Service"]


def test_it_starts_a_command_that_exists() -> None:
    program, *words = values()["ExecStart"].split()
    assert Path(program).is_file()
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    assert not isinstance(command, click.Group)
    assert "@" not in values()["ExecStart"]


def test_its_directories_are_the_defaults_of_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    defaults = settings.load(environ={})
    service = values()
    assert Path("/var/lib") / service["StateDirectory"] == defaults.home
    assert Path("/run") / service["RuntimeDirectory"] == defaults.run_root
    assert service["StateDirectoryMode"] == service["RuntimeDirectoryMode"] == "0700"


def test_machines_outlive_a_restart_of_the_daemon() -> None:
    service = values()
    assert service["KillMode"] == "process"
    assert service["RuntimeDirectoryPreserve"] == "yes"
    assert not [name for name in service if name.startswith(("Protect", "PrivateTmp", "PrivateMounts"))]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    unit = tmp_path / "boxd.service"
    unit.write_text(installed())
    argv = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
