"""Log lines of the daemon: as text for people, or as one JSON object a line.

Whatever is logged while an operation on a machine is carried out bears the operation's id and the machine's, in both
forms, so that one operation can be followed through all packages.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

TEXT_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s%(operation_note)s"

_operation: ContextVar[tuple[str, str] | None] = ContextVar("operation", default=None)


@contextmanager
def operation(machine_id: str) -> Iterator[str]:
    """Mark what is logged in the block, and in tasks that it starts, with a new operation id, which is the value."""
    name = f"op-{secrets.token_hex(4)}"
    token = _operation.set((name, machine_id))
    try:
        yield name
    finally:
        _operation.reset(token)


def set_up(form: str, level: int) -> None:
    """Log to stderr in `form`, "text" or "json"."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_mark)
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(TEXT_FORM))
    logging.basicConfig(level=level, handlers=[handler])


def _mark(record: logging.LogRecord) -> bool:
    """Give a record the fields of the operation it belongs to."""
    present = _operation.get()
    name, machine = present or ("", "")
    note = f" [{name}]" if present else ""
    record.__dict__.update(operation=name, machine=machine, operation_note=note)
    return True


class JsonFormatter(logging.Formatter):
    """One object a line: time (RFC 3339, UTC), level, logger, message; operation, machine, error if there are any."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("operation", "machine"):
            if value := getattr(record, name, ""):
                line[name] = value
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
