"""`podium top`: nodes, queues and workloads on one screen that stays up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, config_option, of_a_cluster
from podium.cli.options import Number

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@of_a_cluster
@click.option(
    "--interval", type=Number(min=0.2), default=2.0, show_default=True, help="Seconds between two looks."
)
@click.option("--once", is_flag=True, help="One look, and then end; so it is where nobody looks at a terminal.")
@config_option
def top(asked: Asked, interval: float, once: bool) -> None:
    """Show what is free, who holds it and who waits, live.  Ctrl-C ends it."""
    import asyncio
    import sys
    import time

    from podium.cli.printing import cut, terminal_width
    from podium.cli.tables import nodes_answer, queue_answer
    from podium.explain.listing import list_nodes, list_workloads

    async def picture(client: AsyncClient) -> str:
        model = await client.model()
        width = terminal_width()
        queue = queue_answer(list_workloads(model, asked.namespace), "", time.time(), width, with_namespace=True)
        return f"{nodes_answer(list_nodes(model), '', width)}\n\n{queue}"

    async def live(client: AsyncClient) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console()
        with Live(console=console, screen=True, auto_refresh=False) as screen:
            while True:
                text = await picture(client)
                lines = text.splitlines()[: console.size.height - 1]
                screen.update(Text("\n".join(cut(line, console.size.width) for line in lines)), refresh=True)
                await asyncio.sleep(interval)

    if once or not sys.stdout.isatty():
        click.echo(asked.ask(picture, reading=True))
    else:
        asked.ask(live)
