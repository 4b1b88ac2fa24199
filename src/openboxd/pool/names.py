"""Names that may become parts of paths: checked before they are joined, never cleaned up after."""

from __future__ import annotations

import re

from openboxd.errors import InvalidArgument

_ID = re.compile(r"[a-z0-9_-]{1,128}")


def checked(identity: str) -> str:
    """The id itself if it can only ever name one directory entry. Raises InvalidArgument."""
    if not _ID.fullmatch(identity):
        raise InvalidArgument(f"{identity!r} is not an id")
    return identity


def label(text: str) -> str:
    """Text made fit to be part of a name in the staging area, where it only helps people."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower())[:64].strip("-") or "thing"
