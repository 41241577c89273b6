"""`podium hold`: makes workloads wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, of_a_cluster

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="KIND/NAME...")
@of_a_cluster
def hold(asked: Asked, names: tuple[str, ...]) -> None:
    """Make workloads stop and wait: Jobs are suspended, and their pods end."""

    async def work(client: AsyncClient) -> None:
        for name in names:
            await client.hold(name)
            click.echo(f"{name} held")

    asked.ask(work)
