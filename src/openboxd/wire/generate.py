"""Regenerates the Python modules of the .proto files beside this one: `python -m openboxd.wire.generate`.

The generated files are committed, so that installing boxd needs no compiler; a test compares them with a fresh
run. File names inside the descriptors begin with `openboxd/wire/`, which is what makes the generated imports right.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
"""The directory that holds the package `openboxd`: the import root for protoc."""

PROTOS = ("boxd_api.proto", "openboxd_host.proto")


def generate(out: Path) -> None:
    """Write the modules under `out`/openboxd/wire.

    Raises:
        RuntimeError: protoc refuses the files; it has printed why.
    """
    from grpc_tools import protoc

    flags = [f"--proto_path={ROOT}", f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}"]
    names = [f"openboxd/wire/{name}" for name in PROTOS]
    if protoc.main(["protoc", *flags, *names]) != 0:
        raise RuntimeError("protoc refused the .proto files")


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
