"""Caddy's configuration: a pure function of a few facts.

It is written once and never changed while Caddy runs: each change would close every WebSocket of every machine.
Machines come and go as sockets in one directory. The part of the host name before the zone, `web` or
`<label>.web`, is the name of the socket, and `=www.example.org` that of a domain of one's own; Caddy runs in that
directory, since a socket address holds 107 bytes only.

Nothing here makes Caddy turn to a public certificate directory unless ACME is asked for: there is always a policy for
all names, and it is our own issuer's unless there is an account. Upstream connections are not kept alive, so none
outlives the run it leads to, and "established in the gate" means "in flight".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

PRIVATE = ("localhost", "test", "internal", "local")
"""Top-level domains that no public directory has anything to do with."""

LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
"""A DNS label as machines and routes have them."""


@dataclass(frozen=True)
class Front:
    """What the HTTPS front is to do.

    Attributes:
        zone: DNS zone of the machines.
        https, http: host:port to listen on; the second only redirects to the first.
        gates: directory of the gates' sockets.
        storage: where Caddy keeps certificates; belongs to one root certificate.
        root, root_key: our own root, PEM.
        ask: URL that says whether a certificate may be made for a name.
        api: host:port of the API, where `app.<zone>` finds the exchange of keys; empty = nowhere.
        acme_email: account for certificates of a public directory; empty = our own root signs. It signs for a zone
            that no directory would sign for in any case.
        acme_directory: URL of the directory; empty = Caddy's default.
        domains: further host names, each with the socket it leads to.
    """

    zone: str
    https: str
    http: str
    gates: Path
    storage: Path
    root: Path
    root_key: Path
    ask: str
    api: str = ""
    acme_email: str = ""
    acme_directory: str = ""
    domains: Mapping[str, str] = field(default_factory=dict)

    @property
    def https_port(self) -> int:
        """Port of the HTTPS address."""
        return int(self.https.rpartition(":")[2])

    @property
    def is_public(self) -> bool:
        """The zone's certificates come from a public directory."""
        return bool(self.acme_email) and self.zone.rpartition(".")[2] not in PRIVATE


RETRIES = 3
"""How often. More would let an app that dies of a request die of it again and again."""


SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods of requests that ask for nothing but an answer (RFC 9110, 9.2.1)."""


def socket_of(domain: str) -> str:
    """The name of the socket behind a domain of one's own; no machine's name begins like this."""
    return f"={domain}"


def caddy_config(front: Front) -> Json:
    """The whole configuration."""
    return {
        "admin": {"disabled": True, "config": {"persist": False}},
        "storage": {"module": "file_system", "root": str(front.storage)},
        # Failed requests would be logged with their headers; who asked what is the machines' own business.
        "logging": {"logs": {"default": {"encoder": {"format": "json"}, "exclude": ["http.log.error"]}}},
        "apps": {"http": _http(front), "tls": _tls(front), "pki": _pki(front)},
    }


def _http(front: Front) -> Json:
    return {
        "http_port": int(front.http.rpartition(":")[2]),
        "https_port": front.https_port,
        "grace_period": "1s",
        "servers": {"https": _https_server(front), "http": _redirects(front)},
    }


def _https_server(front: Front) -> Json:
    domains = [_route({"host": [name]}, socket, front) for name, socket in sorted(front.domains.items())]
    name = {"name": "machine", "pattern": rf"^((?:{LABEL}\.)?{LABEL})\.{re.escape(front.zone)}$"}
    machines = _route({"vars_regexp": {"{http.request.host}": name}}, "{http.regexp.machine.1}", front)
    host = {"name": "domain", "pattern": rf"^((?:{LABEL}\.)+{LABEL})$"}
    custom = _route({"vars_regexp": {"{http.request.host}": host}}, socket_of("{http.regexp.domain.1}"), front)
    nobody = {"handle": [_text(404, "there is no machine at {http.request.host}\n")]}
    return {
        "listen": [f"tcp/{front.https}"],
        "protocols": ["h1", "h2"],
        "automatic_https": {"disable": True},
        "tls_connection_policies": [{}],
        "read_header_timeout": "30s",
        "idle_timeout": "5m",
        "routes": [*_exchange(front), *domains, machines, custom, nobody],
        "errors": {"routes": [{"handle": [_text(502, "the connection to {http.request.host} was cut\n")]}]},
    }


def _exchange(front: Front) -> list[Json]:
    """Programs that know the service by a DNS name exchange their keys at `app.` below it, on port 443."""
    if not front.api:
        return []
    match = {"host": [f"app.{front.zone}"], "path": ["/api/v1/auth/token"]}
    return [{"match": [match], "handle": [{"handler": "reverse_proxy", "upstreams": [{"dial": front.api}]}]}]


def _route(match: Json, socket: str, front: Front) -> Json:
    """Lead to the gate if there is one; the file is looked for after the name is known, hence two levels."""
    there = {"file": {"root": str(front.gates), "try_files": [socket]}}
    secure = [{"handler": "headers", "response": {"set": {"Strict-Transport-Security": ["max-age=31536000"]}}}]
    handlers = [*(secure if front.is_public else []), _proxy(socket)]
    inner = {"match": [there], "handle": handlers, "terminal": True}
    return {"match": [match], "handle": [{"handler": "subroute", "routes": [inner]}]}


def _proxy(socket: str) -> Json:
    """A request of a safe method whose connection a swap cuts is sent again, and waits in the gate; a slow one may be
    cut by several swaps. Another may have had effects outside of the machine, which a swap does not undo.
    """
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": f"unix/{socket}"}],
        "load_balancing": {"retries": RETRIES, "try_interval": "20ms", "retry_match": [{"method": [*SAFE]}]},
        "flush_interval": -1,
        "transport": {"protocol": "http", "keep_alive": {"enabled": False}, "compression": False},
    }


def _redirects(front: Front) -> Json:
    port = "" if front.https_port == 443 else f":{front.https_port}"
    target = "https://{http.request.host}" + port + "{http.request.uri}"
    redirect = {"handler": "static_response", "status_code": 308, "headers": {"Location": [target]}}
    return {
        "listen": [f"tcp/{front.http}"],
        "protocols": ["h1"],
        "automatic_https": {"disable": True},
        "read_header_timeout": "30s",
        "routes": [{"handle": [redirect]}],
    }


def _text(status: int, text: str) -> Json:
    headers = {"Content-Type": ["text/plain; charset=utf-8"], "Cache-Control": ["no-store"]}
    return {"handler": "static_response", "status_code": status, "headers": headers, "body": text}


def _tls(front: Front) -> Json:
    """One wildcard serves all machines, but covers one label only: names below it get theirs at the first request."""
    automation = {"on_demand": {"ask": front.ask}}
    others: Json = {"on_demand": True, "issuers": [_acme(front) if front.acme_email else _INTERNAL]}
    if front.is_public:  # a wildcard would need the zone's DNS, so each machine gets a certificate of its own
        return {"automation": automation | {"policies": [others]}}
    wildcard = f"*.{front.zone}"
    policies = [{"subjects": [wildcard], "issuers": [_INTERNAL]}]
    policies += [{"subjects": [f"*.{wildcard}"], "on_demand": True, "issuers": [_INTERNAL]}, others]
    return {"certificates": {"automate": [wildcard]}, "automation": automation | {"policies": policies}}


_INTERNAL: Json = {"module": "internal"}


def _acme(front: Front) -> Json:
    issuer = {"module": "acme", "email": front.acme_email}
    return issuer | ({"ca": front.acme_directory} if front.acme_directory else {})


def _pki(front: Front) -> Json:
    root = {"format": "pem_file", "certificate": str(front.root), "private_key": str(front.root_key)}
    return {"certificate_authorities": {"local": {"install_trust": False, "root": root}}}
