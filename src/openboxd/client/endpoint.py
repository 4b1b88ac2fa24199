"""Where the daemon is and what proves who calls it.

Address: the explicit one, `BOXD_BASE_URL`, the deprecated `BOXD_API_URL`, the configuration file, this host.
Credential: the explicit one, `BOXD_TOKEN`, `BOXD_API_KEY`, the configuration file.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from openboxd.client.config import config_path, read_config
from openboxd.errors import InvalidArgument, Unauthenticated
from openboxd.settings import DEFAULT_LISTEN

DEFAULT_URL = f"http://{DEFAULT_LISTEN}"


@dataclass(frozen=True)
class Address:
    """A parsed base URL: `target` is host:port for gRPC."""

    url: str
    target: str
    tls: bool
    loopback: bool


@dataclass(frozen=True)
class Endpoint:
    """Everything a connection needs."""

    address: Address
    token: str


AT_HAND = Endpoint(Address("boxd", "unix:/api.sock", tls=False, loopback=True), token="")
"""The daemon as a command has it that runs for a machine: the socket is its only way out, and says which machine."""


def parse_url(url: str) -> Address:
    """`http://` is plain HTTP/2, `https://` TLS; a bare host:port is TLS unless it is this host.

    Without a scheme the port must be there: any word would be an address else.

    Raises:
        InvalidArgument: it is none of these.
    """
    bare = "://" not in url
    text = url.strip().rstrip("/")
    try:
        parts = urlsplit(f"//{text}" if bare else text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    extra = parts.path or parts.query or parts.fragment or parts.username
    if not host or extra or (bare and port is None) or (not bare and parts.scheme not in ("http", "https")):
        raise InvalidArgument(f"'{url}' is not the address of a daemon; it looks like {DEFAULT_URL}")
    tls = parts.scheme == "https" if not bare else not host.startswith(("localhost", "127."))
    name = f"[{host}]" if ":" in host else host
    port = port or (443 if tls else 80)
    return Address(f"{'https' if tls else 'http'}://{name}:{port}", f"{name}:{port}", tls, _is_loopback(host))


def resolve(url: str = "", token: str = "", environ: Mapping[str, str] | None = None) -> Endpoint:
    """Settle address and credential.

    The key of the configuration file belongs to the daemon that is named there: it is not sent to another host that
    an environment variable points at.

    Raises:
        InvalidArgument: a malformed address or configuration.
        Unauthenticated: no credential.
    """
    environ = os.environ if environ is None else environ
    path = config_path(environ)
    config = read_config(path)
    at_home = parse_url(config.base_url or DEFAULT_URL)
    address = _chosen(url, environ) or at_home
    token = token or environ.get("BOXD_TOKEN") or environ.get("BOXD_API_KEY") or ""
    if not token and (address == at_home or (address.loopback and at_home.loopback)):
        token = config.api_key
    if not token:
        raise Unauthenticated(
            f"there is no API key for the daemon at {address.url}; set BOXD_API_KEY, "
            f"or start the daemon once with 'boxd daemon run', which writes {path}"
        )
    return Endpoint(address, token.strip())


def find_address(url: str = "", environ: Mapping[str, str] | None = None) -> Address:
    """The address alone. Raises InvalidArgument as `resolve` does."""
    environ = os.environ if environ is None else environ
    return _chosen(url, environ) or parse_url(read_config(config_path(environ)).base_url or DEFAULT_URL)


def _chosen(url: str, environ: Mapping[str, str]) -> Address | None:
    chosen = url or environ.get("BOXD_BASE_URL") or environ.get("BOXD_API_URL")
    return parse_url(chosen) if chosen else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
