"""What a machine descends from, and what it was taken back to: whether a guard's checkpoint still stands for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import CheckpointInfo
    from openboxd.wire.openboxd_host_pb2 import Event


def descends(checkpoints: Sequence[CheckpointInfo], name: str) -> bool:
    """Whether the machine descends from this checkpoint: itself is where it is, or what was saved after it is."""
    parents = {each.name: each.parent_name for each in checkpoints}
    at = next((each.name for each in checkpoints if each.is_current), "")
    while at != name and at in parents:
        at = parents.pop(at)
    return at == name


def restored_since(events: Sequence[Event], name: str) -> bool:
    """Whether the machine was restored to something else since this checkpoint was saved.

    What was saved after the checkpoint descends from it also when it was restored since, so that `descends` does not
    tell. A restore that failed is none: the machine went on as it was.
    """
    saves = [number for number, each in enumerate(events) if (each.operation, each.detail) == ("save", name)]
    later = events[saves[-1] :] if saves else events
    return any(each.operation == "restore" and each.outcome == "ok" and each.detail != name for each in later)
