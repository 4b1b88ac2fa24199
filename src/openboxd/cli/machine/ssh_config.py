"""`boxd machine ssh-config`: let `ssh <machine>.boxd` (scp, rsync, editors) just work."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import click

from openboxd.cli.base import Command
from openboxd.cli.output import answer, note
from openboxd.cli.ssh.refresh import directory, look_up, take_out, write
from openboxd.cli.state import State, pass_state


@click.command("ssh-config", cls=Command)
@click.option("--remove", is_flag=True, help="Take out what this command has written.")
@click.option("--print", "show", is_flag=True, help="Print the stanzas, and change nothing.")
@pass_state
def ssh_config(state: State, remove: bool, show: bool) -> None:
    """Write a stanza for each machine into ~/.ssh/config, so that 'ssh NAME.boxd' works.

    Makes a key for this computer and links it, and lets SSH trust this host's machines (~/.ssh/known_hosts). Only
    what stands between '# BEGIN boxd' and '# END boxd' is touched; once it is there, 'new', 'fork', 'list', 'rename'
    and 'remove' keep it as the machines are. It is of one account: others leave it alone, until they run this.
    """
    if remove:
        take_out()
        answer(state, {"machines": []}, "the SSH configuration knows no machines any more")
        return
    entries = look_up(state, link=not show)
    if show:
        answer(state, {"config": entries.config, "known_hosts": entries.known_hosts}, "\n".join(entries.config))
        return
    write(entries)
    names = [f"{target.name}.boxd" for target in entries.targets]
    known = f"ssh knows {', '.join(names)}" if names else "there are no machines yet"
    answer(state, {"machines": names}, known)
    warn_of_another_home()


def warn_of_another_home() -> None:
    """ssh looks into the home that passwd names for this user, whatever HOME says."""
    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a user whom passwd does not know has no ssh at all
        return
    if home.resolve() != Path.home().resolve():
        config = directory() / "config"
        note(f"HOME is not {home}, where ssh looks for its configuration; use 'ssh -F {config} NAME.boxd'")
