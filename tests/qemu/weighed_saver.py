"""A saver that leaves its largest resident size (KiB) beside its staging directory, as `<staging>.peak`."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from openboxd.qemu.saver import main

if __name__ == "__main__":
    status = main(sys.argv[1:])
    staging = Path(sys.argv[sys.argv.index("--staging") + 1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    staging.with_name(f"{staging.name}.peak").write_text(str(peak))
    sys.exit(status)
