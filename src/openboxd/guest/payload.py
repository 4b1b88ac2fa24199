"""What the image builder puts into a guest so that the agent runs there.

The guest gets the same modules under the same names as here, so that nothing is rewritten: a tree
`/usr/lib/boxd-agent/openboxd/guest/...` with empty package files, started as `python3 -I -S /usr/lib/boxd-agent`.
The answer depends on these files alone, so that it can be part of an image's digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

GUEST_ROOT = "/usr/lib/boxd-agent"
UNIT = "boxd-agent.service"
ASK_KEYS = f"{GUEST_ROOT}/openboxd/guest/agent/ask_keys.py"
"""What sshd runs to ask whether a key may log in."""

_HERE = Path(__file__).parent
_STARTER = b"from openboxd.guest.agent.main import main\n\nmain()\n"
_COMMAND = f"""\
#!/usr/bin/python3 -IS
import sys

sys.path.insert(0, "{GUEST_ROOT}")

from openboxd.guest.agent.api_cli import main

main()
""".encode()
_COMPLETION = b'eval "$(boxd completion bash)"\n'
_PACKAGES = ("openboxd", "openboxd/guest", "openboxd/guest/agent")


@dataclass(frozen=True)
class PayloadFile:
    """A file of the guest, owned by root; with `symlink_to` it is a symbolic link and has no data."""

    path: str
    data: bytes
    mode: int
    symlink_to: str = ""


def files() -> Mapping[str, PayloadFile]:
    """Everything to install, by path in the guest, in a stable order. Directories are 0755 and made as needed."""
    return {file.path: file for file in sorted(_files(), key=lambda file: file.path)}


def _files() -> Iterator[PayloadFile]:
    yield PayloadFile(f"{GUEST_ROOT}/__main__.py", _STARTER, 0o644)
    yield PayloadFile("/usr/bin/boxd", _COMMAND, 0o755)
    yield PayloadFile("/usr/share/bash-completion/completions/boxd", _COMPLETION, 0o644)
    for package in _PACKAGES:
        yield PayloadFile(f"{GUEST_ROOT}/{package}/__init__.py", b"", 0o644)
    for module in (_HERE / "wire.py", *sorted((_HERE / "agent").glob("*.py"))):
        if module.name != "__init__.py":
            target = f"{GUEST_ROOT}/openboxd/guest/{module.relative_to(_HERE).as_posix()}"
            yield PayloadFile(target, module.read_bytes(), 0o644)
    yield PayloadFile(f"/etc/systemd/system/{UNIT}", (_HERE / UNIT).read_bytes(), 0o644)
    wants = f"/etc/systemd/system/sysinit.target.wants/{UNIT}"
    yield PayloadFile(wants, b"", 0o777, symlink_to=f"/etc/systemd/system/{UNIT}")
