"""Which connections of a guest count as use of its machine."""

from __future__ import annotations

import pytest

from openboxd.worker.outbound import connections

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
SSHD = "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0"
ROW = "   1: {local} {remote} {state} 00000000:00000000 02:00000000 00000000  1000        0 2 2 0 20 4 30 10 -1"


def row(local: str, remote: str, state: str = "01") -> str:
    return ROW.format(local=local, remote=remote, state=state)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (row("0A00D50A:9C40", "22D8B85D:01BB"), [False]),  # 10.213.0.10 to 93.184.216.34:443
        (row("0A00D50A:0016", "0B00D50A:9C40"), [True]),  # its sshd, from 10.213.0.11
        (row("0100007F:0016", "0100007F:9C40"), []),  # what came by the agent
        (row("0A00D50A:9C40", "22D8B85D:01BB", "06"), []),  # has ended
        (row("0" * 24 + "01000000:0016", "0" * 24 + "01000000:9C40"), []),  # ::1
        (row("0" * 16 + "FFFF00000100007F:0016", "0" * 16 + "FFFF00000100007F:9C40"), []),  # ::ffff:127.0.0.1
        (row("B80D01200000000000000000" + "01000000:9C40", "B80D01200000000000000000" + "02000000:01BB"), [False]),
        ("rubbish that no kernel writes : : :", []),
        (row("0A00D50A:9C40", "nonsense"), []),
        ("", []),
    ],
)
def test_connections_to_other_hosts(line: str, expected: list[bool]) -> None:
    assert list(connections([HEAD, SSHD, line])) == expected
