"""`podium demo`: a cluster that lives for a minute, and what it runs in that minute."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import click

from podium.cli.options import Number

if TYPE_CHECKING:
    import asyncio

    from podium.cli.story import Scene
    from podium.embedded.cluster import EmbeddedCluster
    from podium.kube.client import Client
    from podium.kube.resources import Resource

TEAMS = ("vision", "speech")
NODES_A_TEAM = 4
GPUS = 8
_LOOK_AGAIN = 0.2

_NEXT = (
    ("{podium} up --nodes 8 --gpus-per-node 8", "a cluster of your own; kubectl works with it"),
    ("{podium} sim compare --help", "what would another policy do to whom?"),
    ("docs/quick-start.md", "a gang that waits, says why, and starts"),
)


@click.command()
@click.option(
    "--timeout",
    type=Number(min=0),
    default=120.0,
    show_default=True,
    help="Seconds to wait for everything to end.",
)
@click.option("--examples", is_flag=True, help="Run the examples of every API instead, all at once.")
@click.option("-v", "--verbose", is_flag=True, help="Log what the cluster does.")
@click.pass_context
def demo(ctx: click.Context, timeout: float, examples: bool, verbose: bool) -> None:
    """Start a cluster of simulated nodes, and let workloads of every API compete for its GPUs.

    It shows live who has what and who waits for what, and ends with a summary.  Nothing is left behind.
    """
    from podium.cli.cluster import cluster_settings
    from podium.cli.running import run_cluster, set_up_logging
    from podium.cli.story import story, tour
    from podium.embedded.nodes.shapes import Shape

    set_up_logging(verbose)

    async def work(cluster: EmbeddedCluster, stop: asyncio.Event) -> int:
        return await _play(cluster, stop, tour() if examples else story(), timeout)

    # Half of the nodes belongs to one team, half to the other, for those who mind.
    nodes = tuple(Shape(name=team, count=NODES_A_TEAM, gpus=GPUS, labels={"team": team}) for team in TEAMS)
    settings = cluster_settings(nodes=nodes, in_memory=True)
    ctx.exit(run_cluster(settings, work))


async def _play(cluster: EmbeddedCluster, stop: asyncio.Event, scenes: list[Scene], timeout: float) -> int:
    """Creates the objects of the story, each at its time, and follows them to their end: the exit code."""
    import asyncio
    import time

    from podium.cli.chronicle import Chronicle
    from podium.cli.display import Display
    from podium.cli.exits import DONE, FAILED, TIMED_OUT
    from podium.cli.progress import observe
    from podium.dialects.dialect import State
    from podium.kube.client import Client

    client, chronicle = Client(cluster.transport), Chronicle()
    click.echo(f"a cluster of {cluster.node_count} simulated nodes with {GPUS} GPUs each runs at {cluster.url}")
    workloads: list[tuple[Resource, str]] = []
    begun = time.monotonic()
    with Display(dict.fromkeys(await _nodes(client), GPUS)) as display:
        while True:
            seconds = time.monotonic() - begun
            while scenes and scenes[0].at <= seconds:
                scene = scenes.pop(0)
                if scene.says:
                    display.say(seconds, scene.says)
                created = await _create(client, scene.document)
                if created is not None:
                    workloads.append(created)
            picture = await observe(client, workloads)
            chronicle.note(picture, seconds)
            display.show(picture, seconds)
            going = any(workload.state is State.GOING for workload in picture.workloads)
            if not scenes and not going:
                break
            if stop.is_set() or cluster.failed.is_set() or seconds > timeout:
                break
            await asyncio.sleep(_LOOK_AGAIN)
    if stop.is_set():
        click.echo("stopped before the end; nothing of it is left")
    display.summarise(chronicle, _next(sys.argv[0]))
    states = [entry.workload.state for entry in chronicle.entries.values()]
    if stop.is_set() or cluster.failed.is_set() or State.FAILED in states:
        return FAILED
    if scenes or State.GOING in states:
        click.echo(f"podium: not everything came to its end within {timeout:g} seconds", err=True)
        return TIMED_OUT
    return DONE


def _next(program: str) -> list[str]:
    """What to try next, with the program as it was called: in a clone it is not on the PATH."""
    short = Path(program).name == "podium" and (which("podium") or "") != program
    lines = [(what.format(podium=program if short else "podium"), why) for what, why in _NEXT]
    width = max(len(what) for what, _ in lines)
    return ["", "to try next:", *(f"  {what.ljust(width)}   {why}" for what, why in lines)]


async def _nodes(client: Client) -> list[str]:
    from podium.kube.resources import NODES as NODES_RESOURCE

    return [node["metadata"]["name"] for node in await client.list(NODES_RESOURCE, "")]


async def _create(client: Client, document: dict[str, Any]) -> tuple[Resource, str] | None:
    """Creates an object; what is to be followed of it: it has to come to an end somewhere."""
    from podium.dialects import speaking
    from podium.kube.resources import DEPLOYMENTS, JOBS

    group, _, version = document["apiVersion"].rpartition("/")
    kind = document["kind"]
    resource = (await client.find(f"{kind}.{version}.{group}" if group else kind))[0]
    await client.create(resource, "default" if resource.namespaced else "", document)
    followed = {JOBS, DEPLOYMENTS, *(each for dialect in speaking() for each in dialect.progress)}
    return (resource, document["metadata"]["name"]) if resource in followed else None
