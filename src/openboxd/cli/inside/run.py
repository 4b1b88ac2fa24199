"""Running one command for a machine, in a process that is in the sandbox already."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

import click

from openboxd.cli.main import carry_out, cli
from openboxd.cli.output import fail
from openboxd.cli.state import Here, State
from openboxd.errors import OperationFailed

CONTROL = 3
KNOWN_LIMIT = 30.0

OUTSIDE = (("daemon",), ("doctor",), ("auth",), ("admin",), ("machine", "ssh-config"), ("image", "build"))
"""Commands about the host, the account or files of the user's own computer: machines do not have them."""


def run(job: Mapping[str, Any]) -> int:
    """The exit status. `job` is what the daemon asked for: args, name, machine_id, directory, superuser."""
    for path in OUTSIDE:
        _take_out(cli, path)
    sys.argv = ["boxd", *job["args"]]
    name, machine_id, directory = (str(job[field]) for field in ("name", "machine_id", "directory"))
    here = Here(name, machine_id, directory, bool(job["superuser"]), Keeper())
    return carry_out(State(here=here))


class Keeper:
    """Implements cli.state.Keeper over the descriptor on which the daemon is told things."""

    def keep(self, checkpoint: str) -> None:
        """Returns once the guest's side knows how to ask for this run. Raises OperationFailed: it does not say so."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        os.write(CONTROL, f"R{checkpoint}\n".encode())
        if signal.sigtimedwait({signal.SIGUSR1}, KNOWN_LIMIT) is None:
            raise OperationFailed("the boxd command in the machine does not answer; nothing was done")

    def ended(self, status: int) -> None:
        """Say how the guarded command ended."""
        os.write(CONTROL, f"D{status}\n".encode())


def _take_out(group: click.Command | None, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        group = group.commands.get(name) if isinstance(group, click.Group) else None
    if isinstance(group, click.Group):
        group.commands[path[-1]] = _only_on_the_host(path)


def _only_on_the_host(path: tuple[str, ...]) -> click.Command:
    """What is in the place of a command, so that whoever types it is told where to."""

    def refuse() -> None:
        # No wrong usage in click's sense: there is no help to point at.
        fail(f"'boxd {' '.join(path)}' is only on the host, not in machines", 2)

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(path[-1], callback=refuse, hidden=True, add_help_option=False, context_settings=settings)
