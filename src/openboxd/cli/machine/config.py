"""`boxd machine config set` and `get`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command, Group
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer, facts, iso
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.group("config", cls=Group)
def config() -> None:
    """Show and change the settings of a machine."""


def _seconds(value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise click.UsageError(f"'{value}' is not a number of seconds")
    return int(value)


def _flag(value: str) -> bool:
    if value not in ("true", "false"):
        raise click.UsageError(f"'{value}' is neither true nor false")
    return value == "true"


async def _delete_after(client: Client, machine: str, value: str) -> str:
    cron = " " in value.strip()
    at = await client.set_delete_after(machine, 0 if cron else _seconds(value), value.strip() if cron else "")
    return iso(at / 1000) if at else "never"


async def _idle_ignore_outbound(client: Client, machine: str, value: str) -> str:
    await client.set_idle_ignore_outbound(machine, _flag(value))
    return value


async def _bot_protection(client: Client, machine: str, value: str) -> str:
    await client.set_bot_protection(machine, value)
    return value


async def _auto_suspend(client: Client, machine: str, value: str) -> str:
    await client.set_auto_suspend(machine, _seconds(value))
    return value


async def _auto_hibernate(client: Client, machine: str, value: str) -> str:
    await client.set_auto_hibernate(machine, _seconds(value))
    return value


KEYS: dict[str, Callable[[Client, str, str], Awaitable[str]]] = {
    "delete-after": _delete_after,
    "idle.ignore-outbound": _idle_ignore_outbound,
    "bot-protection": _bot_protection,
    "auto-suspend.timeout": _auto_suspend,
    "auto-hibernate.timeout": _auto_hibernate,
}


@config.command("set", cls=Command)
@machine_argument
@click.argument("key", type=click.Choice(list(KEYS)))
@click.argument("value")
@pass_state
def set_(state: State, machine: str, key: str, value: str) -> None:
    """Set KEY of machine NAME to VALUE.

    delete-after: seconds until the machine is removed, in whatever state it is, or a cron line in UTC such as
    '0 18 * * *'; 0 clears it. idle.ignore-outbound: true or false. bot-protection: on, sleep_only or off.
    auto-suspend.timeout and auto-hibernate.timeout: seconds without use after which the machine is suspended or
    hibernated; 0 disables. Use is what comes in: open connections to its ports, commands and file transfers that run.
    Connections that the machine itself keeps to other hosts count as well, unless idle.ignore-outbound is true.

    With --json: {name, key, value}.
    """
    now = state.run(lambda client: KEYS[key](client, machine, value))
    answer(state, {"name": machine, "key": key, "value": now}, f"{key} of machine {machine}: {now}")


def _removal(vm: GetVmResponse) -> str:
    """The removal timer: a cron line in UTC, or the moment that it goes off."""
    return vm.delete_after_cron or (iso(vm.delete_at_ms / 1000) if vm.delete_at_ms else "never")


SETTINGS: dict[str, Callable[[GetVmResponse], str]] = {
    "delete-after": _removal,
    "idle.ignore-outbound": lambda vm: "true" if vm.idle_ignore_outbound else "false",
    "bot-protection": lambda vm: vm.bot_protection_mode or ("sleep_only" if vm.bot_protection else "off"),
    "auto-suspend.timeout": lambda vm: str(vm.auto_suspend_timeout_secs),
    "auto-hibernate.timeout": lambda vm: str(vm.auto_hibernate_timeout_secs),
}
"""What each key is set to."""


@config.command("get", cls=Command)
@machine_argument
@click.argument("key", required=False, type=click.Choice(list(SETTINGS)))
@pass_state
def get(state: State, machine: str, key: str | None) -> None:
    """Show the settings of machine NAME, or what KEY is set to, and nothing else.

    Keys and values are those of 'boxd machine config set'; a removal timer in seconds is shown as the moment at which
    it goes off.

    With --json: {name, settings: {KEY: VALUE}}; with KEY {name, key, value}.
    """
    vm = state.run(lambda client: client.machine(machine))
    values = {name: read(vm) for name, read in SETTINGS.items()}
    if key is None:
        answer(state, {"name": vm.name, "settings": values}, facts(list(values.items())))
    else:
        answer(state, {"name": vm.name, "key": key, "value": values[key]}, values[key])
