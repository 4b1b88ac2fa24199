"""The program that sshd runs (`AuthorizedKeysCommand`) for each key that a client offers.

`ask_keys.py USER FINGERPRINT [SOCKET]` prints the line for authorized_keys if the key may log in, else nothing; see
`keys`. It imports nothing that is slow: it stands in the way of every login.
"""

import _socket
import os
import sys

SOCKET = "/run/boxd-agent/keys"
LIMIT = 12.0  # seconds; the agent gives up earlier


def main() -> None:
    """Ask and print; a failure is an empty answer."""
    door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    door.settimeout(LIMIT)
    try:
        door.connect(sys.argv[3] if len(sys.argv) > 3 else SOCKET)
        door.send(f"{sys.argv[1]} {sys.argv[2]}\n".encode())
        while data := door.recv(4096):
            os.write(1, data)
    except OSError as error:
        sys.exit(f"boxd: the agent does not answer: {error}")


if __name__ == "__main__":
    main()
