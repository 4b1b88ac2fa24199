"""The server's TLS while certificates come and go: looked at every hour, taken up without a restart."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from openboxd.api.front_tls import HTTP1, HTTP2
from openboxd.errors import BoxdError, HostUnfit

EVERY = 3600.0
"""Seconds between looks. A certificate of ours is renewed a month before its end, one of the user's at any time."""

Find = Callable[[], tuple[Path, Path]]
"""The PEM files of the certificate and its key that are right now; renews what must be renewed."""

log = logging.getLogger(__name__)


class Tls:
    """TLS with the present certificate; `context` is for one connection, the next one may get another."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self.context = self._load()

    def renew(self) -> None:
        """Take up the certificate that is right now. Raises HostUnfit; the former one stays in use."""
        self.context = self._load()

    def _load(self) -> ssl.SSLContext:
        """A new context each time: a failed load leaves an old one without any certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols([HTTP2, HTTP1])
        certificate, key = self._find()
        try:
            context.load_cert_chain(certificate, key)
        except OSError as error:  # ssl.SSLError is one
            raise HostUnfit(f"the certificate {certificate} with the key {key} cannot be used: {error}") from error
        return context


@asynccontextmanager
async def kept_tls(find: Find, every: float = EVERY) -> AsyncIterator[Tls]:
    """TLS for a server, kept up to date while the block runs.

    Raises:
        HostUnfit: there is no certificate to begin with.
    """
    tls = Tls(find)
    task = asyncio.create_task(_renew(tls, every), name="certificates")
    try:
        yield tls
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _renew(tls: Tls, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        try:
            await asyncio.to_thread(tls.renew)
        except (BoxdError, OSError) as error:
            log.warning("the certificate was not renewed, the former one stays in use: %s", error)
