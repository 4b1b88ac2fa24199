"""The `boxd` command of machines: the same program, run on this host for a guest, in a place where there is nothing.

A guest types the command line and owns every byte of its streams, so the program runs as nobody, in an empty root, in
a network without a way out, with one socket: to the daemon, which knows which machine is at its other end.
"""
