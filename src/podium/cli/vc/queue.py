"""`podium vc queue`: create, delete, operate, list, get."""

from __future__ import annotations

import click

from podium.cli.options import Commands
from podium.cli.vc.target import Target, needed, of_a_cluster

_ORDERS = {"open": "OpenQueue", "close": "CloseQueue"}


@click.group(cls=Commands)
def queue() -> None:
    """Queues: create, open, close, list and delete them."""


@queue.command()
@click.option("-n", "--name", default="test", show_default=True, metavar="NAME", help="The queue's name.")
@click.option("-w", "--weight", default=1, show_default=True, help="Its part among its siblings.")
@click.option(
    "-S",
    "--state",
    type=click.Choice(["Open", "Closed"]),
    default="Open",
    show_default=True,
    help="Whether it takes jobs.",
)
@of_a_cluster
def create(target: Target, name: str, weight: int, state: str) -> None:
    """Create a queue."""
    from podium.cli.vc import calls

    target.ask(lambda client: calls.create_queue(client, name, weight, state))
    click.echo(f"create queue {name} successfully")


@queue.command()
@click.option("-n", "--name", default="", metavar="NAME", help="The queue's name.")
@of_a_cluster
def delete(target: Target, name: str) -> None:
    """Delete a queue that has no more groups of pods."""
    from podium.cli.vc import calls

    needed(name, "queue")
    target.ask(lambda client: calls.delete_queue(client, name))
    click.echo(f"delete queue {name} successfully")


@queue.command()
@click.option("-n", "--name", default="", metavar="NAME", help="The queue's name.")
@click.option(
    "-a",
    "--action",
    type=click.Choice([*_ORDERS, "update"]),
    help="open: it takes jobs; close: it takes none; update: it gets another weight.",
)
@click.option("-w", "--weight", default=0, help="The weight that `update` gives it.")
@of_a_cluster
def operate(target: Target, name: str, action: str | None, weight: int) -> None:
    """Open a queue, close it, or change its weight."""
    from podium.cli.vc import calls
    from podium.dialects.volcano.names import QUEUES, ROOT_QUEUE
    from podium.errors import UsageError

    needed(name, "queue")
    if action is None:
        raise UsageError(f"what shall be done with queue {name}? give --action open, close or update")
    if (name, action) == (ROOT_QUEUE, "close"):
        raise UsageError("the root of all queues cannot be closed; close the queues below it")
    if action in _ORDERS:
        target.ask(lambda client: calls.give_order(client, QUEUES, "", name, _ORDERS[action]))
    elif weight < 1:
        raise UsageError(f"which weight shall queue {name} get? give one above 0 by --weight")
    else:
        target.ask(lambda client: client.patch(QUEUES, "", name, {"spec": {"weight": weight}}))
    click.echo(f"{action} queue {name} successfully")


@queue.command(name="list")
@of_a_cluster
def list_command(target: Target) -> None:
    """List all queues, and how many groups they have in each phase."""
    print_queues(target)


@queue.command()
@click.option("-n", "--name", default="", metavar="NAME", help="The queue's name.")
@of_a_cluster
def get(target: Target, name: str) -> None:
    """Show one queue as `list` does."""
    needed(name, "queue")
    print_queues(target, name)


def print_queues(target: Target, name: str = "", *, in_short: bool = False) -> None:
    """All queues, or the one of a name; in short without what the stand-alone command has not learnt."""
    from podium.cli.vc import calls
    from podium.cli.vc.tables import QUEUE_COLUMNS, QUEUE_COLUMNS_IN_SHORT, queue_table

    queues, groups = target.ask(lambda client: calls.queues_and_groups(client, name))
    click.echo(queue_table(queues, groups, QUEUE_COLUMNS_IN_SHORT if in_short else QUEUE_COLUMNS))
