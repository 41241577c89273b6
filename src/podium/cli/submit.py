"""`podium submit`: creates what is in files, and follows it if asked to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, of_a_cluster
from podium.cli.options import Number

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@of_a_cluster
@click.option(
    "--wait", "wait", is_flag=True, help="Wait until all of it has ended, and say how it stands meanwhile."
)
@click.option(
    "--timeout", type=Number(min=0), default=None, metavar="SECONDS", help="How long to wait; for ever by default."
)
@click.pass_context
def submit(ctx: click.Context, asked: Asked, files: tuple[Path, ...], wait: bool, timeout: float | None) -> None:
    """Create the objects of YAML files: jobs of any kind, queues, and what else a cluster takes.

    Fields that the server does not know are refused, so that a typing error does not go unseen.  What was created
    is printed as KIND/NAME, for the other commands.  A FILE of - is what comes in by the pipe.
    """
    from podium.cli.exits import DONE, FAILED, TIMED_OUT
    from podium.dialects.dialect import Progress, State

    sources = [Path("/dev/stdin") if str(file) == "-" else file for file in files]

    async def work(client: AsyncClient) -> int:
        made = await client.submit(*sources)
        for each in made:
            click.echo(each.qualified)
        code = DONE
        for each in made if wait else ():

            def told(progress: Progress, name: str = str(each)) -> None:
                click.echo(f"{name}: {progress.message}")

            try:
                ended = await client.wait(each, timeout=timeout, told=told)
            except TimeoutError as error:
                click.echo(f"podium: {error}", err=True)
                return TIMED_OUT
            code = FAILED if ended.state is State.FAILED else code
        return code

    ctx.exit(asked.ask(work))
