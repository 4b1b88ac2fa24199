"""Runs in a guest: writes memory at a steady rate, each page with something new. Arguments: MiB a second, MiB."""

import mmap
import sys
import time

PIECE = 65536
PATTERNS = [bytes([value]) * PIECE for value in range(1, 252)]  # 251 is prime: no page gets what it had before


def main(rate: int, size: int) -> None:
    area = mmap.mmap(-1, size)
    last = told = time.monotonic()
    due, written, before = 0.0, 0, 0
    while True:
        now = time.monotonic()
        due = min(due + (now - last) * rate, rate / 10)  # after a standstill nothing is caught up
        last = now
        while due >= PIECE:
            at = written % size
            area[at : at + PIECE] = PATTERNS[written // PIECE % len(PATTERNS)]
            written, due = written + PIECE, due - PIECE
        if now - told > 0.5:
            with open("/tmp/dirty.rate", "w") as file:
                file.write(f"{(written - before) / (now - told):.0f}\n")
            told, before = now, written
        time.sleep(0.002)


main(int(sys.argv[1]) << 20, int(sys.argv[2]) << 20)
