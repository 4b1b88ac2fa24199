"""`boxd machine guard`: a checkpoint, a command, and the way back if the command fails."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.checkpoint.describe import pause
from openboxd.cli.hints import report
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine import terminal
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.machine.exec import NOT_RUN, decoded
from openboxd.cli.machine.lineage import descends, restored_since
from openboxd.cli.machine.patience import patiently
from openboxd.cli.machine.session import Sink, run, to_standard_streams
from openboxd.cli.machine.shell import shell_line
from openboxd.cli.output import answer, note, report_error
from openboxd.cli.progress import watching
from openboxd.cli.state import Here, State, pass_state
from openboxd.errors import BoxdError, Interrupted, NotFound, OperationFailed, OutcomeUnknown, Unavailable, because
from openboxd.model import ExecOutput, ExecRequest

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import CheckpointInfo

RESTORE, KEEP = "restore", "keep"
READY = "ready"
AWAY = "boxd is not there, or busy; waiting for it, to take the machine back or the checkpoint away (Ctrl-C gives up)"
INTERRUPTED = 130
HOME = "/home/boxd"
"""Where commands run anyway."""

GUARDED = "openboxd.guarded"
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class GuardCommand(Command):
    """Everything after the first `--` is the guarded command's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            begin = args.index("--")
            ctx.meta[GUARDED] = tuple(args[begin + 1 :])
            args = args[:begin]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


@dataclass
class Guarded:
    """What became of it."""

    vm_id: str
    machine: str  # its name, for people; it may be another one by the end
    checkpoint: str
    status: int = NOT_RUN
    reason: str = ""  # why the command is taken for failed, for people
    rolled_back: bool = False
    kept: bool = True
    lost: bool = False  # somebody else removed the checkpoint


@click.command("guard", cls=GuardCommand)
@machine_argument
@click.option("--keep", is_flag=True, help="Keep the checkpoint afterwards.")
@click.option(
    "--on-fail",
    type=click.Choice([RESTORE, KEEP]),
    default=RESTORE,
    show_default=True,
    help="What to do when the command fails: take the machine back, or keep it as it is, and the checkpoint with it.",
)
@click.option("--tty", is_flag=True, help="Give the command a terminal.")
@click.option("--resumed", hidden=True, default="", metavar="CHECKPOINT")
@click.option("--ended", hidden=True, default=None, type=int)
@click.pass_context
@pass_state
def guard(
    state: State,
    context: click.Context,
    machine: str,
    keep: bool,
    on_fail: str,
    tty: bool,
    resumed: str,
    ended: int | None,
) -> None:
    """Save machine NAME, run COMMAND in it, and take it back to that moment if COMMAND fails or is interrupted.

    \b
      boxd machine guard web -- ./risky-migration.sh
      boxd machine guard web --on-fail keep -- ./agent

    COMMAND is run as 'boxd machine exec' runs it; in a machine, in the directory where this is typed. The checkpoint
    is removed afterwards, unless --keep says otherwise; checkpoints that are saved meanwhile stay. A guard that was
    typed in the machine that is taken back ends in the restored machine, with the same exit status. A machine that
    somebody restored to another checkpoint meanwhile is left alone.

    If boxd is restarted meanwhile, which ends COMMAND, the machine is taken back once boxd is there again. A guard
    waits 2 minutes for that, then tells how to do it by hand; if it was typed in the machine itself, boxd sees to it.
    One that was typed in another machine ends with boxd: machine and checkpoint are left as they are.

    The exit status is COMMAND's own; 125: it could not be run, as when there are 10 checkpoints already, or its end
    is unknown; 130: Ctrl-C.

    With --json: {machine, checkpoint, exit_code, rolled_back, checkpoint_kept, output}.
    """
    command = context.meta.get(GUARDED, ())
    if not command:
        raise click.UsageError("say what to run after --, as in: boxd machine guard web -- ./risky.sh")
    here = state.here if state.here is not None and state.here.is_meant(machine) else None
    output = bytearray()

    def collect(piece: ExecOutput) -> None:
        output.extend(piece.data)

    sink = collect if state.json else to_standard_streams
    with _endings_interrupt():
        try:
            if resumed:  # by a daemon that found it under way
                done = _left_over(state, machine if state.here is None else state.here.machine_id, resumed, ended)
            else:
                done = _guard(state, machine, _request(command, here, tty), sink, here)
        except BoxdError as error:
            report(state, error)
            raise click.exceptions.Exit(NOT_RUN) from None
        _settle(state, done, keep=keep, restore=on_fail == RESTORE)
    data = {
        "machine": done.machine,
        "checkpoint": done.checkpoint,
        "exit_code": done.status,
        "rolled_back": done.rolled_back,
        "checkpoint_kept": done.kept,
    }
    answer(state, {**data, **decoded(output)}, "")
    raise click.exceptions.Exit(done.status)


def _request(command: tuple[str, ...], here: Here | None, tty: bool) -> ExecRequest:
    line = shell_line(command)
    if here is not None:
        if here.directory != HOME:
            line = f"cd {shlex.quote(here.directory)} && {line}"
        if here.superuser:
            line = shell_line(["sudo", "-n", "sh", "-c", line])
    cols, rows = terminal.size()
    return ExecRequest(line, tty=tty, cols=cols, rows=rows)


def _guard(state: State, machine: str, request: ExecRequest, sink: Sink, here: Here | None) -> Guarded:
    """Save and run. Raises BoxdError if there was no save: then nothing was run."""
    name = f"guard-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"
    if here is not None:
        here.keeper.keep(name)
    vm_id, found = _save(state, machine, name)
    done = Guarded(vm_id, found, name)
    try:
        done.status = state.run(lambda client: run(client, vm_id, request, sink))
        done.reason = f"the command ended with {done.status}" if done.status else ""
        if here is not None:
            here.keeper.ended(done.status)
    except BoxdError as error:
        report(state, error)
        done.reason = "the command could not be run, or its end is unknown"
    except KeyboardInterrupt:
        done.status, done.reason = INTERRUPTED, "the command was interrupted"
    return done


def _save(state: State, machine: str, name: str) -> tuple[str, str]:
    """Save the machine; its id and its name. Raises BoxdError: it was not saved, or nobody knows."""

    async def save(client: Client) -> tuple[str, str, CheckpointInfo]:
        vm = await client.machine(machine)
        with going_on(f"nothing was run; the save of checkpoint {name} goes on"):
            async with watching(client, vm.vm_id, f"saving {vm.name}"):
                await client.save(vm.vm_id, name)
                try:
                    return vm.vm_id, vm.name, await client.checkpoint_done(vm.vm_id, name)
                except (Unavailable, Interrupted, OutcomeUnknown) as error:
                    text = f"{error.message}; nothing was run, and checkpoint {name} may be there or not"
                    raise OutcomeUnknown(text) from None

    vm_id, found, checkpoint = state.run(save)
    if checkpoint.status != READY:
        raise OperationFailed(f"machine '{found}' was not saved, and nothing was run: {checkpoint.failure_reason}")
    note(f"checkpoint {name} of machine {found} is ready; it paused for {pause(checkpoint)}")
    return vm_id, found


def _left_over(state: State, machine: str, checkpoint: str, ended: int | None) -> Guarded:
    """A guard that a daemon left when it ended. Raises BoxdError if there was no save, or all was done."""

    async def look(client: Client) -> tuple[str, str]:
        vm = await client.machine(machine)
        if checkpoint not in [each.name for each in await client.checkpoints(vm.vm_id) if each.status == READY]:
            raise NotFound(
                f"the guard of machine '{vm.name}' was cut off, as by a restart of boxd, and there is no checkpoint "
                f"{checkpoint}: it was not saved, and nothing was run, or it was removed; the machine was left alone"
            )
        return vm.vm_id, vm.name

    done = Guarded(*patiently(state, AWAY, look), checkpoint)
    if ended is None:
        done.reason = "the guard was cut off, as by a restart of boxd, while the command ran"
    else:
        done.status, done.reason = ended, f"the command ended with {ended}" if ended else ""
    return done


def _settle(state: State, done: Guarded, *, keep: bool, restore: bool) -> None:
    """Take the machine back if that is called for, and the checkpoint away; tell of both."""
    try:
        if done.reason and restore:
            done.rolled_back = patiently(state, AWAY, lambda client: _restore(client, done))
        if not keep and (done.rolled_back or not done.reason):
            patiently(state, AWAY, lambda client: _remove(client, done))
            done.kept = False
    except BoxdError as error:
        report_error(because(error))
    except KeyboardInterrupt:
        done.status = INTERRUPTED
    note(_told(done, keep))


def _told(done: Guarded, keep: bool) -> str:
    """What has become of it, and what is left to do."""
    if done.rolled_back:
        left = "kept" if done.kept else "removed"
        return f"{done.reason}; machine {done.machine} is back at checkpoint {done.checkpoint}, which was {left}"
    if done.reason:
        told = f"{done.reason}; machine {done.machine} is as the command left it"
        way_back = f"; to go back: boxd machine checkpoint restore {done.machine} {done.checkpoint}"
        return told if done.lost else told + way_back
    left = ""
    if done.kept and not keep:
        left = f"; its checkpoint is still there: boxd machine checkpoint remove {done.machine} {done.checkpoint}"
    return f"the command succeeded; machine {done.machine} goes on{left}"


async def _remove(client: Client, done: Guarded) -> None:
    """Remove the checkpoint, unless that was done by a call whose answer was lost."""
    if done.checkpoint in [each.name for each in await client.checkpoints(done.vm_id)]:
        await client.remove_checkpoint(done.vm_id, done.checkpoint)


async def _restore(client: Client, done: Guarded) -> bool:
    """Whether the machine was taken back. If somebody has restored something else meanwhile, that stands."""
    checkpoints = await client.checkpoints(done.vm_id)
    done.lost = done.checkpoint not in [each.name for each in checkpoints]
    if done.lost:
        done.kept = False
        report_error(
            f"checkpoint {done.checkpoint} of machine '{done.machine}' was removed by somebody else meanwhile; "
            "there is nothing to take the machine back to"
        )
        return False
    events = await client.events(done.vm_id, 0)
    if restored_since(events, done.checkpoint) or not descends(checkpoints, done.checkpoint):
        report_error(f"machine '{done.machine}' was restored by somebody else meanwhile; it was left alone")
        return False
    async with watching(client, done.vm_id, f"restoring {done.machine}"):
        await client.restore(done.vm_id, done.checkpoint)
    return True


@contextmanager
def _endings_interrupt() -> Iterator[None]:
    """A hang-up or a SIGTERM is an interruption: the machine is taken back first."""
    before = {number: signal.signal(number, lambda *_: os.kill(os.getpid(), signal.SIGINT)) for number in ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
