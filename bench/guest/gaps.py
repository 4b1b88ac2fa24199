"""Runs in a guest: looks at the monotonic clock all the time, and tells the largest gaps between two looks.

A dot a millisecond goes to stdout, so that who reads along sees the gaps by a clock outside, too. Arguments: seconds
at most, and a file at whose appearance it ends. The last line is the gaps in microseconds, largest first.
"""

import os
import sys
import time

end = time.monotonic_ns() + int(float(sys.argv[1]) * 1e9)
gaps, last = [], time.monotonic_ns()
while last < end and (len(gaps) % 64 or not os.path.exists(sys.argv[2])):
    time.sleep(0.001)
    now = time.monotonic_ns()
    gaps.append((now - last) // 1000)
    last = now
    os.write(1, b".")
os.write(1, ("\n" + " ".join(map(str, sorted(gaps, reverse=True)[:10])) + "\n").encode())
