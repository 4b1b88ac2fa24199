"""The client's own file: where the daemon is and with which key.

It holds a secret, so it is 0600 in a directory of 0700.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from openboxd.errors import InvalidArgument
from openboxd.host.files import make_directory, write_atomic


@dataclass(frozen=True)
class Config:
    """What the file says; empty = not set."""

    base_url: str = ""
    api_key: str = ""


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """`BOXD_CONFIG`, else ~/.config/boxd/config.json."""
    environ = os.environ if environ is None else environ
    return Path(environ.get("BOXD_CONFIG") or Path.home() / ".config/boxd/config.json")


def read_config(path: Path) -> Config:
    """The file's content; an absent file is an empty one.

    Raises:
        InvalidArgument: it cannot be read or is not what `write_config` writes.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise InvalidArgument(f"the configuration {path} cannot be read: {error.strerror}") from None
    except ValueError:
        content = None
    if isinstance(content, dict):
        base_url, api_key = content.get("base_url", ""), content.get("api_key", "")
        if isinstance(base_url, str) and isinstance(api_key, str):
            return Config(base_url, api_key)
    raise InvalidArgument(f"the configuration {path} is damaged; correct it or remove it")


def write_config(base_url: str, api_key: str, path: Path | None = None) -> Path:
    """Replace the file, whole or not at all; where it is."""
    path = path or config_path()
    make_directory(path.parent)
    text = json.dumps({"base_url": base_url, "api_key": api_key}, indent=2)
    write_atomic(path, text.encode() + b"\n")
    return path
