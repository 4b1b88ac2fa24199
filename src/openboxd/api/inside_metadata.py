"""The metadata of a machine, over HTTP/1.1 at port 9002 of its gateway: where the published SDK looks for it."""

from __future__ import annotations

import json
import logging

from openboxd.api.exchange_http import Answer, Request, refusal
from openboxd.api.ports import Service
from openboxd.errors import BoxdError

API_URL = "http://10.213.0.1:9002"
"""Where programs of a machine reach the API: the same port speaks gRPC."""

TOKEN_PATH, DESTROY_PATH = "/v1/auth/token", "/v1/self/destroy"
DESTROY_IN = 2

log = logging.getLogger(__name__)


class Metadata:
    """Answers the requests of one machine's run."""

    def __init__(self, service: Service, run_id: str) -> None:
        self._service, self._run = service, run_id

    async def answer(self, request: Request) -> Answer:
        """Never raises for what a guest can do."""
        methods = {TOKEN_PATH: "GET", DESTROY_PATH: "POST"}
        if request.path not in methods:
            return refusal(404, "there is nothing here; the API speaks gRPC at this port")
        if request.method != methods[request.path]:
            return refusal(405, f"send a {methods[request.path]}", allow=methods[request.path])
        try:
            return await (self._token() if request.path == TOKEN_PATH else self._destroy(request.body))
        except BoxdError as error:
            return refusal(403 if request.path == TOKEN_PATH else 400, error.message)
        except Exception:
            log.exception("a request of a machine for its metadata failed")
            return refusal(500, "the request failed inside the daemon; its log says why")

    async def _token(self) -> Answer:
        token = await self._service.mint_token(self._run)
        return Answer(200, {"token": token.token, "expires_at": token.expires_at, "api_url": API_URL})

    async def _destroy(self, body: bytes) -> Answer:
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            content = None
        name = content.get("confirm_name") if isinstance(content, dict) else None
        if not isinstance(name, str):
            return refusal(400, 'the body must be JSON: {"confirm_name": "<the machine\'s name>"}')
        caller = self._service.inside_caller(self._run, "")
        machine = await self._service.destroy_self(caller, name)
        content = {"name": machine.name, "vm_id": machine.id, "status": "destroying", "destroy_in_secs": DESTROY_IN}
        return Answer(200, content)
