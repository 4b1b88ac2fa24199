"""The demo must not say that all is well when it is not."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from openboxd.settings import load

SCRIPTS = Path(__file__).parents[2] / "scripts"

FIRST = {"pid": 7, "pattern": "ab", "counter": 100}
LAST = {"pid": 7, "pattern": "ab", "counter": 200}


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", SCRIPTS / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_true_restore_passes(demo: ModuleType) -> None:
    demo.compare(FIRST, LAST, {**LAST, "counter": 150}, 1.0, {**LAST, "counter": 160})


@pytest.mark.parametrize(
    ("after", "again"),
    [
        ({"pid": 8}, {}),  # started anew
        ({"pattern": "cd"}, {}),
        ({"counter": 99}, {}),  # older than the save
        ({"counter": 301}, {}),  # more than it can have counted
        ({}, {"counter": 150}),  # stands still
    ],
)
def test_anything_else_fails(demo: ModuleType, after: dict[str, Any], again: dict[str, Any]) -> None:
    with pytest.raises(demo.Wrong):
        demo.compare(FIRST, LAST, {**LAST, "counter": 150, **after}, 1.0, {**LAST, "counter": 400, **again})


def test_the_guests_program_makes_loses_and_describes_its_data(tmp_path: Path) -> None:
    def guest(word: str) -> str:
        argv = [sys.executable, SCRIPTS / "demo_guest.py", word]
        return subprocess.run(argv, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True).stdout

    guest("prepare")
    assert '"pid"' in guest("start")
    before = guest("look")
    assert '"files": 50' in before
    assert '"rows": 1200' in before
    assert '"only_in_log": 200' in before
    assert '"log_bytes": 0' not in before
    assert guest("look") == before
    guest("wreck")
    assert '"rows": 0' in guest("look")
    with pytest.raises(subprocess.CalledProcessError):
        guest("ask")


def test_the_guests_program_begins_anew_whatever_an_interrupted_demo_left(tmp_path: Path) -> None:
    def guest(word: str) -> str:
        argv = [sys.executable, SCRIPTS / "demo_guest.py", word]
        return subprocess.run(argv, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True).stdout

    guest("prepare")
    before = json.loads(guest("start"))
    left, content = json.loads(guest("ask")), guest("look")
    assert left["pid"] == before["pid"]
    guest("prepare")  # its program runs, its files and its database are there
    program = Path(f"/proc/{before['pid']}/cmdline")
    assert not program.exists() or program.read_bytes() == b"", "it has ended, waited for or not"
    after = json.loads(guest("start"))
    assert (after["pid"], after["pattern"]) != (before["pid"], before["pattern"])
    again = json.loads(guest("look"))
    assert (again["files"], again["rows"], again["only_in_log"]) == (50, 1200, 200)
    assert again["content"] != json.loads(content)["content"]
    guest("wreck")  # interrupted here: neither program nor files
    guest("prepare")
    assert json.loads(guest("look"))["files"] == 50


@pytest.mark.parametrize(
    ("status", "statuses", "expected"),
    [
        ("running", [["pending"], ["pending"], ["ready"]], []),  # interrupted while it saved
        ("stopped", [["ready"]], [("machine", "start", "demo")]),
        ("starting", [[]], [("machine", "start", "demo")]),  # which joins the start
        ("suspended", [["failed"]], []),
        ("hibernated", [[]], []),
    ],
)
def test_a_demo_on_what_an_interrupted_one_left(
    demo: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    statuses: list[list[str]],
    expected: list[tuple[str, ...]],
) -> None:
    listed = iter(statuses)
    calls: list[tuple[str, ...]] = []

    def answer(*words: str) -> list[dict[str, str]]:
        if words == ("ls",):
            return [{"name": "demo", "status": status}]
        assert words == ("machine", "checkpoint", "list", "demo")
        return [{"name": "mine", "status": "ready"}, *({"name": "before-wreck", "status": s} for s in next(listed))]

    monkeypatch.setattr(demo, "boxd_json", answer)
    monkeypatch.setattr(demo, "boxd", lambda *words: calls.append(words))
    demo.machine_ready("demo")
    removal = ("machine", "checkpoint", "remove", "demo", "before-wreck", "-y")
    assert calls == [*expected, *([removal] if statuses[-1] else [])]
    assert list(listed) == []


@pytest.mark.parametrize(("told", "expected"), [({}, "wanted"), ({"BOXD_WARM": "on"}, "on")])
def test_its_daemon_warms_nothing_that_the_demo_does_not_use(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, str], expected: str
) -> None:
    begun: list[dict[str, str]] = []

    class Daemon:
        pid = 1

        def __init__(self, argv: list[str], *, env: dict[str, str], **_: object) -> None:
            begun.append(env)

    monkeypatch.delenv("BOXD_WARM", raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(demo.subprocess, "Popen", Daemon)
    monkeypatch.setattr(demo, "answers", lambda: True)
    demo.start_daemon(tmp_path)
    (env,) = begun
    assert env["BOXD_WARM"] == expected
    settings = load(environ=env)
    assert (settings.warm, settings.warm_builds) == (True, expected == "on")


@pytest.mark.parametrize("name", ["setup", "test", "demo"])
def test_the_shell_scripts_parse(name: str) -> None:
    subprocess.run(["bash", "-n", SCRIPTS / name], check=True)


def test_setup_refuses_what_it_does_not_know() -> None:
    done = subprocess.run([SCRIPTS / "setup", "--bogus"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_stopping_the_demo_leaves_other_machines_alone(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"demo": "running", "mine": "running", "old": "stopped"}
    rows = [{"name": name, "status": each} for name, each in status.items()]
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(demo, "answers", lambda: True)
    monkeypatch.setattr(demo, "boxd_json", lambda *words: rows)
    monkeypatch.setattr(demo, "boxd", lambda *words: calls.append(words))
    argv = [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)", "daemon", str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        demo.pid_file(tmp_path).write_text(str(daemon.pid))
        demo.stop(tmp_path, "demo")
        assert daemon.wait(10) != 0
    assert calls == [("machine", "stop", "demo")]
    assert "running on, for the next daemon to take over: mine" in capsys.readouterr().out

    demo.stop(tmp_path, "demo")
    assert "no daemon that a demo started is running; running on: mine" in capsys.readouterr().out
