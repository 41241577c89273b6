"""Reads a cluster into a model: lists of everything that a scheduler looks at, all at once.

Nothing but lists is asked of the server.  A kind that it does not have counts as empty; one that may not be read
too, which is said.  Pods and nodes have to be there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from podium.core.profiles.profile import Profile
from podium.dialects import speaking
from podium.engine.world import World
from podium.errors import ApiError, UsageError
from podium.explain.model import Model
from podium.kube.client import Client
from podium.kube.resources import CRONJOBS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICASETS, Resource
from podium.kube.transport import Request
from podium.runtime.collecting import without_collecting
from podium.runtime.configuration import serving_all

# Between a workload that a user made and its pods, where these kinds are asked about.
BETWEEN = {DEPLOYMENTS: (REPLICASETS,), CRONJOBS: (JOBS,)}

Warn = Callable[[str], None]
Begun = dict[Resource, asyncio.Future[list[msgspec.Raw]]]


def silent(warning: str) -> None:
    """For those who do not want to hear of it."""


async def read_model(
    client: Client,
    profiles: Mapping[str, Profile],
    *,
    also: Iterable[Resource] = (),
    warn: Warn = silent,
    begun: Begun | None = None,
) -> Model:
    """The cluster as it is now.  `also` are kinds that no scheduler looks at, `begun` lists that are under way."""
    lists = begun if begun is not None else {}
    dialects = speaking()
    resources = [*World(dialects).resources, *also]
    listing = asyncio.gather(*(_listed(client, each, warn, lists.pop(each, None)) for each in resources))
    embedded, answers = await asyncio.gather(_is_embedded(client), listing)
    served = serving_all(profiles) if embedded else profiles
    with without_collecting():
        return Model.listed(dict(zip(resources, answers, strict=True)), dialects, served, time.time())


async def _listed(
    client: Client, resource: Resource, warn: Warn, begun: asyncio.Future[list[msgspec.Raw]] | None
) -> list[msgspec.Raw]:
    try:
        return await (begun if begun is not None else client.list_encoded(resource))
    except ApiError as error:
        if error.code == 404:
            return []
        if error.code == 401:
            raise  # nothing else may be read either
        if error.code != 403 or resource in (NODES, PODS):
            raise UsageError(f"{resource.group_resource} cannot be read: {error}") from None
        warn(f"{resource.group_resource} may not be read and count as none: {error}")
        return []


async def _is_embedded(client: Client) -> bool:
    """Whether it is a cluster of `podium up`: there the pods that name no scheduler are podium's as well."""
    response = await client.transport.request(Request("GET", "/version"))
    return response.status == 200 and b"+podium" in response.body
