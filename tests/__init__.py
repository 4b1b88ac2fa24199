"""The tests."""

import os

# Tests start programs while gRPC's threads run here. Its handlers for forks abort the child when one is in a call.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
