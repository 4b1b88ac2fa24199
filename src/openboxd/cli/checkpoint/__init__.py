"""`boxd machine checkpoint`: a machine's own undo points."""

from __future__ import annotations

import click

from openboxd.cli.base import Group
from openboxd.cli.checkpoint.list import list_checkpoints
from openboxd.cli.checkpoint.remove import remove
from openboxd.cli.checkpoint.restore import restore
from openboxd.cli.checkpoint.save import save
from openboxd.cli.checkpoint.verify import verify


@click.group(cls=Group)
def checkpoint() -> None:
    """Save a machine's memory and disk at one moment, and go back to it.

    A checkpoint belongs to its machine, at most 10 of them, and goes with it. A restore takes the same machine back,
    with its name, address and ports; the checkpoint is kept and can be restored again and again.
    """


for command in (save, list_checkpoints, restore, remove, verify):
    checkpoint.add_command(command)
