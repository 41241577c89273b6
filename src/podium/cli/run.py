"""`podium run`: scheduler and controllers in one process, against any API server."""

from __future__ import annotations

from typing import Any

import click

from podium.cli.process_options import connection_options, ignored_options, process_options, scheduler_options


@click.command()
@connection_options
@scheduler_options
@click.option("--dialects", "dialect_names", metavar="NAME,NAME", help="Only these API families.  [default: all]")
@process_options
@ignored_options
def run(dialect_names: str | None, **given: Any) -> None:
    """Schedule pods and keep podium's API families in order, on any cluster.

    The scheduler and the controllers have a lease each, the same as `podium scheduler` and `podium controllers`.
    """
    import asyncio

    from podium.cli.dashboard import beside_scheduler
    from podium.cli.dialects import chosen_dialects
    from podium.cli.process import (
        Connect,
        Scheduling,
        add_controllers,
        add_scheduler,
        log_as_a_service,
        run_on_cluster,
        split,
    )
    from podium.dialects import speaking
    from podium.kube.transport import Transport
    from podium.runtime import controlling, scheduling
    from podium.runtime.metrics import Metrics
    from podium.runtime.process import Process
    from podium.runtime.reloading import Configuration

    common, rest = split(given)
    log_as_a_service(common.verbosity, common.log_format)
    settings = Scheduling(**rest)
    configuration = Configuration(settings.config, settings.names)
    spoken = speaking(settings.default_queue, settings.names, profiles=lambda: configuration.profiles)
    dialects = chosen_dialects(dialect_names, spoken)
    election, window, metrics = common.election(), common.window(), Metrics()

    async def work(transport: Transport, stop: asyncio.Event, connect: Connect) -> None:
        process = Process(transport, election, metrics, connect)
        add_scheduler(
            process,
            transport,
            dialects,
            settings,
            configuration,
            metrics,
            lease=scheduling.LEASE,
            namespace=election.namespace,
        )
        add_controllers(process, transport, dialects, metrics, lease=controlling.LEASE)
        async with beside_scheduler(settings.dashboard_address, settings.dashboard_token_file, metrics, transport):
            await process.run(stop, window)

    run_on_cluster(common, work)
