"""`podium scheduler`: the scheduler alone, against any API server."""

from __future__ import annotations

from typing import Any

import click

from podium.cli.process_options import (
    connection_options,
    ignored_options,
    lease_name_option,
    process_options,
    scheduler_options,
)


@click.command()
@connection_options
@scheduler_options
@click.option(
    "--once",
    is_flag=True,
    help="One turn of every profile, then exit when its writes are done; no lease, no health, no metrics.",
)
@process_options
@lease_name_option
@ignored_options
def scheduler(once: bool, lease_name: str | None, **given: Any) -> None:
    """Place the pods of podium's scheduler names on a cluster's nodes.

    Pods belong to the profile of their schedulerName: volcano or podium, unless --config says otherwise.
    """
    import asyncio

    from podium.cli.dashboard import beside_scheduler
    from podium.cli.process import Connect, Scheduling, add_scheduler, log_as_a_service, run_on_cluster, split
    from podium.dialects import speaking
    from podium.kube.transport import Transport
    from podium.runtime.metrics import Metrics
    from podium.runtime.process import Process
    from podium.runtime.reloading import Configuration
    from podium.runtime.scheduling import LEASE

    common, rest = split(given)
    log_as_a_service(common.verbosity, common.log_format)
    settings = Scheduling(**rest)
    configuration = Configuration(settings.config, settings.names)
    dialects = speaking(
        settings.default_queue,
        settings.names,
        with_controllers=False,
        profiles=lambda: configuration.profiles,
    )
    election, window, metrics = common.election(once=once), common.window(), Metrics()

    async def work(transport: Transport, stop: asyncio.Event, connect: Connect) -> None:
        process = Process(transport, election, metrics, connect)
        part = add_scheduler(
            process,
            transport,
            dialects,
            settings,
            configuration,
            metrics,
            lease=lease_name or LEASE,
            namespace=election.namespace,
        )
        if once:
            await part.run_once()
            return
        async with beside_scheduler(settings.dashboard_address, settings.dashboard_token_file, metrics, transport):
            await process.run(stop, window)

    run_on_cluster(common, work)
