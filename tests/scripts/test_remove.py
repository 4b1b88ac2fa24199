"""`scripts/setup --remove`: everything of one home goes, and nothing else does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openboxd.network import rules
from openboxd.settings import Settings, load
from tests.lab import free_port

SETUP = Path(__file__).parents[2] / "scripts/setup"
BOXD = Path(sys.executable).with_name("boxd")
LIMIT = 60


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "BOXD_HOME": str(tmp_path / "home"),
        "BOXD_CONFIG": str(tmp_path / "config.json"),
        "BOXD_LISTEN": f"127.0.0.1:{free_port()}",
        "BOXD_POOL_SIZE": "4G",
        "BOXD_NETWORK": "user",
        "BOXD_RUN_DIR": str(tmp_path / "run"),
    }


@contextmanager
def daemon(environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A daemon that serves."""
    process = subprocess.Popen([BOXD, "daemon", "run"], env=environ, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        lines = []
        while "serves" not in (line := process.stderr.readline()):
            lines.append(line)
            assert line, lines
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def machine(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A process that looks like one of this home's machines."""
    argv = ["qemu-system-x86_64", "-c", "import time; time.sleep(1000)", f"{settings.run_dir}/0123456789ab/pid"]
    process = subprocess.Popen(argv, executable=sys.executable)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def setup(environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    argv = [SETUP, "--remove", *words]
    return subprocess.run(
        argv, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def test_everything_of_this_home_goes_and_nothing_else(environ: dict[str, str], tmp_path: Path) -> None:
    settings = load(environ=environ)
    other = load(environ={**environ, "BOXD_HOME": str(tmp_path / "other")})
    (tmp_path / "other").mkdir()
    with daemon(environ) as process, machine(settings) as ours, machine(other) as foreign:
        unasked = setup(environ)
        assert (unasked.returncode, "nothing was removed" in unasked.stderr) == (1, True), unasked
        assert (settings.database.exists(), process.poll(), ours.poll()) == (True, None, None)

        done = setup(environ, "-y")
        assert done.returncode == 0, done
        assert process.wait(LIMIT) == 0
        assert ours.wait(LIMIT) == -9
        assert foreign.poll() is None
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "run") == ["other"]
    assert str(settings.home) not in Path("/proc/self/mountinfo").read_text()
    again = setup(environ, "-y")
    assert (again.returncode, "there is no boxd in" in again.stderr) == (1, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has bridges")
def test_the_bridge_of_this_home_goes(environ: dict[str, str]) -> None:
    settings = load(environ=environ)
    settings.home.mkdir()
    settings.database.touch()
    bridge = rules.names(settings.run_dir.name).bridge
    subprocess.run(["ip", "link", "add", bridge, "type", "bridge"], check=True)
    try:
        assert setup(environ, "-y").returncode == 0
        assert not Path(f"/sys/class/net/{bridge}").exists()
    finally:
        subprocess.run(["ip", "link", "delete", bridge], check=False, capture_output=True)


def test_all_that_boxd_keeps_in_its_home_is_known() -> None:
    """Each file of a home that the sources name is one that is removed."""
    top = SETUP.parents[1]
    sources = [file.read_text() for file in (top / "src/openboxd").rglob("*.py")]
    named = {name for text in sources for name in re.findall(r'\b(?:self|settings)\.home / "([^"]+)"', text)}
    removed = (top / "scripts/remove.py").read_text()
    assert {"guards", "pool"} <= named
    assert [name for name in sorted(named) if f'"{name}"' not in removed] == []


def test_what_boxd_did_not_make_stays(environ: dict[str, str], tmp_path: Path) -> None:
    with daemon(environ):
        (tmp_path / "home/thesis.tex").write_text("years of work")
        (tmp_path / "config.json").write_text('{"base_url": "http://127.0.0.1:1", "api_key": "another"}')
        done = setup(environ, "-y")
    assert (done.returncode, "thesis.tex" in done.stderr) == (1, True), done
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.tex"]
    assert (tmp_path / "config.json").exists()
