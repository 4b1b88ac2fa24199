"""Tap devices: the host's end of a machine's card."""

from __future__ import annotations

import fcntl
import os
import struct

DEVICE = "/dev/net/tun"
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_REQUEST = struct.Struct("16sH22x")
MAX_NAME = 15


def open_tap(name: str) -> int:
    """Make a tap device and return the descriptor that feeds it. The device ends when the last copy of the descriptor
    is closed, so it cannot be left behind.

    Raises:
        OSError: no device could be made; ENXIO or ENOENT without the driver, EPERM without the right.
    """
    if not name.isascii() or not 0 < len(name) <= MAX_NAME:
        raise ValueError(f"'{name}' cannot name a network device")
    fd = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # Without IFF_VNET_HDR each frame's checksum would be worked out in software at both ends.
        fcntl.ioctl(fd, _TUNSETIFF, _REQUEST.pack(name.encode(), _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR))
    except BaseException:
        os.close(fd)
        raise
    return fd
