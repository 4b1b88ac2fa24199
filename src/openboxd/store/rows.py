"""Between the model's objects and rows: sizes are two columns, mappings are JSON text, enums are their words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from sqlalchemy import Row

from openboxd.model import Size


def encode(detail: Mapping[str, Any]) -> str:
    """A mapping as JSON text. Raises TypeError for what JSON cannot hold."""
    return json.dumps(dict(detail), sort_keys=True, separators=(",", ":"))


def decode(detail: str) -> dict[str, Any]:
    """The mapping that `encode` was given."""
    mapping = json.loads(detail)
    assert isinstance(mapping, dict)
    return mapping


def decode_list(text: str) -> tuple[str, ...]:
    """Strings that were kept as JSON."""
    return tuple(str(item) for item in json.loads(text))


def to_row(item: Any) -> dict[str, Any]:
    """All columns of a model object."""
    return changed_columns(type(item), {field.name: getattr(item, field.name) for field in fields(item)})


def changed_columns(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns behind some fields of a model class. Raises TypeError for a field it does not have."""
    unknown = values.keys() - {field.name for field in fields(kind)}
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    row: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Size):
            row |= {"vcpu": value.vcpu, "memory_bytes": value.memory_bytes}
        else:
            row[name] = _plain(value)
    return row


def _plain(value: Any) -> Any:
    """What a column holds of a field."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return encode(value)
    return json.dumps(value) if isinstance(value, tuple) else value


def from_row(row: Row[Any]) -> dict[str, Any]:
    """Arguments for a model class; JSON and enums are left to the caller."""
    values = dict(row._mapping)
    if "vcpu" in values:
        values["size"] = Size(values.pop("vcpu"), values.pop("memory_bytes"))
    return values
