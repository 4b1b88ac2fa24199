"""`boxd doctor`: what the daemon's host has and lacks."""

from __future__ import annotations

import click

from openboxd.cli.base import Command
from openboxd.cli.output import answer, table
from openboxd.cli.state import State, pass_state


@click.command("doctor", cls=Command)
@pass_state
def doctor(state: State) -> None:
    """Check the daemon's host: QEMU, acceleration, the pool, images.

    The exit status is 1 if something is missing that boxd cannot do without.
    """
    findings = state.run(lambda client: client.doctor())
    data = [{"subject": f.subject, "verdict": f.verdict, "detail": f.detail, "remedy": f.remedy} for f in findings]
    rows = [(f.verdict, f.subject, f.detail, f.remedy) for f in findings]
    answer(state, data, table(("VERDICT", "SUBJECT", "DETAIL", "REMEDY"), rows))
    if any(f.verdict == "missing" for f in findings):
        raise click.exceptions.Exit(1)
