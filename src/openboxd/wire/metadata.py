"""What travels beside the messages: names of gRPC metadata that the daemon and its own client agree on."""

ERROR_KEY = "boxd-error"
"""Trailing metadata in which the daemon names the error's class, because several share a gRPC status.

What comes without it was not worded by a daemon.
"""
