"""What `scripts/test` runs and as whom, with programs that only say how they were called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/test"
SYSTEM = ("bash", "dirname", "env", "sed", "timeout")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for directory in ("scripts", ".venv/bin", "bin", ".ci"):
        (tmp_path / directory).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "scripts/test")
    for name in SYSTEM:
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "bin" / name).symlink_to(found)
    program(tmp_path / "scripts/setup")
    program(tmp_path / "bin/shellcheck")
    for name in ("ruff", "mypy", "lint-imports", "pytest"):
        program(tmp_path / ".venv/bin" / name)
    return tmp_path


def program(path: Path, script: str = 'echo "${0##*/} $*"') -> None:
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def run(checkout: Path, uid: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    program(checkout / "bin/id", f"echo {uid}")
    argv = [checkout / "scripts/test", *arguments]
    environ = {**os.environ, "PATH": str(checkout / "bin")}
    return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)


def test_root_runs_everything_itself_and_is_told_the_time(checkout: Path) -> None:
    done = run(checkout, 0, "-x")
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[-1] == "pytest -x"
    assert done.stderr.splitlines()[-1].endswith("s in all")


def test_an_ordinary_user_gets_sudo_for_the_tests_only(checkout: Path) -> None:
    program(checkout / "bin/sudo", 'echo "sudo $*"')
    done = run(checkout, 1000)
    calls = [call for call in done.stdout.splitlines() if " | == " not in call]
    assert [call for call in calls if "sudo" in call] == calls[-2:]
    for call in calls[-2:]:
        assert "BOXD_MIRROR" in call and ".venv/bin/pytest" in call and "no:cacheprovider" in call


def test_without_sudo_it_says_so_before_anything_runs(checkout: Path) -> None:
    done = run(checkout, 1000)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--fast" in done.stderr
    fast = run(checkout, 1000, "--fast")
    assert fast.returncode == 0
    assert fast.stdout.splitlines()[-1] == "pytest -m not guest"


def test_the_whole_runs_in_two_streams_that_tell_their_names(checkout: Path) -> None:
    done = run(checkout, 0)
    assert done.returncode == 0, done
    assert {"guests | pytest -m guest", "others | pytest -m not guest"} <= set(done.stdout.splitlines())


@pytest.mark.parametrize("stream", ["guest", "not guest"])
def test_a_stream_that_fails_fails_it_and_the_other_is_heard_out(checkout: Path, stream: str) -> None:
    program(checkout / ".venv/bin/pytest", f'echo "ran $2"; [ "$2" != "{stream}" ]')
    done = run(checkout, 0)
    assert done.returncode != 0
    assert {"guests | ran guest", "others | ran not guest"} <= set(done.stdout.splitlines())


def test_a_failing_check_fails_it(checkout: Path) -> None:
    program(checkout / ".venv/bin/mypy", "exit 3")
    done = run(checkout, 0)
    assert done.returncode == 3
    assert "pytest" not in done.stdout
