"""`boxd machine cp`: files between this host and a machine."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.machine.download import download
from openboxd.cli.machine.paths import Place, parse
from openboxd.cli.machine.relay import relay
from openboxd.cli.machine.tally import Tally, counting
from openboxd.cli.machine.upload import upload
from openboxd.cli.output import answer, fail, note
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_copy

if TYPE_CHECKING:
    from openboxd.client.client import Client


@click.command("cp", cls=Command)
@click.argument("source", metavar="SRC", shell_complete=complete_copy)
@click.argument("target", metavar="DST", shell_complete=complete_copy)
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

    Executables stay executable. With -r symbolic links are copied as links; one that is named itself is followed.
    Pipes, sockets and devices are not copied: stderr names them, the rest is copied, and the exit status is 1.

    With --json: {source, target, files, links, bytes, skipped}.
    """
    origin, goal = _sides(state, source, target)
    if state.here is None and origin.is_remote == goal.is_remote:
        raise click.UsageError("one side must be NAME:PATH and the other one a path of this host")
    if state.json and target == "-":
        raise click.UsageError("--json and - both want stdout")
    try:
        tally = state.run(lambda client: _copy(client, origin, goal, recursive))
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(f"{error.filename or source}: {error.strerror}")
    data = {"source": source, "target": target, "files": tally.files, "links": tally.links}
    answer(state, {**data, "bytes": tally.bytes, "skipped": tally.skipped}, "" if target == "-" else tally.text())
    for each in tally.skipped:
        note(f"skipped {each}")
    if tally.skipped:
        fail(f"not everything was copied: {len(tally.skipped)} skipped, everything else is there")


def _sides(state: State, source: str, target: str) -> tuple[Place, Place]:
    """In a machine its own paths are what local ones are elsewhere; they begin where the command is typed."""
    origin, goal = parse(source), parse(target)
    if state.here is not None:
        name, directory = state.here.name, state.here.directory
        origin, goal = (
            side if side.is_remote or side.path == "-" else Place(posixpath.join(directory, side.path), name)
            for side in (origin, goal)
        )
    return origin, goal


async def _copy(client: Client, origin: Place, goal: Place, recursive: bool) -> Tally:
    async with counting(f"copying {origin.path}") as tally:
        if origin.is_remote and goal.is_remote:
            await relay(client, origin, goal, recursive, tally)
        elif goal.is_remote:
            await upload(client, origin.path, goal, recursive, tally)
        else:
            await download(client, origin, goal.path, recursive, tally)
    return tally
