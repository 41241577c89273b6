"""`podium demo`: a cluster that lives for a minute, and what it runs in that minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.options import Number

if TYPE_CHECKING:
    import asyncio

    from podium.embedded.cluster import EmbeddedCluster

NODES = 4
GPUS = 8
_LOOK_AGAIN = 0.2


@click.command()
@click.option(
    "--timeout",
    type=Number(min=0),
    default=120.0,
    show_default=True,
    help="Seconds to wait for everything to end.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log what the cluster does.")
@click.pass_context
def demo(ctx: click.Context, timeout: float, verbose: bool) -> None:
    """Start a cluster of simulated nodes, run the examples on it and show what becomes of them.

    Nothing is left behind.
    """
    from podium.cli.cluster import cluster_settings
    from podium.cli.running import run_cluster, set_up_logging
    from podium.embedded.nodes.shapes import Shape

    set_up_logging(verbose)

    async def work(cluster: EmbeddedCluster, stop: asyncio.Event) -> int:
        return await _tour(cluster, stop, timeout)

    settings = cluster_settings(nodes=(Shape(count=NODES, gpus=GPUS),), in_memory=True)
    ctx.exit(run_cluster(settings, work))


async def _tour(cluster: EmbeddedCluster, stop: asyncio.Event, timeout: float) -> int:
    """Creates the examples and follows them to their end.  Returns the exit code."""
    import asyncio
    import time

    from podium.cli.examples import tour
    from podium.cli.exits import DONE, FAILED, TIMED_OUT
    from podium.cli.progress import Display, observe
    from podium.dialects.dialect import State
    from podium.kube.client import Client

    client = Client(cluster.transport)
    click.echo(f"a cluster of {cluster.node_count} simulated nodes with {GPUS} GPUs each runs at {cluster.url}")
    workloads = []
    for document in tour():
        group, _, version = document["apiVersion"].rpartition("/")
        resource = (await client.find(".".join(filter(None, (document["kind"], version, group)))))[0]
        await client.create(resource, "default", document)
        workloads.append((resource, document["metadata"]["name"]))
    deadline = time.monotonic() + timeout
    with Display() as display:
        while True:
            picture = await observe(client, workloads)
            display.show(picture)
            if all(workload.state is not State.GOING for workload in picture.workloads):
                break
            if stop.is_set() or cluster.failed.is_set() or time.monotonic() > deadline:
                break
            await asyncio.sleep(_LOOK_AGAIN)
    display.summarise(picture)
    if stop.is_set() or cluster.failed.is_set() or any(each.state is State.FAILED for each in picture.workloads):
        return FAILED
    if any(workload.state is State.GOING for workload in picture.workloads):
        click.echo(f"podium: not everything came to its end within {timeout:g} seconds", err=True)
        return TIMED_OUT
    return DONE
