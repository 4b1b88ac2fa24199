"""What a guest may not send."""

from __future__ import annotations

import json
from typing import Any


class Violation(Exception):
    """The guest sent what no agent sends."""


def parse(payload: bytes) -> dict[str, Any]:
    """A JSON object from the guest. Raises Violation."""
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise Violation("it sent malformed JSON") from error
    if not isinstance(message, dict):
        raise Violation("it sent JSON that is not an object")
    return message
