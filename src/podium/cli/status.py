"""`podium status`: the clusters of `podium up` on this machine."""

from __future__ import annotations

import click

from podium.cli.asking import output_option


@click.command()
@click.option("--name", default="", metavar="NAME", help="Only the cluster of this name.")
@output_option("json", "yaml", "name")
@click.pass_context
def status(ctx: click.Context, name: str, output: str | None) -> None:
    """List the clusters of this machine: which run, where, and what they hold.

    Ends with 1 if the cluster that was asked for does not run.
    """
    from podium.cli.clusters import known_clusters, look
    from podium.cli.exits import DONE, FAILED
    from podium.cli.printing import columns, encoded

    found = [look(each) for each in known_clusters() if not name or each.name == name]
    if output in ("json", "yaml"):
        click.echo(encoded(found, output))
    elif output == "name":
        click.echo("\n".join(each.name for each in found))
    elif not found:
        click.echo(
            f"there is no cluster named {name}" if name else "no cluster has been started: try `podium up -d`"
        )
    else:
        rows = [
            [
                each.name,
                each.state,
                str(each.pid or "-"),
                each.server or "-",
                str(each.nodes) if each.nodes is not None else "-",
                str(each.pods) if each.pods is not None else "-",
                each.kubeconfig,
            ]
            for each in found
        ]
        click.echo(columns(("NAME", "STATE", "PID", "API", "NODES", "PODS", "KUBECONFIG"), rows))
        for each in found:
            if each.dashboard:
                click.echo(f"dashboard of {each.name}: {each.dashboard}")
    running = any(each.state == "running" for each in found)
    ctx.exit(DONE if running or not name else FAILED)
