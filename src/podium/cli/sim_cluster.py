"""Reads a cluster for `podium sim --from-cluster`.  Nothing but lists is asked of it: it is never written to."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from podium.cli.asking import own_cluster
from podium.cli.process import run_connected
from podium.errors import ApiError, UsageError
from podium.kube.client import Client
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.transport import Transport
from podium.sim.snapshot import Snapshot, wanted

Documents = list[dict[str, object]]


def take(kubeconfig: Path | None, context: str | None) -> Snapshot:
    """The cluster that a kubeconfig leads to, as it is now.

    A kind that the server does not have counts as empty, one that may not be read too, which is said; nodes and
    pods have to be there.
    """
    taken: list[Snapshot] = []

    async def read(transport: Transport, stop: asyncio.Event) -> None:
        client = Client(transport)
        found: dict[Resource, Documents] = {}
        for resource in wanted():
            if stop.is_set():
                raise KeyboardInterrupt
            found[resource] = await _listed(client, resource)
        taken.append(Snapshot(float(int(time.time())), found))

    run_connected(kubeconfig or own_cluster(context), context, None, read)
    return taken[0]


async def _listed(client: Client, resource: Resource) -> Documents:
    try:
        return await client.list(resource)
    except ApiError as error:
        if error.code == 404:
            return []
        if error.code not in (401, 403) or resource in (NODES, PODS):
            raise UsageError(f"--from-cluster: {resource.group_resource} cannot be read: {error}") from None
        click.echo(f"podium: {resource.group_resource} may not be read and count as none: {error}", err=True)
        return []
