"""`podium release`: lets workloads go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, of_a_cluster

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="KIND/NAME...")
@of_a_cluster
def release(asked: Asked, names: tuple[str, ...]) -> None:
    """Let workloads go on that were held, and pods that stand behind scheduling gates."""

    async def work(client: AsyncClient) -> None:
        for name in names:
            await client.release(name)
            click.echo(f"{name} released")

    asked.ask(work)
