"""A small HTTP/1.1 server: one connection, JSON answers, and limits on everything a stranger may send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import h11

HEADERS_LIMIT = 16 * 1024
BODY_LIMIT = 16 * 1024
"""Bytes; a key exchange needs a hundred."""

REQUEST_LIMIT = 10.0
"""Seconds for a whole request to come in, and for its answer to be taken."""

IDLE_LIMIT = 15.0
"""Seconds that a connection may wait for its next request."""

REQUESTS = 1000
"""Requests of one connection."""

FAREWELL_LIMIT = 2.0
"""Seconds in which a client that still sends may read the answer before the connection is reset under it."""


@dataclass(frozen=True)
class Request:
    """What was asked."""

    method: str
    path: str
    body: bytes = field(repr=False)  # may hold a key


@dataclass(frozen=True)
class Answer:
    """What is answered: a JSON object, or the bytes of whatever `content-type` the headers tell."""

    status: int
    content: Mapping[str, object] | bytes = field(repr=False)  # may hold a token
    headers: Mapping[str, str] = field(default_factory=dict)


Handle = Callable[[Request], Awaitable[Answer]]


class Refused(Exception):
    """The request will not be read any further."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.answer = refusal(status, text)


def refusal(status: int, text: str, **headers: str) -> Answer:
    """An answer that says why not."""
    return Answer(status, {"error": text}, headers)


async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handle) -> None:
    """Answer request after request until either side has had enough, then close. The caller aborts what is left."""
    try:
        await _Connection(reader, writer, handle).run()
        writer.close()
        async with asyncio.timeout(FAREWELL_LIMIT):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        pass  # the client is gone or does not take its answer


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handle) -> None:
        self._reader, self._writer, self._handle = reader, writer, handle
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEADERS_LIMIT)

    async def run(self) -> None:
        for _ in range(REQUESTS):
            try:
                request = await self._request()
                if request is None:
                    return
                answer = await self._handle(request)
            except Refused as refused:
                await self._answer(refused.answer, last=True)
                return
            await self._answer(answer)
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                break
            self._http.start_next_cycle()
        await self._farewell()

    async def _request(self) -> Request | None:
        """The next request, or None if the client leaves it at that. Raises Refused."""
        try:
            # The clock of a request begins with its first byte: before that the connection is merely idle.
            if not self._http.trailing_data[0]:
                async with asyncio.timeout(IDLE_LIMIT):
                    if not await self._more():
                        return None
        except TimeoutError:
            return None
        try:
            async with asyncio.timeout(REQUEST_LIMIT):
                return await self._whole_request()
        except TimeoutError:
            raise Refused(408, "the request did not come in time") from None
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
            text = "the headers are too large" if status == 431 else "this is not a request in HTTP/1.1"
            raise Refused(status, text) from None

    async def _whole_request(self) -> Request | None:
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None
        length = dict(head.headers).get(b"content-length", b"0")
        body = bytearray()
        if int(length) > BODY_LIMIT:
            raise Refused(413, f"the body is larger than {BODY_LIMIT} bytes")
        while isinstance(piece := await self._event(), h11.Data):
            body += piece.data
            if len(body) > BODY_LIMIT:
                raise Refused(413, f"the body is larger than {BODY_LIMIT} bytes")
        path = head.target.decode("latin-1").partition("?")[0]
        return Request(head.method.decode("latin-1"), path, bytes(body))

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            await self._more()
        return event

    async def _more(self) -> bool:
        data = await self._reader.read(8192)
        self._http.receive_data(data)  # an empty piece tells that there will be no more
        return bool(data)

    async def _answer(self, answer: Answer, *, last: bool = False) -> None:
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        content = answer.content
        text = content if isinstance(content, bytes) else json.dumps(dict(content)).encode() + b"\n"
        headers = {
            "content-type": "application/json",
            "content-length": str(len(text)),
            "cache-control": "no-store",
            **answer.headers,
            **({"connection": "close"} if last else {}),
        }
        reason = HTTPStatus(answer.status).phrase
        self._send(h11.Response(status_code=answer.status, headers=list(headers.items()), reason=reason))
        self._send(h11.Data(data=text))
        self._send(h11.EndOfMessage())
        async with asyncio.timeout(REQUEST_LIMIT):
            await self._writer.drain()
        if last:
            await self._farewell()

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)

    async def _farewell(self) -> None:
        """End our direction and read on for a moment: closing over unread bytes would reset the connection, and the
        answer might never be seen."""
        if self._writer.can_write_eof():
            self._writer.write_eof()
            try:
                async with asyncio.timeout(FAREWELL_LIMIT):
                    while await self._reader.read(65536):
                        pass
            except TimeoutError:
                pass
