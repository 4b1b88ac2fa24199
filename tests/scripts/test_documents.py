"""What the documents list is what there is."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
VARIABLE = re.compile(r"[\"'`](BOXD_[A-Z]+(?:_[A-Z]+)*)[\"'`]")


def test_every_variable_of_the_environment_is_in_the_readme() -> None:
    read = {name for file in (TOP / "src").rglob("*.py") for name in VARIABLE.findall(file.read_text())}
    told = set(VARIABLE.findall((TOP / "README.md").read_text()))
    deprecated = {"BOXD_API_URL"}
    assert "BOXD_HOME" in read
    assert read - deprecated == told


def test_the_files_of_a_capture_are_in_the_architecture() -> None:
    text = (TOP / "ARCHITECTURE.md").read_text()
    for name in ("manifest.json", "memory.img", "devices.state", "disk.raw", "digests.json"):
        assert f"    {name} " in text
