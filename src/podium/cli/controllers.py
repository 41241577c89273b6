"""`podium controllers`: the controllers of the API families alone, against any API server."""

from __future__ import annotations

from typing import Any

import click

from podium.cli.process_options import connection_options, lease_name_option, process_options


@click.command()
@connection_options
@click.option("--dialects", "names", metavar="NAME,NAME", help="Only these API families.  [default: all]")
@process_options
@lease_name_option
def controllers(names: str | None, lease_name: str | None, **given: Any) -> None:
    """Keep the objects of podium's API families in order: queues, groups and Jobs."""
    import asyncio

    from podium.cli.dialects import chosen_dialects
    from podium.cli.process import Connect, add_controllers, log_as_a_service, run_on_cluster, split
    from podium.kube.transport import Transport
    from podium.runtime.controlling import LEASE
    from podium.runtime.metrics import Metrics
    from podium.runtime.process import Process

    common, _ = split(given)
    log_as_a_service(common.verbosity, common.log_format)
    dialects = chosen_dialects(names)
    election, window, metrics = common.election(), common.window(), Metrics()

    async def work(transport: Transport, stop: asyncio.Event, connect: Connect) -> None:
        process = Process(transport, election, metrics, connect)
        add_controllers(process, transport, dialects, metrics, lease=lease_name or LEASE)
        await process.run(stop, window)

    run_on_cluster(common, work)
