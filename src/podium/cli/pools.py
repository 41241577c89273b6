"""`podium pools`: what the pools of a cluster have, and who uses it.

It is counted from the cluster's own objects, as the scheduler counts: it works whether a scheduler runs or not,
and the Default pool, which has no object, is among them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import asyncio

    from podium.cli.pools_table import Pool
    from podium.kube.transport import Transport

_SECONDS = 2.0  # between two looks with --watch


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="How to reach the API server.")
@click.option("--context", metavar="NAME", help="The kubeconfig's context to use.")
@click.option("-n", "--namespace", metavar="NAME", help="Without effect: pools belong to no namespace.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Without effect, as above.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json", "yaml", "name"]),
    default="table",
    show_default=True,
    help="wide: with what is borrowed, and what other schedulers' pods have.",
)
@click.option("-w", "--watch", is_flag=True, help="Again and again, when something has changed.")
def pools(
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    all_namespaces: bool,
    output: str,
    watch: bool,
) -> None:
    """What each pool of nodes has, who uses it, and what waits for it.

    CPU counts in thousandths of a core, memory and storage in bytes.  p, b and s say whether a pool preempts,
    borrows and shares.
    """
    import asyncio

    from podium.cli.asking import own_cluster
    from podium.cli.pools_table import printed
    from podium.cli.process import run_connected

    async def show(transport: Transport, stop: asyncio.Event) -> None:
        last = ""
        while not stop.is_set():
            text = printed(await _counted(transport), output)
            if text != last:
                click.echo(text)
            last = text
            if not watch:
                return
            try:
                await asyncio.wait_for(stop.wait(), _SECONDS)
            except TimeoutError:
                continue

    run_connected(kubeconfig or own_cluster(context), context, None, show)


async def _counted(transport: Transport) -> list[Pool]:
    """All queues that own nodes, as they stand."""
    import msgspec

    from podium.cli.pools_table import Pool
    from podium.dialects import speaking
    from podium.engine.world import World
    from podium.errors import ApiError
    from podium.kube.client import Client
    from podium.kube.resources import NODES, PODS
    from podium.kube.wire import struct_of
    from podium.runtime.configuration import default_profiles

    world = World(speaking())
    profiles = default_profiles()
    world.serve(profiles)
    world.reports.serve(profiles)
    client = Client(transport)
    owning = {resource: kind for resource, kind in world.queues.items() if kind.ownership is not None}
    for resource in (*owning, *world.groups, NODES, PODS):
        try:
            found = await client.list_encoded(resource)
        except ApiError as error:
            if error.code == 404 and resource not in (NODES, PODS):
                continue  # the server does not have the kind: there are none
            raise
        decoder = msgspec.json.Decoder(world.views.get(resource) or struct_of(resource))
        for encoded in found:
            world.observe(resource, decoder.decode(encoded))
    world.settle()
    reports, owners = world.reports.all(), world.queue_objects.owning
    pools = [Pool(queue, reports[id]) for id, queue in world.cluster.queues.items() if queue.dialect in owners]
    return sorted(pools, key=lambda each: (not each.queue.owns_rest, each.queue.name))
