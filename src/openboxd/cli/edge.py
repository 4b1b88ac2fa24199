"""`boxd edge`: the HTTPS front of the machines."""

from __future__ import annotations

import click

from openboxd.cli.base import Group
from openboxd.cli.output import answer
from openboxd.cli.state import State, pass_state


@click.group(cls=Group)
def edge() -> None:
    """The HTTPS domains of machines."""


@edge.command("ca")
@pass_state
def ca(state: State) -> None:
    """Print the root certificate behind the machines' HTTPS domains, for browsers and programs that are to trust it.

    \b
      boxd edge ca > boxd-root.crt
      curl --cacert boxd-root.crt https://web.boxd.localhost/

    `boxd machine get` shows the URL of a machine with its port.

    With --json: {certificate}.
    """
    pem = state.run(lambda client: client.root_certificate())
    answer(state, {"certificate": pem}, pem.rstrip())
