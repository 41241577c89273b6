"""`podium scheduler`: the scheduler alone, against any API server."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="How to reach the API server.")
@click.option("--context", metavar="NAME", help="The kubeconfig's context to use.")
@click.option(
    "--config",
    "--scheduler-conf",
    "config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Actions and plugins: Volcano's file as it is, or podium's with a profile for each scheduler name.",
)
@click.option(
    "--scheduler-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Which pods Volcano's file is for; may be repeated.  [default: volcano]",
)
@click.option("--once", is_flag=True, help="One turn of every profile, then exit when its writes are done.")
@click.option("-v", "--verbose", is_flag=True, help="Log what the scheduler does.")
def scheduler(
    kubeconfig: Path | None,
    context: str | None,
    config: Path | None,
    names: tuple[str, ...],
    once: bool,
    verbose: bool,
) -> None:
    """Place the pods of podium's scheduler names on a cluster's nodes.

    Pods belong to the profile of their schedulerName: volcano or podium, unless --config says otherwise.
    """
    import asyncio
    import signal

    from podium.cli.running import loop_factory, set_up_logging
    from podium.dialects import DIALECTS
    from podium.kube.http_client import HttpTransport
    from podium.kube.kubeconfig import resolve
    from podium.runtime.configuration import default_profiles, load_profiles
    from podium.runtime.scheduling import schedule

    set_up_logging(verbose)
    profiles = default_profiles() if config is None else load_profiles(config, names)
    connection = resolve(kubeconfig, context)

    async def work() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        transport = HttpTransport(connection)
        try:
            await schedule(transport, DIALECTS, profiles, stop, once=once)
        finally:
            await transport.close()

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(work())
