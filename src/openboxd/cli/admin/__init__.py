"""`boxd admin`: what the owner of the host looks after."""

from __future__ import annotations

import click

from openboxd.cli.admin.user import user
from openboxd.cli.base import Group


@click.group(cls=Group)
def admin() -> None:
    """Look after the accounts of this host; for its owner."""


admin.add_command(user)
