"""Who may see the metrics where others can ask for them: the API server says.

Whoever asks shows a token, as clients of the API server do.  The server is asked whose it is (TokenReview), and
whether that user may get /metrics (SubjectAccessReview): the role that monitoring systems have anyway.  Answers
are kept for a minute, refusals for some seconds, and only a few questions are under way at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from podium.errors import ApiError, PodiumError
from podium.kube.client import Client
from podium.kube.resources import Resource
from podium.kube.rights import Right
from podium.kube.transport import Transport

Document = dict[str, Any]

TOKENREVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESSREVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
RIGHTS = (Right(TOKENREVIEWS, ("create",)), Right(ACCESSREVIEWS, ("create",)))

_ALLOWED_SECONDS = 60.0
_REFUSED_SECONDS = 5.0
_REMEMBERED = 64
_AT_ONCE = 4


class Refused(msgspec.Struct, frozen=True):
    """Why somebody does not get to see them, as HTTP says it."""

    status: int
    why: str


# From the token that was shown ("" for none) to why not; None when the figures may be seen.
Access = Callable[[str], Awaitable[Refused | None]]

_NO_TOKEN = Refused(401, "metrics are for whom the API server knows: send its token as Authorization: Bearer")


class ReviewedAccess:
    """Asks the API server, and remembers the answer for a while."""

    def __init__(self, transport: Transport, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = Client(transport)
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[float, Refused | None]] = OrderedDict()
        self._asking = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, token: str) -> Refused | None:
        if not token:
            return _NO_TOKEN
        key = hashlib.sha256(token.encode()).digest()  # no token stays in memory
        async with self._asking:
            until, answer = self._known.get(key, (0.0, None))
            if self._clock() < until:
                return answer
            try:
                answer = await self._ask(token)
            except PodiumError as error:
                reason = "is not allowed to say" if isinstance(error, ApiError) else "does not say"
                return Refused(503, f"the API server {reason} who this is: {error}")
            seconds = _ALLOWED_SECONDS if answer is None else _REFUSED_SECONDS
            self._known[key] = self._clock() + seconds, answer
            self._known.move_to_end(key)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return answer

    async def _ask(self, token: str) -> Refused | None:
        review = await self._create(TOKENREVIEWS, {"token": token})
        if not review.get("authenticated"):
            return Refused(401, "the API server does not know this token")
        user: Document = review.get("user") or {}
        spec = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
        if (await self._create(ACCESSREVIEWS, spec)).get("allowed"):
            return None
        return Refused(403, f"{spec['user']} may not get /metrics: a ClusterRole with nonResourceURLs grants it")

    async def _create(self, resource: Resource, spec: Document) -> Document:
        document = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        answer = await self._client.create(resource, "", document)
        status = answer.get("status")
        return status if isinstance(status, dict) else {}
