"""`podium vc pod`: list."""

from __future__ import annotations

import click

from podium.cli.options import Commands
from podium.cli.vc.target import Target, of_a_cluster


@click.group(cls=Commands)
def pod() -> None:
    """Pods of jobs and queues."""


@pod.command(name="list")
@click.option(
    "-n", "--namespace", default="default", show_default=True, metavar="NAME", help="The pods' namespace."
)
@click.option("-A", "--all-namespaces", is_flag=True, help="The pods of all namespaces.")
@click.option("-j", "--job", default="", metavar="NAME", help="Only those of this job.")
@click.option("-q", "--queue", default="", metavar="NAME", help="Only those of this queue, whoever made them.")
@of_a_cluster
def list_command(target: Target, namespace: str, all_namespaces: bool, job: str, queue: str) -> None:
    """List the pods of jobs."""
    from podium.cli.vc import calls
    from podium.cli.vc.tables import pod_table

    where = "" if all_namespaces else namespace
    pods = target.ask(lambda client: calls.list_pods(client, where, job=job, queue=queue))
    click.echo(pod_table(pods, all_namespaces))
