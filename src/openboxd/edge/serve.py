"""The HTTPS front of a daemon: Caddy with this daemon's settings and root certificate, before its gates."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from openboxd.edge.ask import answering
from openboxd.edge.caddy import Caddy, certificate_wanted, running
from openboxd.edge.caddy_config import Front
from openboxd.edge.caddy_process import end_others
from openboxd.edge.gates import Gates
from openboxd.edge.kept import Kept
from openboxd.host.ca import open_authority
from openboxd.model import Finding
from openboxd.settings import Settings


@asynccontextmanager
async def serve_https(settings: Settings, kept: Kept, api: str = "") -> AsyncIterator[Caddy | None]:
    """Let Caddy serve while the block runs; None if HTTPS is off. What is wrong with it is in its `problem`.

    `api` is host:port where this host reaches the API; `kept` is where Caddy waits for the next daemon.

    Raises:
        HostUnfit: our own root certificate is damaged.
    """
    if not settings.https:
        await end_others(kept)
        yield None
        return
    front = _front(settings, api)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(answering(certificate_wanted(front), kept))
        caddy = Caddy(replace(front, ask=url), settings.run_dir, kept=kept)
        yield await stack.enter_async_context(running(caddy))


def unserved(settings: Settings, domain: str) -> str:
    """Why a domain of one's own is not served yet; empty if it is. Our root signs at once, a directory may not."""
    if not settings.https:
        return "HTTPS is switched off (BOXD_HTTPS=off)"
    if not settings.acme_email:
        return ""
    if any((storage_of(settings) / "certificates").glob(f"*/{domain}/{domain}.crt")):
        return ""
    return "it has no certificate yet: point its DNS at this host, and open it once"


def storage_of(settings: Settings) -> Path:
    """Where Caddy keeps certificates. It goes on with an intermediate one that it finds, so each root has its own."""
    root = open_authority(settings.tls_dir).root.read_bytes()
    return settings.home / "caddy" / hashlib.sha256(root).hexdigest()[:16]


def _front(settings: Settings, api: str) -> Front:
    authority = open_authority(settings.tls_dir)
    return Front(
        zone=settings.zone,
        https=settings.https,
        http=settings.http,
        gates=settings.gates_dir,
        storage=storage_of(settings),
        root=authority.root,
        root_key=settings.tls_dir / "ca.key",
        ask="",
        api=api,
        acme_email=settings.acme_email,
        acme_directory=settings.acme_directory,
        domains=settings.domains,
    )


def findings(caddy: Caddy | None, gates: Gates) -> Sequence[Finding]:
    """What `boxd doctor` says about the ways in to machines."""
    found = [
        Finding("ports of machines", "warning", text, "end what has it; 'ss -tulpn' names it")
        for text in gates.problems()
    ]
    if caddy is None:
        return [Finding("HTTPS", "warning", "it is switched off (BOXD_HTTPS=off)", "set BOXD_HTTPS"), *found]
    if caddy.problem:
        remedy = "install caddy, free the ports, or choose others with BOXD_HTTPS and BOXD_HTTP"
        return [Finding("HTTPS", "warning", f"machines have no HTTPS domains: {caddy.problem}", remedy), *found]
    return [Finding("HTTPS", "ok", f"{caddy.front.https} serves *.{caddy.front.zone}"), *found]
