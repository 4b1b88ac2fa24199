"""The pool: where disks, captures and images lie, on a filesystem with reflinks where there is one."""

from openboxd.pool.directory import DirectoryPool
from openboxd.pool.opening import close_pool, open_pool

__all__ = ["DirectoryPool", "close_pool", "open_pool"]
