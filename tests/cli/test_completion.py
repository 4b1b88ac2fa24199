"""Tab completion in a real bash: bash ends words at colons, and NAME:PATH is one word."""

from __future__ import annotations

import asyncio

import pytest

from tests.cli.conftest import BOXD
from tests.fakes.service import KEY

ASK = """
eval "$("$0" completion bash)"
compopt() { echo "[compopt $1 $2]"; }
COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
_boxd_completion "$0"
printf '%s\\n' "${COMPREPLY[@]}"
"""


async def completed(boxd, line, cwd) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", ASK, BOXD, line, env=boxd.environ, cwd=cwd, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 20)
    return sorted(out.decode().split("\n")[:-1])


@pytest.fixture
async def files(service, web, tmp_path):
    home = service.home("web")
    await service.create_route(service.authenticate(KEY), "web", "api", 9000)
    (home / "notes dir").mkdir()
    (home / "notes dir/deep").touch()
    (home / "nice").touch()
    (home / "n\x1b[2J").touch()
    here = tmp_path / "here"
    (here / "warm").mkdir(parents=True)
    (here / "wax").touch()
    return here


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("boxd machine cp w", ["warm/", "wax", "web:"]),
        ("boxd machine cp web:n", ["nice", "notes\\ dir/"]),
        ("boxd machine cp web:~/ni", ["~/nice"]),
        ("boxd machine cp wax web:ni", ["nice"]),
        ("boxd machine cp we", ["[compopt -o nospace]", "web:"]),
        ("boxd machine cp ghost:n", [""]),
        ("boxd machine new --image d", ["debian"]),
        ("boxd image remove ", ["debian"]),
        ("boxd machine checkpoint restore web ", ["one"]),
        ("boxd machine che", ["checkpoint"]),
        ("boxd machine proxy set-port ", ["api", "default"]),
        ("boxd machine proxy set-port --vm web a", ["api"]),
        ("boxd machine proxy remove --vm web ", ["api"]),
    ],
)
async def test_what_bash_offers(boxd, files, line, offered):
    assert await completed(boxd, line, files) == offered
