"""`podium nodes`: what nodes there are, and what of them is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import (
    Asked,
    Look,
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
@output_option("wide", "json", "yaml", "name")
@watch_option
@config_option
@dashboard_option
def nodes(asked: Asked, output: str | None, watch: bool) -> None:
    """List nodes as sinfo does: grouped by state and GPUs; with -o wide each by itself.

    idle: nothing is in use; mix: some is; alloc: all GPUs are (or, without GPUs, all CPUs); drain: closed for new
    pods; down: not ready.
    """
    from podium.cli.printing import terminal_width
    from podium.cli.tables import nodes_answer
    from podium.explain.answers import NodeRow

    async def read(client: AsyncClient) -> list[NodeRow]:
        return await client.nodes()

    def show(found: list[NodeRow]) -> str:
        return nodes_answer(found, output, terminal_width())

    printed(asked, Look("nodes", list[NodeRow], {}, read), show, watch=watch)
