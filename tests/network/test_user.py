"""The user network, with what this host has."""

from __future__ import annotations

import os
from pathlib import Path

from openboxd.network.user import UserNetwork
from tests.contracts.store import a_machine

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
