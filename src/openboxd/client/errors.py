"""What a gRPC status means to the caller: the inverse of the API's table."""

from __future__ import annotations

from typing import Any

import grpc

from openboxd import errors
from openboxd.errors import BoxdError
from openboxd.wire.metadata import ERROR_KEY

BY_STATUS: dict[grpc.StatusCode, type[BoxdError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgument,
    grpc.StatusCode.NOT_FOUND: errors.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: errors.AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: errors.WrongState,
    grpc.StatusCode.ABORTED: errors.Busy,
    grpc.StatusCode.UNAUTHENTICATED: errors.Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.Exhausted,
    grpc.StatusCode.UNIMPLEMENTED: errors.NotSupported,
    grpc.StatusCode.INTERNAL: errors.OperationFailed,
    grpc.StatusCode.UNAVAILABLE: errors.Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.OutcomeUnknown,
    grpc.StatusCode.CANCELLED: errors.Interrupted,
}


def error_of(error: grpc.aio.AioRpcError, url: str) -> BoxdError:
    """The error of openboxd that stands for a gRPC one."""
    kind = named_class(error.trailing_metadata())
    details = error.details() or error.code().name
    if kind is not None:
        return kind(details)
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        return errors.OutcomeUnknown(
            f"the connection to the boxd daemon at {url} broke; whether the call took effect is unknown: "
            "look at the machine before you repeat it"
        )
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.OutcomeUnknown(
            f"the boxd daemon at {url} did not answer in time; what was asked may still happen: "
            "look at the machine before you repeat it"
        )
    return BY_STATUS.get(error.code(), errors.OutcomeUnknown)(details)


def unreachable(url: str) -> errors.Unavailable:
    """Nothing answers there; nothing was sent."""
    return errors.Unavailable(
        f"the boxd daemon at {url} does not answer; start it with 'boxd daemon run', "
        "or set BOXD_BASE_URL if it is elsewhere"
    )


def named_class(metadata: Any) -> type[BoxdError] | None:
    """The class that the daemon named, if it did and we know it."""
    for key, value in metadata or ():
        if key == ERROR_KEY:
            found = getattr(errors, str(value), None)
            if isinstance(found, type) and issubclass(found, BoxdError):
                return found
    return None
