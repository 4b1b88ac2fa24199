"""Command lines for the machine's `sh -c`, which is the only form in which the wire carries a command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def shell_line(argv: Sequence[str], variables: Sequence[tuple[str, str]] = ()) -> str:
    """One line that runs `argv` with every argument as it is.

    A lone argument is a line for the shell already (`'cd /srv && make'`), as no program is called with blanks in
    its name. Variables are exported first, so that they hold for all of such a line.
    """
    line = argv[0] if len(argv) == 1 else shlex.join(argv)
    exports = "".join(f"export {key}={shlex.quote(value)}; " for key, value in variables)
    return exports + line


def login_shell(term: str) -> str:
    """The line for an interactive login shell: bash where there is one."""
    start = 'if command -v bash >/dev/null 2>&1; then exec bash -l; else exec "${SHELL:-/bin/sh}" -l; fi'
    return shell_line([start], [("TERM", term)] if term else [])
