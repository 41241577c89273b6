"""`podium down`: ends an embedded cluster that was started elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from podium.cli.exits import TIMED_OUT
from podium.cli.options import Number, data_dir_option


@click.command()
@data_dir_option
@click.option("--name", metavar="NAME", help="The cluster's name, as for `podium up`.")
@click.option(
    "--keep",
    is_flag=True,
    help="Leave pods running that are processes of this machine: no effect yet, all pods are simulated.",
)
@click.option(
    "--timeout", type=Number(min=0), default=30.0, show_default=True, help="Seconds to wait for its end."
)
@click.pass_context
def down(ctx: click.Context, data_dir: Path | None, name: str | None, keep: bool, timeout: float) -> None:
    """Stop the cluster that runs on a data directory.

    Its state stays: the next `podium up` on the same directory continues where it was.  Where none runs, there is
    nothing to do.
    """
    import os
    import signal
    import time

    from podium.cli.clusters import cluster_of
    from podium.embedded.data_directory import holder
    from podium.errors import StorageError, UsageError

    if keep:
        click.echo("podium: --keep has no effect: all pods are simulated, and end with their cluster", err=True)
    directory = cluster_of(name, data_dir).directory
    if data_dir is not None and not data_dir.is_dir():
        raise UsageError(f"--data-dir {data_dir}: there is no such directory")
    pid = holder(directory)
    if pid is None:
        click.echo(f"no cluster is running on {directory.path}")
        return
    if pid == 0:
        raise StorageError(f"{directory.path} is in use by a process that does not say which: try again")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has just ended, perhaps by another `podium down`
    except PermissionError:
        raise UsageError(f"the cluster on {directory.path} (pid {pid}) belongs to another user") from None
    deadline = time.monotonic() + timeout
    while holder(directory) == pid:
        if time.monotonic() > deadline:
            click.echo(f"podium: the cluster on {directory.path} (pid {pid}) is still stopping", err=True)
            ctx.exit(TIMED_OUT)
        time.sleep(0.05)
    click.echo(f"stopped the cluster on {directory.path}")
