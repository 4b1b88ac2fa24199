"""`boxd machine`: everything that is done to one machine."""

from __future__ import annotations

import click

from openboxd.cli.base import Group
from openboxd.cli.machine.change import label, rename, resize
from openboxd.cli.machine.config import config
from openboxd.cli.machine.connect import connect
from openboxd.cli.machine.cp import cp
from openboxd.cli.machine.domain import domain
from openboxd.cli.machine.events import events
from openboxd.cli.machine.exec import exec_command
from openboxd.cli.machine.expose import expose
from openboxd.cli.machine.fork import fork
from openboxd.cli.machine.get import get
from openboxd.cli.machine.guard import guard
from openboxd.cli.machine.list import list_machines
from openboxd.cli.machine.logs import logs
from openboxd.cli.machine.new import new
from openboxd.cli.machine.power import reboot, start, stop
from openboxd.cli.machine.proxy import proxy
from openboxd.cli.machine.reach import egress, networks
from openboxd.cli.machine.remove import remove
from openboxd.cli.machine.share import share, unshare
from openboxd.cli.machine.sleep import hibernate, resume, suspend, wake
from openboxd.cli.machine.ssh_config import ssh_config
from openboxd.cli.machine.usage import usage


@click.group(cls=Group)
def machine() -> None:
    """Make, use, stop and remove machines, let them sleep, and take them back to checkpoints."""


for command in (
    new,
    fork,
    list_machines,
    get,
    start,
    stop,
    reboot,
    suspend,
    resume,
    hibernate,
    wake,
    rename,
    resize,
    label,
    config,
    remove,
    exec_command,
    guard,
    connect,
    cp,
    proxy,
    domain,
    expose,
    networks,
    egress,
    share,
    unshare,
    ssh_config,
    usage,
    logs,
    events,
):
    machine.add_command(command)
