"""Benchmarks with real guests: `scripts/bench`. Each module named after a sub-benchmark has `run(place)`."""
