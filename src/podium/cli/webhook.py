"""`podium webhook`: the families' admission over HTTPS, for a real API server."""

from __future__ import annotations

from pathlib import Path

import click

from podium.cli.log_format import log_format_option
from podium.cli.process_options import connection_options, verbosity_option


@click.command()
@connection_options
@click.option("--dialects", "names", metavar="NAME,NAME", help="Only these API families.  [default: all]")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The scheduler's configuration: new pods of profiles with quotaGate start behind a gate.",
)
@click.option(
    "--listen-address",
    metavar="[ADDRESS]:PORT",
    default=":8443",
    show_default=True,
    help="Where the API server asks; without an address only the one on this machine can.  :0 takes a free port.",
)
@click.option(
    "--service",
    metavar="NAMESPACE/NAME",
    help="In a cluster: the Service, with the port 443, by which the API server gets here.",
)
@verbosity_option
@log_format_option
def webhook(
    kubeconfig: Path | None,
    context: str | None,
    master: str | None,
    names: str | None,
    config: Path | None,
    listen_address: str,
    service: str | None,
    verbosity: int,
    log_format: str,
) -> None:
    """Fill in and check objects of podium's API families when they are written.

    Nothing depends on it: without it the definitions refuse what they can, and the controllers the rest.
    """
    import asyncio

    from podium.cli.dialects import chosen_dialects
    from podium.cli.process import log_as_a_service, run_connected
    from podium.dialects.kubernetes.gates import quota_gates
    from podium.kube.transport import Transport
    from podium.runtime.configuration import load_profiles, quota_gated
    from podium.runtime.listener import Address
    from podium.runtime.webhook import Service, Webhook

    log_as_a_service(verbosity, log_format)
    dialects = chosen_dialects(names)
    address = Address.read(listen_address, "--listen-address")
    reached = Service.read(service) if service is not None else None
    gates = quota_gates(quota_gated(load_profiles(config))) if config is not None else ()

    async def work(transport: Transport, stop: asyncio.Event) -> None:
        await Webhook(transport, dialects, address, gates, reached).run(stop)

    run_connected(kubeconfig, context, master, work)
