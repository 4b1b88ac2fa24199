"""`boxd doctor`: what the daemon's host has and lacks; without a daemon, what this host has and lacks."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from openboxd import __version__
from openboxd.cli.base import Command
from openboxd.cli.output import answer, clean
from openboxd.cli.state import State, pass_state
from openboxd.errors import BoxdError, Unauthenticated, Unavailable
from openboxd.model import Finding

OK, WARNING, MISSING = "ok", "warning", "missing"

WIDTH = 100
"""Columns where there is no terminal."""

LEAST_WIDTH = 40


@click.command("doctor", cls=Command)
@pass_state
def doctor(state: State) -> None:
    """Check the daemon's host: QEMU, acceleration, the pool and its space, the programs it uses, networks, names.

    Without a daemon on this host it checks what can be checked without one, and says so. The exit status is 1 if
    something is missing that boxd cannot do without.
    """
    try:
        findings = _of_daemon(state)
    except (Unavailable, Unauthenticated) as error:
        findings = _of_this_host(state, error)
    data = [{"subject": f.subject, "verdict": f.verdict, "detail": f.detail, "remedy": f.remedy} for f in findings]
    answer(state, data, listing(findings, shutil.get_terminal_size((WIDTH, 0)).columns))
    if any(f.verdict == MISSING for f in findings):
        raise click.exceptions.Exit(1)


def listing(findings: Sequence[Finding], width: int) -> str:
    """Verdict, subject and detail in columns that keep to the width; what to do stands below."""
    subjects = max((len(f.subject) for f in findings), default=0)
    lines: list[str] = []
    for found in findings:
        head = f"{found.verdict:<{len(MISSING)}}  {clean(found.subject):<{subjects}}  "
        room = max(LEAST_WIDTH, width - len(head))
        texts = [clean(found.detail)] + ([f"do: {clean(found.remedy)}"] if found.remedy else [])
        rows = [row for text in texts for row in textwrap.wrap(text, room, break_long_words=False)]
        lines += [f"{head if number == 0 else ' ' * len(head)}{row}" for number, row in enumerate(rows or [""])]
    return "\n".join(line.rstrip() for line in lines)


def _of_daemon(state: State) -> list[Finding]:
    told = state.run(lambda client: client.doctor())
    found = [Finding(f.subject, f.verdict, f.detail, f.remedy) for f in told.findings]
    return [daemon_finding(told.version, told.home, os.environ.get("BOXD_HOME", "")), *found]


def daemon_finding(version: str, home: str, wanted_home: str) -> Finding:
    """Whether the daemon that answers is the one that this program and its environment mean."""
    text = f"version {version}, data in {home}"
    if version != __version__:
        return Finding("daemon", WARNING, f"{text}; this program is {__version__}", "restart it: machines run on")
    if wanted_home and home and Path(wanted_home).absolute() != Path(home):
        remedy = "set BOXD_BASE_URL to the daemon you mean, or correct BOXD_HOME"
        return Finding("daemon", WARNING, f"{text}; BOXD_HOME is {wanted_home}", remedy)
    return Finding("daemon", OK, text)


def _of_this_host(state: State, error: BoxdError) -> list[Finding]:
    """The checks that need no daemon. Raises the error if the daemon is on another host."""
    from openboxd.client.endpoint import find_address
    from openboxd.host import doctor as host
    from openboxd.settings import load

    if not find_address(state.api_url).loopback:
        raise error
    detail = f"without it only programs and devices of this host were checked: {error.message}"
    return [Finding("daemon", WARNING, detail), *host.host(load().qemu)]
