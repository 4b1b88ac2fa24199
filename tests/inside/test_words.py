"""Which machine is meant where one may be left out: the one that the command is typed in."""

from __future__ import annotations

from typing import Any

import click
import pytest

from openboxd.cli.inside.run import Keeper
from openboxd.cli.main import cli
from openboxd.cli.state import Here, State

HERE = Here("web", "0d4f6a52-0001-4c11-9e0b-5a3f8f6f2d10", "/srv", superuser=False, keeper=Keeper())


def parsed(line: str, here: Here | None = HERE) -> dict[str, Any]:
    """The parameters that a command line comes to. Raises click.UsageError."""
    context, words = click.Context(cli, obj=State(here=here)), line.split()
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None, line
        command, context = found, click.Context(found, parent=context)
    command.parse_args(context, words)
    return context.params


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("machine get", {"machine": "web"}),
        ("machine get db", {"machine": "db"}),
        ("info", {"machine": "web"}),
        ("machine checkpoint save", {"machine": "web", "checkpoint": None}),
        ("machine checkpoint save one", {"machine": "web", "checkpoint": "one"}),
        ("machine checkpoint save db one", {"machine": "db", "checkpoint": "one"}),
        ("machine checkpoint save --no-wait one", {"machine": "web", "checkpoint": "one"}),
        ("machine checkpoint list", {"machine": "web"}),
        ("machine checkpoint list db", {"machine": "db"}),
        ("machine checkpoint restore one -y", {"machine": "web", "name": "one"}),
        ("machine checkpoint restore -y db one", {"machine": "db", "name": "one"}),
        ("machine checkpoint remove one", {"machine": "web", "name": "one"}),
        ("machine checkpoint verify", {"machine": "web", "checkpoint": None}),
        ("machine fork", {"machine": "web", "name": None}),
        ("machine fork two", {"machine": "web", "name": "two"}),
        ("machine fork db two", {"machine": "db", "name": "two"}),
        ("machine rename new", {"machine": "web", "new": "new"}),
        ("machine config set delete-after 60", {"machine": "web", "key": "delete-after", "value": "60"}),
        ("machine config get", {"machine": "web", "key": None}),
        ("machine config get bot-protection", {"machine": "web", "key": "bot-protection"}),
        ("machine config get db bot-protection", {"machine": "db", "key": "bot-protection"}),
        ("machine label", {"machine": "web", "edits": ()}),
        ("machine label a=b c-", {"machine": "web", "edits": ("a=b", "c-")}),
        ("machine label db a=b", {"machine": "db", "edits": ("a=b",)}),
        ("machine expose 80", {"machine": "web", "port": 80}),
        ("machine expose db 80", {"machine": "db", "port": 80}),
        ("machine proxy new docs --port 80", {"machine": "web", "name": "docs"}),
        ("machine proxy new docs --vm db --port 80", {"machine": "db", "name": "docs"}),
        ("machine exec db true", {"machine": "db", "command": ("true",)}),
        ("machine guard -- true", {"machine": "web"}),
        ("machine guard db -- true", {"machine": "db"}),
    ],
)
def test_in_a_machine(line: str, expected: dict[str, Any]) -> None:
    found = parsed(line)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("line", ["machine get", "machine checkpoint save", "machine guard -- true", "info"])
def test_elsewhere_it_must_be_said(line: str) -> None:
    with pytest.raises(click.UsageError, match="Missing parameter"):
        parsed(line, None)


def test_a_checkpoint_must_be_said_there_too() -> None:
    with pytest.raises(click.UsageError, match="Missing parameter: name"):
        parsed("machine checkpoint restore")
