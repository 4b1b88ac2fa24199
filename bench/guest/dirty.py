"""Runs in a guest: writes memory at a steady rate, each page with something new. Arguments: MiB a second, MiB."""

import mmap
import sys
import time

PIECE = 65536
PATTERNS = [bytes([value]) * PIECE for value in range(1, 252)]  # 251 is prime: no page gets what it had before


def main(rate: int, size: int) -> None:
    area = mmap.mmap(-1, size)
    begun, written, number = time.monotonic(), 0, 0
    told = begun
    while True:
        now = time.monotonic()
        while written < (now - begun) * rate:
            at = written % size
            area[at : at + PIECE] = PATTERNS[number % len(PATTERNS)]
            written, number = written + PIECE, number + 1
            if number % 64 == 0:
                break  # look at the clock again: the guest may be slower than the rate
        if now - told > 0.5:
            with open("/tmp/dirty.rate", "w") as file:
                file.write(f"{written / (now - begun):.0f}\n")
            told = now
        time.sleep(0.002)


main(int(sys.argv[1]) << 20, int(sys.argv[2]) << 20)
