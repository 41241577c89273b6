"""`podium logs`: what the pods of a workload have printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, of_a_cluster
from podium.cli.options import WholeNumber

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@click.argument("what", metavar="KIND/NAME")
@of_a_cluster
@click.option("-f", "--follow", is_flag=True, help="Go on until the pods end; lines of several come as they are.")
@click.option("-c", "--container", default="", metavar="NAME", help="Which container, where pods have several.")
@click.option(
    "--tail", type=WholeNumber(min=0), default=None, metavar="N", help="Only the last N lines of each pod."
)
@click.option("--prefix", is_flag=True, help="Begin each line with the pod's name; so it is for several pods.")
def logs(asked: Asked, what: str, follow: bool, container: str, tail: int | None, prefix: bool) -> None:
    """Print the logs of a pod, or of all pods of a job or group."""

    async def work(client: AsyncClient) -> None:
        several = prefix or not what.startswith(("po/", "pod/", "pods/"))
        async for pod, line in client.logs(what, follow=follow, container=container, tail=tail):
            click.echo(f"[{pod}] {line}" if several else line)

    asked.ask(work)
