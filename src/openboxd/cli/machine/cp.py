"""`boxd machine cp`: files between this host and a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.machine.download import download
from openboxd.cli.machine.paths import Place, parse
from openboxd.cli.machine.upload import upload
from openboxd.cli.output import answer, fail, size
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client


@click.command("cp", cls=Command)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("-r", "--recursive", is_flag=True, help="Copy a directory with everything in it.")
@pass_state
def cp(state: State, source: str, target: str, recursive: bool) -> None:
    """Copy a file to or from a machine.

    \b
      boxd machine cp notes.txt web:            into /home/boxd
      boxd machine cp web:/var/log/syslog .     from the machine
      boxd machine cp -r site web:srv           a directory
      boxd machine cp - web:dump.sql <dump      from stdin; as DST, - is stdout

    The machine's side is NAME:PATH; a relative PATH, and ~, begin in /home/boxd. A local name with a colon is
    written ./a:b. A file appears under its name only when it is whole.
    """
    origin, goal = parse(source), parse(target)
    if origin.is_remote == goal.is_remote:
        raise click.UsageError("one side must be NAME:PATH and the other one a path of this host")
    if state.json and target == "-":
        raise click.UsageError("--json and - both want stdout")
    try:
        count, total = state.run(lambda client: _copy(client, origin, goal, recursive))
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(f"{error.filename or source}: {error.strerror}")
    text = "" if target == "-" else f"copied {count} file{'s' if count != 1 else ''}, {size(total)}"
    answer(state, {"source": source, "target": target, "files": count, "bytes": total}, text)


async def _copy(client: Client, origin: Place, goal: Place, recursive: bool) -> tuple[int, int]:
    """How many files and bytes were copied."""
    if goal.is_remote:
        return await upload(client, origin.path, goal, recursive)
    return await download(client, origin, goal.path, recursive)
