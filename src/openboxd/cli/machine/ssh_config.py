"""`boxd machine ssh-config`: let `ssh <machine>.boxd` (scp, rsync, editors) just work."""

from __future__ import annotations

import click

from openboxd.cli.base import Command
from openboxd.cli.output import answer
from openboxd.cli.ssh.refresh import lines, write
from openboxd.cli.state import State, pass_state


@click.command("ssh-config", cls=Command)
@click.option("--remove", is_flag=True, help="Take out what this command has written.")
@click.option("--print", "show", is_flag=True, help="Print the stanzas, and change nothing.")
@pass_state
def ssh_config(state: State, remove: bool, show: bool) -> None:
    """Write a stanza for each machine into ~/.ssh/config, so that 'ssh NAME.boxd' works.

    Makes a key for this computer and links it, and lets SSH trust this host's machines (~/.ssh/known_hosts). Only
    what stands between '# BEGIN boxd' and '# END boxd' is touched; once it is there, 'new', 'fork', 'list', 'rename'
    and 'remove' keep it as the machines are.
    """
    if remove:
        write([], [])
        answer(state, {"machines": []}, "the SSH configuration knows no machines any more")
        return
    targets, config, known_hosts = lines(state, link=not show)
    if show:
        answer(state, {"config": config, "known_hosts": known_hosts}, "\n".join(config))
        return
    write(config, known_hosts)
    names = [f"{target.name}.boxd" for target in targets]
    known = f"ssh knows {', '.join(names)}" if names else "there are no machines yet"
    answer(state, {"machines": names}, known)
