"""Every exception podium raises on purpose.

    PodiumError
    ├── UsageError          what the user typed or wrote is wrong; the sentence says what and where
    ├── StorageError        the data directory is locked, damaged or from a newer podium
    ├── LeadershipLostError another process may be leading: this one must not write for now
    ├── TransportError      no answer came: refused, reset, timed out; the outcome of a write is unknown
    └── ApiError            a Kubernetes API server answered with a Status other than success

Exceptions are for bugs and for a broken outside.  A full cluster, an unschedulable pod or a lost race for a
binding is an ordinary value, never an exception that crosses a room's border.
"""

from __future__ import annotations

from typing import Any


class PodiumError(Exception):
    """The root of the tree: catching it means "anything podium said on purpose"."""


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a file could not be read as text, in words for whoever named it."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "it is no UTF-8 text"


class UsageError(PodiumError):
    """A command, flag or file of the user's is wrong.  The message is one sentence for that user."""


class StorageError(PodiumError):
    """The embedded cluster's files cannot be used.  Nothing was changed."""


class LeadershipLostError(PodiumError):
    """The lease was lost, or could not be renewed in time."""


class TransportError(PodiumError):
    """No answer from the API server.  A write may or may not have happened."""


class ApiError(PodiumError):
    """An answer of an API server that is not success, as its Status says it.

    Both sides use it: the embedded server's handlers raise it and the shell encodes it; the client decodes a
    Status and raises it.  `kube.status` builds the usual ones.
    """

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}

    def __str__(self) -> str:
        return self.message
