"""`within.py PID PROGRAM ...` runs a program in the user and network namespaces of a process of ours, with the right
to change that network. (nsenter does the first half; the right is lost at the program's start unless it is ambient.)

A program of its own: a process that has threads cannot enter a user namespace.
"""

import ctypes
import os
import sys

NET_ADMIN = 12
_NEWUSER, _NEWNET = 0x10000000, 0x40000000
_VERSION = 0x20080522
_CAP_AMBIENT, _RAISE = 47, 2


def main(pid: int, argv: list[str]) -> None:
    """Become the program. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{name}: {os.strerror(number)}")

    for kind, flag in (("user", _NEWUSER), ("net", _NEWNET)):
        namespace = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        call("setns", namespace, flag)
    head = (ctypes.c_uint32 * 2)(_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable ones, in two halves
    call("capget", head, sets)
    sets[2] |= 1 << NET_ADMIN
    call("capset", head, sets)
    call("prctl", _CAP_AMBIENT, _RAISE, NET_ADMIN, 0, 0)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
