"""A recipe is data, and its digest names everything that decides the result."""

from __future__ import annotations

import dataclasses
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from openboxd.images import debian
from openboxd.images.build import debootstrap_arguments, disk_arguments
from openboxd.images.recipe import Recipe

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class File:
    path: str
    data: bytes = b""
    mode: int = 0o644
    symlink_to: str = ""


PAYLOAD = [File("/usr/lib/agent/main.py", b"print()"), File("/etc/a", symlink_to="/usr/lib/agent/main.py")]


def test_the_digest_is_a_directory_name() -> None:
    digest = debian([]).digest
    assert len(digest) == 32
    assert set(digest) <= set("0123456789abcdef")


def test_the_order_of_the_payload_makes_no_difference() -> None:
    assert debian(PAYLOAD).digest == debian(reversed(PAYLOAD)).digest


@pytest.mark.parametrize(
    "changed",
    [
        [],
        [PAYLOAD[0]],
        [File("/usr/lib/agent/main.py", b"print(1)"), PAYLOAD[1]],
        [File("/usr/lib/agent/main.py", b"print()", 0o755), PAYLOAD[1]],
        [PAYLOAD[0], File("/etc/a", symlink_to="/elsewhere")],
        [PAYLOAD[0], File("/etc/b", symlink_to="/usr/lib/agent/main.py")],
    ],
)
def test_any_change_of_the_payload_makes_another_image(changed: list[File]) -> None:
    assert debian(changed).digest != debian(PAYLOAD).digest


@pytest.mark.parametrize(
    "changed",
    [
        lambda recipe: dataclasses.replace(recipe, suite="sid"),
        lambda recipe: dataclasses.replace(recipe, packages=("bash",)),
        lambda recipe: dataclasses.replace(recipe, early=()),
        lambda recipe: dataclasses.replace(recipe, late=()),
        lambda recipe: dataclasses.replace(recipe, script="true"),
        lambda recipe: dataclasses.replace(recipe, modules=()),
        lambda recipe: dataclasses.replace(recipe, init=""),
        lambda recipe: dataclasses.replace(recipe, disk_bytes=1 << 30),
    ],
)
def test_every_field_counts(changed: Callable[[Recipe], Recipe]) -> None:
    recipe = debian(PAYLOAD)
    assert changed(recipe).digest != recipe.digest


def test_the_name_does_not_count() -> None:
    recipe = debian(PAYLOAD)
    assert dataclasses.replace(recipe, name="other").digest == recipe.digest


def test_no_registry_is_named() -> None:
    text = repr(debian([]))
    assert "://" not in text
    assert ".debian.org" not in text


def test_the_script_is_sound_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(debian([]).script)
    subprocess.run(["sh", "-n", script], check=True)
    script.write_text(debian([]).init)
    subprocess.run(["sh", "-n", script], check=True)


def test_the_script_leaves_the_configuration_of_mmdebstrap_alone() -> None:
    # It lies in the tree's /tmp; once it is gone, mmdebstrap's last apt-get acts on the host.
    assert "/tmp/" not in debian([]).script


def test_how_the_programs_are_called() -> None:
    recipe: Recipe = dataclasses.replace(debian([]), script="", late=(), early=())
    work = Path("/staging/.work")
    argv = debootstrap_arguments(
        recipe, work / "tree", work / "tmp/early.tar", work / "tmp/late.tar", work / "tmp/customize", ""
    )
    disk = disk_arguments(recipe, work / "tree", work / "disk.raw")
    identity = str(uuid.UUID(hex=recipe.digest))
    text = "\n".join([*argv, "", *disk]).replace(identity, "UUID") + "\n"
    assert text == (GOLDEN / "build.args").read_text()


def test_a_mirror_is_passed_on_and_does_not_change_the_digest() -> None:
    recipe = debian([])
    here = Path("/x")
    plain, mirrored = (debootstrap_arguments(recipe, here, here, here, here, m) for m in ("", "http://mirror/debian"))
    assert mirrored == [*plain, "http://mirror/debian"]
