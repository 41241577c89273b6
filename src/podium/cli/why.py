"""`podium why`: why something is not running: a sentence with numbers, then the details and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.cli.asking import Asked, Look, config_option, dashboard_option, of_a_cluster, output_option

if TYPE_CHECKING:
    from podium.client import AsyncClient


@click.command()
@click.argument("what", metavar="KIND/NAME")
@of_a_cluster
@output_option("json", "yaml", "name")
@config_option
@dashboard_option
@click.option("--no-remedies", is_flag=True, help="Do not look for what would help.")
def why(asked: Asked, what: str, output: str | None, no_remedies: bool) -> None:
    """Say why a pod, a job, a group, a queue or a pool waits.

    The scheduler of `podium up` is asked.  Any other cluster is read, never written to, and no scheduler has to
    run there.  What would help is found by trying it on a copy of the cluster's model: each proposal is the
    smallest of its kind that works.  KIND is a kind, a plural or a short name, with or without its group, as in
    job.batch/train.
    """
    import time

    from podium.cli.explanations import text_of
    from podium.cli.printing import encoded, terminal_width
    from podium.explain.answers import Explanation

    async def work(client: AsyncClient) -> list[Explanation]:
        return await client.why_all(what, search=not no_remedies)

    query = {"what": what, "namespace": "", "search": "no" if no_remedies else "yes"}
    answers = asked.look(Look("why", list[Explanation], query, work))
    if output in ("json", "yaml"):
        click.echo(encoded(answers if len(answers) > 1 else answers[0], output))
    elif output == "name":
        click.echo("\n".join(each.reason or each.state for each in answers))
    else:
        now = time.time()
        click.echo("\n\n".join(text_of(each, now, terminal_width()) for each in answers))
