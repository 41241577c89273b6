"""`podium up`: an embedded cluster in the foreground, until Ctrl-C or `podium down`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.cli.options import WholeNumber, data_dir_option

if TYPE_CHECKING:
    from podium.embedded.cluster import EmbeddedCluster

DEFAULT_PORT = 6443


@click.command()
@click.option(
    "--nodes",
    type=WholeNumber(min=0),
    metavar="N",
    help="Simulated nodes node-000, node-001 ...; those that exist already stay as they are.  [default: 1]",
)
@click.option(
    "--nodes-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Simulated nodes as a YAML file describes them: a list of groups with name, count, cpu, memory, gpus ...",
)
@click.option("--gpus-per-node", type=WholeNumber(min=0), default=0, metavar="G", help="GPUs of each of N nodes.")
@click.option(
    "--simulate-nodes",
    type=click.Choice(["all", "own"]),
    default="all",
    show_default=True,
    help="Whose kubelet podium plays: that of all nodes, or of those of --nodes and --nodes-file only.  "
    'The annotation podium.dev/simulated: "true" or "false" on a Node says otherwise for that one.',
)
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of the API server on 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The scheduler's configuration, as for `podium scheduler`.",
)
@data_dir_option
@click.option("--in-memory", is_flag=True, help="Keep nothing: state and kubeconfig end with the cluster.")
@click.option("-v", "--verbose", is_flag=True, help="Log what the cluster does.")
@click.pass_context
def up(
    ctx: click.Context,
    nodes: int | None,
    nodes_file: Path | None,
    gpus_per_node: int,
    simulate_nodes: str,
    port: int,
    config: Path | None,
    data_dir: Path | None,
    in_memory: bool,
    verbose: bool,
) -> None:
    """Start a Kubernetes API server with simulated nodes in this process.

    It prints the path of a kubeconfig to use with kubectl.  Ctrl-C stops it; the next `podium up` on the same data
    directory continues where it was.
    """
    import asyncio

    from podium.cli.cluster import cluster_settings, follow_configuration
    from podium.cli.exits import DONE, FAILED
    from podium.cli.running import first_of, run_cluster, set_up_logging
    from podium.embedded.nodes.nodes_file import check_given, read_shapes
    from podium.embedded.nodes.shapes import Shape
    from podium.errors import UsageError
    from podium.runtime.reloading import Configuration

    if in_memory and data_dir is not None:
        raise UsageError("--in-memory and --data-dir exclude each other")
    if nodes_file is not None and (nodes is not None or gpus_per_node):
        raise UsageError(
            "--nodes-file says how many nodes there are and what they have: leave out the other flags"
        )
    if nodes_file is not None:
        shapes = read_shapes(nodes_file.read_text(), str(nodes_file))
    else:
        shapes = [Shape(count=1 if nodes is None else nodes, gpus=gpus_per_node)]
        check_given(shapes[0], "--nodes")
    set_up_logging(verbose)
    configuration = Configuration(config, alone=True)
    settings = cluster_settings(
        configuration,
        port=port,
        nodes=tuple(shapes),
        only_own_nodes=simulate_nodes == "own",
        data_dir=data_dir,
        in_memory=in_memory,
    )

    async def work(cluster: EmbeddedCluster, stop: asyncio.Event) -> int:
        _greet(cluster)
        following = asyncio.create_task(follow_configuration(configuration, settings, cluster))
        await first_of(stop, cluster.failed)
        following.cancel()
        return FAILED if cluster.failed.is_set() else DONE

    ctx.exit(run_cluster(settings, work))


def _greet(cluster: EmbeddedCluster) -> None:
    count = cluster.node_count
    click.echo(f"the cluster is ready: {count} simulated node{'' if count == 1 else 's'}, API at {cluster.url}")
    click.echo(f"kubeconfig: {cluster.kubeconfig}")
    click.echo(f"try: kubectl --kubeconfig {cluster.kubeconfig} get nodes")
    click.echo("Ctrl-C stops it")
