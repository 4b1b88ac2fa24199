"""boxd: Linux machines on your own host, with an undo button."""

__version__ = "0.1.0"
