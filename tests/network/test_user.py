"""The user network, with what this host has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from openboxd.network.user import UserNetwork
from tests.contracts.rows import a_machine

RUN = "aaaaaaaaaaaa"


async def test_without_pasta_it_leads_nowhere_and_says_so(tmp_path: Path) -> None:
    network = UserNetwork(tmp_path, pasta="boxd-no-such-program")
    link = await network.prepare(a_machine(), RUN)
    assert (link.restricted, link.around, link.resolver, link.tap) == (True, (), "", -1)
    (finding,) = await network.check()
    assert finding.verdict == "warning"
    assert finding.detail == "machines reach nothing outside: pasta is not installed"
    await network.attach(a_machine(), RUN, os.getpid())
    await network.release(a_machine(), RUN)
    await network.close()
    assert not list(tmp_path.iterdir())


def test_what_it_cannot_put_in_force_is_refused(tmp_path: Path) -> None:
    network = UserNetwork(tmp_path)
    for fields, words in (
        ({"networks": ("db",)}, "in which each is alone; run the daemon as root"),
        ({"egress_allow": ("1.1.1.1", "example.com")}, "knows addresses and no names; run the daemon as root"),
    ):
        assert words in network.why_not(a_machine(**fields))
    if shutil.which("nft"):
        assert network.why_not(a_machine(egress_allow=("1.1.1.1", "203.0.113.0/24"))) == ""
    assert network.why_not(a_machine()) == ""


async def test_a_machine_that_does_not_run_has_nothing_to_be_put_in_force(tmp_path: Path) -> None:
    await UserNetwork(tmp_path).refresh(a_machine(egress_allow=("1.1.1.1",)))
