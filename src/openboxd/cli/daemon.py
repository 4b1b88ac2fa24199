"""`boxd daemon run`."""

from __future__ import annotations

from pathlib import Path

import click

from openboxd.cli.base import BareCommand, Group


@click.group(cls=Group)
def daemon() -> None:
    """Run the service on this host."""


@daemon.command("run", cls=BareCommand)
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Data directory (default: BOXD_HOME, else /var/lib/boxd as root, else ~/.local/share/boxd).",
)
@click.option("--listen", metavar="HOST:PORT", help="Address of the API (default: BOXD_LISTEN, else 127.0.0.1:9443).")
def run(home: Path | None, listen: str | None) -> None:
    """Serve in the foreground until SIGTERM or Ctrl-C; the log goes to stderr.

    Machines go on running when the daemon ends, and the next one takes them over. The first start writes the owner's
    key into ~/.config/boxd/config.json, so that `boxd` works on this host at once.
    """
    from openboxd import settings
    from openboxd.daemon import serve

    serve(settings.load(home, listen))
