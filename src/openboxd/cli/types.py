"""Values as people write them: sizes, labels, environment variables, and names that a shell can complete."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from openboxd.cli.state import State

if TYPE_CHECKING:
    from openboxd.client.client import Client

SIZE = re.compile(r"(\d+)([KMGT]?)(?:i?B)?", re.IGNORECASE)
UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}

DEFAULT_ROUTE = "default"
"""What a machine's own route is called here; on the wire it has no name."""

COMPLETION_LIMIT = 1.0
"""Seconds that completing a name may take; a shell that hangs is worse than one that offers nothing."""


class SizeType(click.ParamType[int, str]):
    """Bytes, `512M`, `1G`: powers of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = SIZE.fullmatch(value.strip())
        if match is None or int(match[1]) == 0:
            self.fail(f"'{value}' is not a size; write it like 512M or 1G", param, ctx)
        return int(match[1]) * UNITS[match[2].upper()]


class LimitType(click.ParamType[int, str]):
    """A whole number, or a size, that something is limited to; `none` for no limit, which the API calls 0."""

    name = "limit"

    def __init__(self, *, sizes: bool = False) -> None:
        self._sizes = sizes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value in (0, "none"):
            return 0
        if value == "0":
            self.fail("0 would allow nothing, which is no limit that boxd knows; give a number, or none", param, ctx)
        if self._sizes:
            return SizeType().convert(value, param, ctx)
        if not str(value).isascii() or not str(value).isdigit() or int(value) >= 1 << 32:
            self.fail(f"'{value}' is not a limit; give a whole number, or none", param, ctx)
        return int(value)


class GivenType(click.ParamType[str, str]):
    """A name that may be left out but is not empty: an unset variable of a script must not mean `any`."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value.strip():
            self.fail("an empty name was given; leave it out or name it", param, ctx)
        return str(value)


class PairType(click.ParamType[tuple[str, str], str]):
    """KEY=VALUE; the value may be empty and may hold further equals signs."""

    name = "key=value"

    def __init__(self, key: str, what: str) -> None:
        self._key = re.compile(key)
        self._what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value[0], value[1]
        key, equals, content = value.partition("=")
        if not equals or not self._key.fullmatch(key):
            self.fail(f"'{value}' is not {self._what}", param, ctx)
        return key, content


GIVEN = GivenType()
LIMIT = LimitType()
LIMIT_SIZE = LimitType(sizes=True)
LABEL = PairType(r"[^\s=]+", "a label; write it like role=web")
VARIABLE = PairType(r"[A-Za-z_][A-Za-z0-9_]*", "an environment variable; write it like NAME=value")


def _ask(context: click.Context, question: Any) -> list[str]:
    state = context.ensure_object(State)

    async def bounded(client: Client) -> list[str]:
        return list(await asyncio.wait_for(question(client), COMPLETION_LIMIT))

    try:
        return state.run(bounded)
    except Exception:
        return []  # no daemon, no key: there is nothing to offer and nobody to tell


def _offered(
    context: click.Context, begun: str, listed: Callable[[Client], Awaitable[Iterable[Any]]], attribute: str = "name"
) -> list[CompletionItem]:
    """What of a listing begins so."""

    async def names(client: Client) -> list[str]:
        return [getattr(item, attribute) for item in await listed(client)]

    return [CompletionItem(name) for name in _ask(context, names) if name.startswith(begun)]


def complete_machine(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of machines."""
    return _offered(context, begun, lambda client: client.machines())


def complete_domain(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Domains of one's own."""
    return _offered(context, begun, lambda client: client.domains(), "domain")


def complete_route(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of routes: of the machine of --vm if that stands before, else of all."""

    async def names(client: Client) -> list[str]:
        return [route.name or DEFAULT_ROUTE for route in await client.routes(context.params.get("machine") or "")]

    found = dict.fromkeys(_ask(context, names))  # each once: machines may have routes of the same name
    return [CompletionItem(name) for name in found if name.startswith(begun)]


def complete_named_route(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The same without the machines' own, which cannot be removed."""
    return [item for item in complete_route(context, parameter, begun) if item.value != DEFAULT_ROUTE]


def complete_org(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of the organizations one is in."""
    return _offered(context, begun, lambda client: client.orgs())


def complete_user(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of users."""
    return _offered(context, begun, lambda client: client.users())


def complete_image(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of images."""
    return _offered(context, begun, lambda client: client.images())


def complete_snapshot(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of snapshots."""
    return _offered(context, begun, lambda client: client.snapshots())


def complete_checkpoint(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of the checkpoints of the machine that stands before."""
    machine = context.params.get("machine", "")
    return _offered(context, begun, lambda client: client.checkpoints(machine))


def complete_copy(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """One side of a copy: a path in a machine after `NAME:`, else a machine or a path of this host."""
    machine, colon, path = begun.partition(":")
    if colon and "/" not in machine:
        directory = path[: path.rfind("/") + 1]
        return [CompletionItem(f"{machine}:{found}") for found in _paths(context, machine, directory, path)]
    machines = [CompletionItem(f"{item.value}:") for item in complete_machine(context, parameter, begun)]
    return [*machines, CompletionItem(begun, type="file")]


def _paths(context: click.Context, machine: str, directory: str, begun: str) -> list[str]:
    """Paths in a machine that begin so. Names that could steer the terminal are not offered."""

    async def names(client: Client) -> list[str]:
        listing = await client.list_dir(machine, directory.removeprefix("~/") or ".")
        return [f"{directory}{entry.name}{'/' if entry.is_dir else ''}" for entry in listing.entries]

    return [path for path in _ask(context, names) if path.startswith(begun) and path.isprintable()]
