"""`boxd doctor` with a daemon, with another one than is meant, and with none."""

from __future__ import annotations

import json

import pytest

from openboxd import __version__
from openboxd.cli.doctor import daemon_finding
from tests.lab import free_port

QEMU = "#!/bin/sh\necho 'QEMU emulator version {}'\n"


async def test_the_daemons_findings_come_after_the_daemon_itself(boxd, service):
    done = await boxd("doctor", "--json")
    assert done.status == 0
    assert [(row["subject"], row["verdict"]) for row in done.json] == [
        ("daemon", "ok"),
        ("qemu", "ok"),
        ("kvm", "warning"),
    ]
    assert __version__ in done.json[0]["detail"]
    assert service.data_dir in done.json[0]["detail"]


@pytest.mark.parametrize(
    ("version", "home", "wanted", "verdict"),
    [
        (__version__, "/h", "", "ok"),
        (__version__, "/h", "/h", "ok"),
        (__version__, "/h", "/other", "warning"),
        ("0.0.1", "/h", "/h", "warning"),
        ("", "", "/h", "warning"),  # a daemon that does not tell yet
    ],
)
def test_another_daemon_than_is_meant_is_told(version, home, wanted, verdict):
    finding = daemon_finding(version, home, wanted)
    assert finding.verdict == verdict
    assert bool(finding.remedy) == (verdict == "warning")


async def alone(boxd, tmp_path, qemu, **environ):
    """`boxd doctor` where nothing listens, with a QEMU that says this version."""
    program = tmp_path / "qemu"
    program.write_text(QEMU.format(qemu))
    program.chmod(0o755)
    boxd.environ |= {"BOXD_BASE_URL": f"http://127.0.0.1:{free_port()}", "BOXD_QEMU": str(program), **environ}
    return await boxd("doctor", "--json")


async def test_without_a_daemon_this_host_is_checked_and_that_is_said(boxd, tmp_path):
    done = await alone(boxd, tmp_path, "10.0.2")
    rows = {row["subject"]: row for row in done.json}
    assert done.json[0]["subject"] == "daemon"
    assert "does not answer" in rows["daemon"]["detail"]
    assert rows["QEMU"]["verdict"] == "ok"
    assert done.status == (1 if any(row["verdict"] == "missing" for row in done.json) else 0)


async def test_without_a_daemon_what_is_missing_still_fails(boxd, tmp_path):
    done = await alone(boxd, tmp_path, "7.2.0")
    assert done.status == 1
    assert {row["subject"]: row["verdict"] for row in done.json}["QEMU"] == "missing"


async def test_before_the_first_start_there_is_no_key_and_it_works_all_the_same(boxd, tmp_path):
    del boxd.environ["BOXD_API_KEY"]
    done = await alone(boxd, tmp_path, "10.0.2")
    assert "no API key" in done.json[0]["detail"]


async def test_the_checks_of_this_host_say_nothing_about_another_one(boxd, tmp_path):
    config = tmp_path / "config.json"
    del boxd.environ["BOXD_BASE_URL"], boxd.environ["BOXD_API_KEY"]
    config.write_text(json.dumps({"base_url": "http://192.0.2.1:9"}))
    done = await boxd("doctor", env={"BOXD_CONFIG": str(config)})
    assert (done.status, done.out) == (1, b"")
    assert "no API key" in done.err


@pytest.mark.parametrize("columns", ["", "80"])
async def test_lines_keep_to_the_width_and_lose_nothing(boxd, tmp_path, columns):
    environ = {"BOXD_BASE_URL": f"http://127.0.0.1:{free_port()}", "COLUMNS": columns}
    rows = (await boxd("doctor", "--json", env=environ)).json
    shown = (await boxd("doctor", env=environ)).text
    assert max(len(line) for line in shown.splitlines()) <= int(columns or 100)
    words = shown.split()
    for row in rows:
        assert set(f"{row['verdict']} {row['subject']} {row['detail']} {row['remedy']}".split()) <= set(words)
