"""Names of machines and checkpoints: the rules, the refusals, and suggestions for those who have no idea.

A name is never a path and never an option: everything that could be read as one is refused, nothing is folded or
trimmed.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
import uuid
from collections.abc import Container
from datetime import UTC, datetime

from openboxd.errors import InvalidArgument

_MACHINE = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_CHECKPOINT = re.compile(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?")
_SNAPSHOT_ID = re.compile(r"snap_[a-z2-7]{20}")
_LABEL_KEY = re.compile(r"[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?")

RESERVED = frozenset({"app", "api", "www", "boxd", "localhost"})
"""Hosts of the zone itself: `app.<zone>` is where clients exchange keys."""

MAX_MACHINE = 40
"""Characters of a machine's name."""

FORK = "-fork"
MAX_LABELS = 64
MAX_LABEL_VALUE = 256

_ADJECTIVE_TEXT = """
amber bold brave brisk calm clear clever cosy deft eager early fair fond frank fresh gentle glad good grand happy
honest jolly keen kind light lively loyal lucky mellow merry mild neat noble polite proud quick quiet rapid ready
sharp shiny silver smart snug solid steady sunny swift tidy true vivid warm wise witty young
"""
_NOUN_TEXT = """
ant badger bear beaver bee bison crane cricket deer dove eagle egret falcon ferret finch fox gecko goose hare hawk
heron ibis jay koala lark lemur lion lynx magpie marten mole moose newt orca otter owl panda pika plover puffin quail
raven robin seal shrew sparrow stork swan tapir tern toad trout turtle vole walrus weasel wolf wombat wren yak zebra
"""
_ADJECTIVES = _ADJECTIVE_TEXT.split()
_NOUNS = _NOUN_TEXT.split()


def check_machine_name(name: str) -> None:
    """Raises InvalidArgument unless `name` is a usable machine name: a DNS label of 1 to 40 characters."""
    if not _MACHINE.fullmatch(name):
        raise InvalidArgument(
            "a machine name has 1 to 40 characters of a-z 0-9 - and starts and ends with a letter or digit"
        )
    if name in RESERVED or is_uuid(name):
        raise InvalidArgument(f"'{name}' cannot be a machine's name: it is reserved; choose another one")


def check_checkpoint_name(name: str) -> None:
    """Raises InvalidArgument unless `name` is a usable checkpoint name."""
    if not _CHECKPOINT.fullmatch(name):
        raise InvalidArgument(
            "a checkpoint name has 1 to 63 characters of a-z 0-9 . _ - and starts and ends with a letter or digit"
        )


def check_snapshot_name(name: str) -> None:
    """Raises InvalidArgument unless `name` is a usable snapshot name."""
    if not _CHECKPOINT.fullmatch(name):
        raise InvalidArgument(
            "a snapshot name has 1 to 63 characters of a-z 0-9 . _ - and starts and ends with a letter or digit"
        )
    if is_snapshot_id(name):
        raise InvalidArgument(f"'{name}' cannot be a snapshot's name: it has the form of an id; choose another one")


def check_labels(labels: dict[str, str]) -> None:
    """Raises InvalidArgument for label keys or values outside the rules."""
    if len(labels) > MAX_LABELS:
        raise InvalidArgument(f"a machine has at most {MAX_LABELS} labels")
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key) or key.startswith("boxd/"):
            raise InvalidArgument(
                "a label key has 1 to 63 characters of a-z 0-9 . _ / - with a letter or digit at both ends, "
                "and does not begin with boxd/"
            )
        if len(value) > MAX_LABEL_VALUE:
            raise InvalidArgument(f"the value of label '{key}' is longer than {MAX_LABEL_VALUE} characters")
        if any(unicodedata.category(character) == "Cc" for character in value):
            raise InvalidArgument(f"the value of label '{key}' holds a control character")


def is_uuid(text: str) -> bool:
    """Whether `text` has the form of a machine id: ids and names share one field on the wire."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def is_snapshot_id(text: str) -> bool:
    """Whether `text` has the form of a snapshot id: ids and names share one field on the wire."""
    return _SNAPSHOT_ID.fullmatch(text) is not None


def suggest_machine_name(taken: Container[str]) -> str:
    """A free adjective-noun name; with a number once the plain ones are scarce."""
    for _ in range(50):
        name = f"{secrets.choice(_ADJECTIVES)}-{secrets.choice(_NOUNS)}"
        if name not in taken:
            return name
    return f"{secrets.choice(_ADJECTIVES)}-{secrets.choice(_NOUNS)}-{secrets.randbelow(100_000)}"


def fork_name(source: str) -> str:
    """What a fork is called by itself: <source>-fork, with as much of the source as fits."""
    return f"{source[: MAX_MACHINE - len(FORK)].rstrip('-')}{FORK}"


def numbered(base: str, taken: Container[str]) -> str:
    """`base`, or with -2, -3, ... the first that is free; no longer than a machine's name may be."""
    name, number = base, 1
    while name in taken:
        number += 1
        suffix = f"-{number}"
        name = f"{base[: MAX_MACHINE - len(suffix)].rstrip('-')}{suffix}"
    return name


def generate_checkpoint_name(taken: Container[str], now: datetime | None = None) -> str:
    """cp-YYYYMMDD-HHMMSS in UTC; -2, -3, ... if that is taken."""
    base = (now or datetime.now(UTC)).strftime("cp-%Y%m%d-%H%M%S")
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name


def new_checkpoint_id() -> str:
    """cp_ and 20 lowercase base32 characters (100 random bits)."""
    return f"cp_{_random_base32()}"


def new_snapshot_id() -> str:
    """snap_ and 20 lowercase base32 characters."""
    return f"snap_{_random_base32()}"


def _random_base32() -> str:
    return "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(20))
