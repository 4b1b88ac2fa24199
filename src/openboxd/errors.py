"""Every error that leaves boxd, one class per kind of refusal or failure.

An error is one sentence for people: what happened, to which machine, what state it is in now, what to do. The
same text is the gRPC status message and, after `error: `, the line the CLI prints. `status` is the name of the
gRPC status, `exit_status` what the CLI exits with; the tables in `api` and `cli` are derived from these.
"""

from __future__ import annotations


class BoxdError(Exception):
    """Base of all errors that carry a sentence for the user."""

    status = "INTERNAL"
    exit_status = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidArgument(BoxdError):
    """The request itself is wrong; nothing was looked up."""

    status = "INVALID_ARGUMENT"


class NotFound(BoxdError):
    """No such machine, checkpoint, image, file or key (or not visible to the caller)."""

    status = "NOT_FOUND"


class AlreadyExists(BoxdError):
    """The name is in use; what uses it was not changed."""

    status = "ALREADY_EXISTS"


class WrongState(BoxdError):
    """The thing exists but is in a state that does not allow this, or a limit or lack of space forbids it."""

    status = "FAILED_PRECONDITION"


class Busy(BoxdError):
    """Another operation runs on the machine."""

    status = "ABORTED"


class Interrupted(BoxdError):
    """A stream was cut because the machine was restored, stopped or lost meanwhile."""

    status = "ABORTED"


class Unauthenticated(BoxdError):
    """No valid credential came with the call."""

    status = "UNAUTHENTICATED"


class PermissionDenied(BoxdError):
    """The caller may not do this."""

    status = "PERMISSION_DENIED"


class Exhausted(BoxdError):
    """A quota or rate limit is reached."""

    status = "RESOURCE_EXHAUSTED"


class NotSupported(BoxdError):
    """The service does not offer this (yet)."""

    status = "UNIMPLEMENTED"


class Unavailable(BoxdError):
    """Nothing was applied; the same call may be tried again."""

    status = "UNAVAILABLE"


class OperationFailed(BoxdError):
    """An operation failed and was taken back: the machine is as it was."""


class MachineLost(BoxdError):
    """The machine's run is gone; its disk and checkpoints are intact."""


class AgentSilent(BoxdError):
    """What was asked for has happened and the machine runs, but its agent does not answer."""


class OutcomeUnknown(BoxdError):
    """The operation broke off and nobody can say how far it came."""


class HostUnfit(BoxdError):
    """The host lacks something (QEMU too old, no pool, no image); the message names the remedy."""

    status = "FAILED_PRECONDITION"


def machine_not_found(ref: str) -> NotFound:
    """The hosted service's exact wording for an unknown machine."""
    return NotFound(f"VM '{ref}' not found")


def checkpoint_not_found(name: str, machine: str) -> NotFound:
    """The wording for an unknown checkpoint of a known machine."""
    return NotFound(f"checkpoint '{name}' not found on machine '{machine}'")


def snapshot_not_found() -> NotFound:
    """The hosted service's exact wording for an unknown snapshot."""
    return NotFound("snapshot not found")


def because(error: BaseException) -> str:
    """A cause as a clause for a sentence: no class names, no paths of the data directory."""
    if isinstance(error, BoxdError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def same_kind(error: BaseException, message: str) -> BoxdError:
    """An error of the same class with a fuller sentence; anything unexpected becomes OperationFailed."""
    return type(error)(message) if isinstance(error, BoxdError) else OperationFailed(message)
