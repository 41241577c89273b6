"""Answers that clients keep: each has a tag, and who shows the tag again is spared the body.

kubectl keeps discovery and OpenAPI documents on disk and asks with their tags whether they are still good.
"""

from __future__ import annotations

import hashlib

from podium.kube.transport import Response


def tagged(body: bytes, content_type: str) -> Response:
    """An answer that may be kept, as one of the forms between which the Accept header decides."""
    tag = f'"{hashlib.sha256(body).hexdigest()}"'
    return Response(200, body, content_type, (("Vary", "Accept"), ("ETag", tag)))


def unless_known(response: Response, if_none_match: str) -> Response:
    """The answer itself, or 304 when the request's If-None-Match header says that the client has it."""
    tag = response.header("ETag")
    known = {each.strip().removeprefix("W/") for each in if_none_match.split(",")}
    if not tag or (tag not in known and "*" not in known):
        return response
    return Response(304, b"", content_type="", headers=response.headers)
