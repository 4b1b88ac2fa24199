"""The one door every call comes through: it knows the caller, and it words every failure.

A method of the API is a plain function of the service, the caller and the request (or the stream of requests). The
door turns it into a gRPC handler: it authenticates first, then runs the method, then maps what was raised. Calls of
the contract for which there is no method are answered UNIMPLEMENTED, in words.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NoReturn

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from openboxd.api.calls import Call, Calls
from openboxd.api.front_peer import FROM_MACHINE, address_of
from openboxd.api.missing import refusal
from openboxd.api.ports import Service
from openboxd.api.streams import reading, swallow
from openboxd.errors import BoxdError, InvalidArgument, Unauthenticated
from openboxd.model import Caller
from openboxd.wire.metadata import ERROR_KEY

log = logging.getLogger(__name__)

Method = Callable[[Service, Caller, Any], Any]
"""`async def` for a single answer, an async generator for a stream of them."""

Context = grpc.aio.ServicerContext[Any, Any]

MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes of one message, either way: what the published SDK is set to."""

STATUS_TEXT_LIMIT = 2000
"""Characters of a status text. HTTP/2 peers refuse 8 KiB of headers, and the text is percent-encoded on the way."""


Admit = Callable[[Service, Context], Awaitable[Caller]]
"""Says who calls. Raises Unauthenticated."""


async def with_key(service: Service, context: Context) -> Caller:
    """Whoever holds the key or token that came with the call."""
    return caller_of(service, context.invocation_metadata())


def handlers(
    service: Service,
    contract: ServiceDescriptor,
    methods: Mapping[str, Method],
    calls: Calls,
    admit: Admit = with_key,
) -> grpc.GenericRpcHandler[Any, Any]:
    """gRPC handlers for every call of `contract`; those not in `methods` refuse."""
    unknown = methods.keys() - contract.methods_by_name.keys()
    if unknown:
        raise ValueError(f"{contract.full_name} has no {', '.join(sorted(unknown))}")
    table = {
        name: _handler(service, call, methods.get(name), calls, admit)
        for name, call in contract.methods_by_name.items()
    }
    return grpc.method_handlers_generic_handler(contract.full_name, table)


def status_of(error: BoxdError) -> grpc.StatusCode:
    """The gRPC status of an error: the table is `status` of the error classes, by name."""
    return grpc.StatusCode[error.status]


def credential_in(metadata: Any) -> str:
    """The key or token in a call's metadata; empty without one."""
    for key, value in metadata or ():
        if key == "authorization":
            scheme, _, token = str(value).partition(" ")
            if scheme.lower() == "bearer" and token.strip():
                return token.strip()
    return ""


def caller_of(service: Service, metadata: Any) -> Caller:
    """Who sent this metadata. Raises Unauthenticated."""
    credential = credential_in(metadata)
    if credential:
        return service.authenticate(credential)
    raise Unauthenticated("no API key came with the call; send it as 'authorization: Bearer <key>'")


def _handler(service: Service, call: MethodDescriptor, method: Method | None, calls: Calls, admit: Admit) -> Any:
    answer: Method = method or refusal(call.name)
    streams = inspect.isasyncgenfunction(answer)  # a refusal of a streaming call is not one

    parse = GetMessageClass(call.input_type).FromString

    def read(request: Any) -> Any:
        """The message or messages in what came; nobody's are looked at before they are known to us."""
        return _messages(call.name, parse, request) if call.client_streaming else _message(call.name, parse, request)

    async def single(request: Any, context: Context) -> Any:
        with calls.under_way(call.name, streams=call.client_streaming) as record:
            caller = await _admitted(service, context, record, admit)
            return await answer(service, caller, read(request))

    async def stream(request: Any, context: Context) -> None:
        with calls.under_way(call.name, streams=True) as record:
            caller = await _admitted(service, context, record, admit)
            if streams:
                await _send(context, answer(service, caller, read(request)))
            else:
                await answer(service, caller, read(request))

    async def guarded(request: Any, context: Context) -> Any:
        work = stream if call.server_streaming else single
        rest = request if call.client_streaming else None
        return await _guarded(service, context, call.name, work(request, context), rest)

    kinds = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    make: Callable[..., Any] = kinds[call.client_streaming, call.server_streaming]
    return make(
        guarded,
        request_deserializer=bytes,  # as they came: see `read`
        response_serializer=GetMessageClass(call.output_type).SerializeToString,
    )


def _message(name: str, parse: Callable[[bytes], Any], data: bytes) -> Any:
    """Raises InvalidArgument for bytes that are no such message."""
    try:
        return parse(data)
    except DecodeError:
        raise InvalidArgument(f"what was sent is not a request of {name}; nothing was done") from None


async def _messages(name: str, parse: Callable[[bytes], Any], stream: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    async for data in stream:
        yield _message(name, parse, data)


async def _admitted(service: Service, context: Context, record: Call, admit: Admit) -> Caller:
    try:
        caller = await admit(service, context)
    except Unauthenticated:
        address = address_of(context.peer())
        # A guest could fill the log with what it is refused.
        level = logging.DEBUG if address.startswith(FROM_MACHINE) else logging.INFO
        log.log(level, "refused %s of %s: no valid credential", record.name, address)
        raise
    record.key_id = caller.key_id or caller.machine_id
    return caller


async def _send(context: Context, answers: AsyncIterator[Any]) -> None:
    """Write every answer; each write waits for room, so a slow reader slows the source.

    The source is closed however this ends: a caller who hangs up reaches its `finally` at once.
    """
    async with reading(answers) as source:
        async for answer in source:
            await context.write(answer)


async def _guarded(
    service: Service, context: Context, name: str, work: Awaitable[Any], rest: AsyncIterator[Any] | None
) -> Any:
    """Word what fails, and let the metrics tell it."""
    try:
        return await work
    except BoxdError as error:
        service.count_error(error)
        if rest is not None:
            await swallow(rest)
        await _abort(context, status_of(error), error.message, type(error).__name__)
    except Exception as error:
        if context.done() or isinstance(error, grpc.aio.BaseError):  # a write to a caller who hung up
            log.debug("%s: the caller is gone: %r", name, error)
            raise
        service.count_error(error)
        log.exception("%s failed unexpectedly", name)
        text = f"{name} failed inside the daemon; whether it took effect is unknown, and the daemon's log says why"
        await _abort(context, grpc.StatusCode.INTERNAL, text, "OutcomeUnknown")


async def _abort(context: Context, code: grpc.StatusCode, text: str, kind: str) -> NoReturn:
    await context.abort(code, text[:STATUS_TEXT_LIMIT], ((ERROR_KEY, kind),))
