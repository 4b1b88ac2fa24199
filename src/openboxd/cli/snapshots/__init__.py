"""`boxd snapshots`: captures that belong to the account, from which machines are made."""

from __future__ import annotations

import click

from openboxd.cli.base import Group
from openboxd.cli.snapshots.get import get
from openboxd.cli.snapshots.list import list_snapshots
from openboxd.cli.snapshots.remove import remove
from openboxd.cli.snapshots.save import save
from openboxd.cli.snapshots.verify import verify


@click.group(cls=Group)
def snapshots() -> None:
    """Keep a machine's memory and disk at one moment, to make further machines from (short: snap).

    A snapshot belongs to your account and outlives its machine. Saving under the same name again makes a new version,
    which takes the place of the one before. To take one machine back, use 'boxd machine checkpoint'.
    """


for command in (save, list_snapshots, get, remove, verify):
    snapshots.add_command(command)
