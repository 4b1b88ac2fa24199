"""Runs in a guest: holds memory in which every page is another. Argument: MiB. Says "held" when it does."""

import mmap
import sys
import time

size = int(sys.argv[1]) << 20
area = mmap.mmap(-1, size)
page = bytearray(range(256)) * 16
for at in range(0, size, 4096):
    page[:8] = at.to_bytes(8, "big")
    area[at : at + 4096] = page
with open("/tmp/filled", "w") as file:
    file.write("held\n")
time.sleep(1e6)
