"""The `boxd` command. Exit statuses: 0 done; 1 failed; 2 wrong usage; 130 Ctrl-C; `exec` passes the command's on."""

from __future__ import annotations

import copy
import os
import sys
import traceback
from typing import NoReturn

import click

from openboxd.cli.admin import admin
from openboxd.cli.auth import auth
from openboxd.cli.base import Group, PipeClosed
from openboxd.cli.checkpoint import checkpoint
from openboxd.cli.completion import completion
from openboxd.cli.daemon import daemon
from openboxd.cli.doctor import doctor
from openboxd.cli.edge import edge
from openboxd.cli.hints import report
from openboxd.cli.image import image
from openboxd.cli.machine import machine
from openboxd.cli.machine.connect import connect
from openboxd.cli.machine.exec import NOT_RUN
from openboxd.cli.machine.get import get
from openboxd.cli.machine.list import list_machines
from openboxd.cli.org import org
from openboxd.cli.output import note, report_error
from openboxd.cli.snapshots import snapshots
from openboxd.cli.state import State, pass_state
from openboxd.cli.version import version
from openboxd.errors import BoxdError

# gRPC's own log is for its developers; what failed is said in our words. It is read when gRPC is loaded, later.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

INTERRUPTED = 130
PIPE_CLOSED = 141
"""What a shell shows for a program that SIGPIPE ended."""


def _show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        context.invoke(version)
        context.exit()


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, callback=_show_version, help="The same as 'boxd version'."
)
@click.option("--api-url", default="", metavar="URL", help="Address of the daemon (default: BOXD_BASE_URL).")
@pass_state
def cli(state: State, api_url: str) -> None:
    """Linux machines with an undo button, on your own host.

    \b
      boxd machine new web                            make a machine
      boxd machine checkpoint save web before         memory and disk; it keeps running
      boxd machine exec web -- ./risky.sh             try something
      boxd machine checkpoint restore web before      back to that moment

    The daemon's address comes from BOXD_BASE_URL and the key from BOXD_TOKEN or BOXD_API_KEY; without them both come
    from ~/.config/boxd/config.json (BOXD_CONFIG names another file), which the daemon writes when it first starts.
    """
    if api_url and state.here is not None:
        raise click.UsageError("a machine reaches the daemon that it belongs to and no other; leave --api-url out")
    state.api_url = api_url or state.api_url


machine.add_command(checkpoint)
for command in (machine, snapshots, auth, org, admin, image, edge, daemon, doctor, version, completion, connect):
    cli.add_command(command)

snap = copy.copy(snapshots)
snap.hidden = True
cli.add_command(snap, "snap")

info = copy.copy(get)
info.help = "Show everything about machine NAME: 'boxd machine get'."
cli.add_command(info, "info")

ls = copy.copy(list_machines)
ls.help = (list_machines.help or "").replace(
    "List the machines (short: ls):", "List the machines ('boxd machine list'):"
)
cli.add_command(ls, "ls")


def main() -> NoReturn:
    """Run, and exit with the status."""
    state = State()  # lives until the end: taking its connection down can abort the process
    status = carry_out(state)
    # Not sys.exit: Python would flush again what nobody reads, and gRPC's threads, which outlive the work, can abort
    # a process in its last moments. Nothing of ours is left to be done.
    os._exit(status)


def carry_out(state: State) -> int:
    """Run what `sys.argv` says, and turn every outcome into an exit status and at most one line of error."""
    if any("\udc80" <= letter <= "\udcff" for argument in sys.argv for letter in argument):
        report_error("an argument is not text in UTF-8; names, paths and commands travel as such")
        return NOT_RUN if {"exec", "connect"} & set(sys.argv[1:4]) else 2
    try:
        status = _run(state)
        sys.stdout.flush()
    except (BrokenPipeError, PipeClosed):
        status = PIPE_CLOSED
    except SystemExit as end:  # the shell's completion ends this way
        status = end.code if isinstance(end.code, int) else 0
        sys.stdout.flush()
    return status


def _run(state: State) -> int:
    try:
        result = cli.main(prog_name="boxd", standalone_mode=False, obj=state)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        report_error(error.format_message())
        context = getattr(error, "ctx", None)
        if context is not None:
            print(f"try '{context.command_path} --help'", file=sys.stderr)
        return error.exit_code
    except click.Abort:
        if state.last_word:
            note(state.last_word)
        return INTERRUPTED
    except BoxdError as error:
        report(state, error)
        return error.exit_status
    except PipeClosed:
        raise
    except Exception as error:
        if os.environ.get("BOXD_DEBUG"):
            traceback.print_exc()
        report_error(f"boxd failed unexpectedly: {type(error).__name__}: {error}; BOXD_DEBUG=1 shows where")
        return 1


if __name__ == "__main__":
    main()
