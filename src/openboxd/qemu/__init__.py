"""The hypervisor driver: QEMU processes that are booted, saved while they run, and loaded from captures.

Facts (what the host offers) become a plan (what the machine is), a plan becomes arguments; only then is anything
started. `saver` is a program of its own.
"""
