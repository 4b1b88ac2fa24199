"""The API in HTTP/1.1: `POST /api/v1/auth/token` (an API key in, a token of an hour out) and `GET /metrics`."""

from __future__ import annotations

import ipaddress
import json
import logging

from openboxd.api.exchange_http import Answer, Request, refusal
from openboxd.api.exchange_limit import RateLimit
from openboxd.api.ports import Service
from openboxd.errors import BoxdError, Unauthenticated
from openboxd.metrics import CONTENT_TYPE

PATH = "/api/v1/auth/token"
METRICS = "/metrics"
KEY_LIMIT = 256
"""Characters of anything that could be a key."""

log = logging.getLogger(__name__)


class Exchange:
    """Answers the requests of all clients."""

    def __init__(self, service: Service, limit: RateLimit | None = None, metrics: str = "loopback") -> None:
        self._service, self._metrics = service, metrics
        self._limit = limit or RateLimit()

    async def answer(self, request: Request, address: str) -> Answer:
        """What `request`, which came from `address`, gets. Never raises for what a client can do."""
        if request.path == METRICS and self._tells_metrics(address):
            return await self._measured(request)
        if request.path != PATH:
            return refusal(404, f"there is nothing here; keys are exchanged at {PATH}, everything else is gRPC")
        if request.method != "POST":
            return refusal(405, f"send a POST to {PATH}", allow="POST")
        wait = self._limit.admit(address)
        if wait:
            text = f"too many exchanges from this address; try again in {wait} s, a token is good for an hour"
            return refusal(429, text, **{"retry-after": str(wait)})
        key = _key_of(request.body)
        if key is None:
            return refusal(400, 'the body must be JSON: {"api_key": "bxd_..."}')
        return await self._exchange(key, address)

    def _tells_metrics(self, address: str) -> bool:
        """Whether this client may know that there are metrics."""
        return self._metrics == "any" or (self._metrics == "loopback" and _is_loopback(address))

    async def _measured(self, request: Request) -> Answer:
        if request.method != "GET":
            return refusal(405, f"send a GET to {METRICS}", allow="GET")
        return Answer(200, await self._service.metrics(), {"content-type": CONTENT_TYPE})

    async def _exchange(self, key: str, address: str) -> Answer:
        try:
            token = await self._service.exchange(key)
        except Unauthenticated as error:
            log.info("refused to exchange a key for %s", address)
            return refusal(401, error.message)
        except BoxdError as error:
            return refusal(503, error.message)
        except Exception:
            log.exception("an exchange failed unexpectedly")
            return refusal(500, "the exchange failed inside the daemon; its log says why")
        return Answer(200, {"token": token.token, "expires_at": token.expires_at, "user_id": token.user_id})


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # not a connection over TCP
        return False


def _key_of(body: bytes) -> str | None:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    key = content.get("api_key") if isinstance(content, dict) else None
    return key.strip() if isinstance(key, str) and 0 < len(key) <= KEY_LIMIT else None
