"""`podium nodes`: what nodes there are, and what of them is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, config_option, of_a_cluster, output_option, printed, watch_option

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@of_a_cluster
@output_option("wide", "json", "yaml", "name")
@watch_option
@config_option
def nodes(asked: Asked, output: str | None, watch: bool) -> None:
    """List nodes as sinfo does: grouped by state and GPUs; with -o wide each by itself.

    idle: nothing is in use; mix: some is; alloc: all GPUs are (or, without GPUs, all CPUs); drain: closed for new
    pods; down: not ready.
    """
    from podium.cli.printing import terminal_width
    from podium.cli.tables import nodes_answer

    async def work(client: AsyncClient) -> str:
        return nodes_answer(await client.nodes(), output, terminal_width())

    printed(asked, work, watch=watch)
