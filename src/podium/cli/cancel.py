"""`podium cancel`: deletes workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, of_a_cluster

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="KIND/NAME...")
@of_a_cluster
def cancel(asked: Asked, names: tuple[str, ...]) -> None:
    """Delete workloads, and with them their pods."""

    async def work(client: AsyncClient) -> None:
        for name in names:
            await client.cancel(name)
            click.echo(f"{name} cancelled")

    asked.ask(work)
