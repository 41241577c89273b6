"""`podium up`: an embedded cluster in the foreground, until Ctrl-C or `podium down`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.amounts import counted
from podium.cli.dashboard import up_options
from podium.cli.log_format import log_format_option
from podium.cli.options import WholeNumber, data_dir_option

if TYPE_CHECKING:
    from podium.cli.clusters import NamedCluster
    from podium.embedded.cluster import EmbeddedCluster

DEFAULT_PORT = 6443
START_SECONDS = 60.0


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
@up_options
@click.option(
    "--scheduler",
    type=click.Choice(["podium", "none"]),
    default="podium",
    show_default=True,
    help="Who places pods: podium inside the cluster, or somebody else beside it.",
)
@click.option(
    "--controllers",
    type=click.Choice(["podium", "none"]),
    default="podium",
    show_default=True,
    help="Who keeps the objects of the API families in order; those of Kubernetes itself are always there.",
)
@data_dir_option
@click.option("--in-memory", is_flag=True, help="Keep nothing: state and kubeconfig end with the cluster.")
@click.option(
    "--name",
    metavar="NAME",
    help="One of several clusters on this machine: a directory and a context, podium-NAME, of its own.",
)
@click.option("-d", "--detach", is_flag=True, help="Leave it running in the background when it is ready.")
@click.option(
    "--merge-kubeconfig",
    is_flag=True,
    help="Also add it as a context to the kubeconfig that kubectl uses: $KUBECONFIG, or ~/.kube/config.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log what the cluster does.")
@log_format_option
@click.pass_context
def up(
    ctx: click.Context,
    nodes: int | None,
    nodes_file: Path | None,
    gpus_per_node: int,
    simulate_nodes: str,
    port: int,
    config: Path | None,
    dashboard: bool,
    dashboard_port: int | None,
    scheduler: str,
    controllers: str,
    data_dir: Path | None,
    in_memory: bool,
    name: str | None,
    detach: bool,
    merge_kubeconfig: bool,
    verbose: bool,
    log_format: str,
) -> None:
    """Start a Kubernetes API server with simulated nodes in this process.

    It prints the path of a kubeconfig to use with kubectl.  Ctrl-C stops it, and with -d `podium down` does; the
    next `podium up` on the same data directory continues where it was.
    """
    import asyncio
    from contextlib import AsyncExitStack

    from podium.cli.cluster import cluster_settings, follow_configuration
    from podium.cli.clusters import cluster_of, last_port
    from podium.cli.dashboard import beside_cluster
    from podium.cli.detaching import start, words_of
    from podium.cli.exits import DONE, FAILED
    from podium.cli.running import first_of, run_cluster, set_up_logging
    from podium.embedded.nodes.nodes_file import check_given, read_shapes
    from podium.embedded.nodes.shapes import Shape
    from podium.errors import UsageError, why_unreadable
    from podium.runtime.measuring import Stopwatch
    from podium.runtime.reloading import Configuration

    if in_memory and (data_dir is not None or name is not None or detach):
        other = "--data-dir" if data_dir is not None else "--name" if name is not None else "--detach"
        raise UsageError(f"--in-memory and {other} exclude each other")
    known = cluster_of(name, data_dir)
    if name is not None and ctx.get_parameter_source("port") is not click.core.ParameterSource.COMMANDLINE:
        port = last_port(known.directory)  # several clusters cannot all have the default one
    if nodes_file is not None and (nodes is not None or gpus_per_node):
        raise UsageError(
            "--nodes-file says how many nodes there are and what they have: leave out the other flags"
        )
    if nodes_file is not None:
        try:
            text = nodes_file.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--nodes-file: {nodes_file} cannot be read: {why_unreadable(error)}") from None
        shapes = read_shapes(text, str(nodes_file))
    else:
        shapes = [Shape(count=1 if nodes is None else nodes, gpus=gpus_per_node)]
        check_given(shapes[0], "--nodes")
    asked = sum(shape.count for shape in shapes)
    if detach:
        pid = start(words_of(ctx, without=("detach", "merge_kubeconfig")), known.directory, START_SECONDS)
        _greet_detached(known, pid, asked, merge=merge_kubeconfig, dashboard=dashboard)
        return
    set_up_logging(verbose, log_format)
    configuration = Configuration(config, alone=True)
    watch = Stopwatch() if dashboard else None
    settings = cluster_settings(
        configuration,
        watch,
        scheduler=scheduler != "none",
        controllers=controllers != "none",
        port=port,
        nodes=tuple(shapes),
        only_own_nodes=simulate_nodes == "own",
        data_dir=known.directory.path,
        in_memory=in_memory,
        name=known.name,
    )

    async def work(cluster: EmbeddedCluster, stop: asyncio.Event) -> int:
        async with AsyncExitStack() as stack:
            _greet(cluster, asked)
            if merge_kubeconfig:
                _merge(cluster.kubeconfig)
            if watch is not None:
                served = await stack.enter_async_context(beside_cluster(settings, watch, dashboard_port, cluster))
                click.echo(f"dashboard: {served.login_url}")
            click.echo("Ctrl-C stops it")
            following = asyncio.create_task(follow_configuration(configuration, settings, cluster))
            await first_of(stop, cluster.failed)
            following.cancel()
        return FAILED if cluster.failed.is_set() else DONE

    ctx.exit(run_cluster(settings, work))


def _greet(cluster: EmbeddedCluster, asked: int) -> None:
    nodes = _counted(cluster.node_count, asked, "simulated node")
    click.echo(f"the cluster is ready: {nodes}, API at {cluster.url}")
    click.echo(f"kubeconfig: {cluster.kubeconfig}")
    click.echo(f"try: kubectl --kubeconfig {cluster.kubeconfig} get nodes")


def _counted(found: int, asked: int, what: str) -> str:
    """How many nodes there are, and that some of them were not asked for this time."""
    more = f" (more than {asked}: others are there from before)" if found > asked else ""
    return counted(found, what) + more


def _greet_detached(known: NamedCluster, pid: int, asked: int, *, merge: bool, dashboard: bool) -> None:
    from podium.cli.clusters import DEFAULT, look
    from podium.cli.dashboard import address_of

    status = look(known)
    flag = "" if known.name == DEFAULT else f" --name {known.name.removeprefix(f'{DEFAULT}-')}"
    nodes = _counted(status.nodes or 0, asked, "node")
    click.echo(f"the cluster is ready in the background (pid {pid}): {nodes}, API at {status.server}")
    click.echo(f"kubeconfig: {status.kubeconfig}")
    if merge:
        _merge(known.directory.kubeconfig)
    if dashboard and (pages := address_of(known.directory)):
        click.echo(f"dashboard: {pages}")
    click.echo(f"`podium status` shows it, `podium down{flag}` stops it")


def _merge(kubeconfig: Path) -> None:
    from podium.kube.kubeconfig_merging import merge_kubeconfig, usual_file

    target = usual_file()
    context = merge_kubeconfig(kubeconfig, target)
    click.echo(f"context {context} is in {target}: kubectl --context {context} get nodes")
