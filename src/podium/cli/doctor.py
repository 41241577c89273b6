"""`podium doctor`: what is wrong between podium and a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, of_a_cluster, output_option

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@of_a_cluster
@output_option("json", "yaml")
@click.pass_context
def doctor(ctx: click.Context, asked: Asked, output: str | None) -> None:
    """Look for what keeps podium from working on a cluster.

    The server and its version, podium's definitions, what the user may do, whether a scheduler and the controllers
    are at work, and other schedulers that serve the same names or the same nodes.  Ends with 1 if something is
    broken; a warning is none.
    """
    from podium.cli.exits import DONE, FAILED
    from podium.cli.printing import encoded
    from podium.client.checkup import Finding, Level, check_up

    async def work(client: AsyncClient) -> list[Finding]:
        return await check_up(client.calls)

    findings = asked.ask(work)
    if output is not None:
        click.echo(encoded(findings, output))
    else:
        marks = {Level.GOOD: "ok  ", Level.WARNING: "warn", Level.BROKEN: "FAIL"}
        for each in findings:
            click.echo(f"{marks[each.level]}  {each.what}: {each.sentence}")
            if each.todo:
                click.echo(f"      {each.todo}")
    ctx.exit(FAILED if any(each.level is Level.BROKEN for each in findings) else DONE)
