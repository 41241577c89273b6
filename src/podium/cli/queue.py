"""`podium queue`: who runs and who waits, where or why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import (
    Asked,
    Look,
    all_namespaces_option,
    config_option,
    dashboard_option,
    of_a_cluster,
    output_option,
    printed,
    watch_option,
)

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@of_a_cluster
@all_namespaces_option
@click.option("-q", "--queue", "name", default="", metavar="NAME", help="Only this queue.")
@click.option("--state", type=click.Choice(["R", "PD"]), default=None, help="Only what runs, or what waits.")
@output_option("wide", "json", "yaml", "name")
@watch_option
@config_option
@dashboard_option
def queue(
    asked: Asked, all_namespaces: bool, name: str, state: str | None, output: str | None, watch: bool
) -> None:
    """List workloads as squeue does: who runs where, who waits, at which place in line and why.

    Below are the queues: GPUs held against what each deserves, and how many run and wait.
    """
    import time

    from podium.cli.printing import terminal_width
    from podium.cli.tables import queue_answer
    from podium.errors import UsageError
    from podium.explain.answers import QueueList

    async def read(client: AsyncClient) -> QueueList:
        return await client.queue("" if all_namespaces else asked.namespace or client.namespace)

    def show(found: QueueList) -> str:
        names = sorted(each.name for each in found.queues)
        if name and name not in names:
            raise UsageError(f"--queue {name}: there is no such queue; there are {', '.join(names) or 'none'}")
        return queue_answer(
            found, output, time.time(), terminal_width(), queue=name, state=state, with_namespace=all_namespaces
        )

    query: dict[str, str] = {} if all_namespaces else {"namespace": ""}
    printed(asked, Look("queue", QueueList, query, read), show, watch=watch)
