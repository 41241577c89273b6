"""The dashboard beside a cluster of one's own, or beside the scheduler of somebody's."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.cli.options import WholeNumber, together
from podium.cli.running_scheduler import ADDRESS

if TYPE_CHECKING:
    from podium.embedded.cluster import EmbeddedCluster, Settings
    from podium.embedded.data_directory import DataDirectory
    from podium.kube.transport import Transport
    from podium.runtime.measuring import Stopwatch
    from podium.runtime.metrics import Metrics
    from podium.web.server import Dashboard, Source

log = logging.getLogger("podium.runtime.dashboard")

DEFAULT_PORT = 8090
SHORTEST_TOKEN = 16
_SERVED_SECONDS = 5.0

up_options = together(
    click.option("--dashboard/--no-dashboard", default=True, show_default=True, help="Serve the dashboard."),
    click.option(
        "--dashboard-port",
        type=WholeNumber(0, 65535),
        metavar="PORT",
        help=f"Its port on 127.0.0.1; 0 takes a free one.  [default: {DEFAULT_PORT}, or a free one]",
    ),
)

process_options = together(
    click.option(
        "--dashboard-address",
        metavar="[HOST]:PORT",
        help="Serve the dashboard there, on 127.0.0.1 only; :0 takes a free port.  [default: it is not served]",
    ),
    click.option(
        "--dashboard-token-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="The token of its login.  [default: a new one with each start; the log has it]",
    ),
)


@asynccontextmanager
async def beside_cluster(
    settings: Settings, watch: Stopwatch, port: int | None, cluster: EmbeddedCluster
) -> AsyncIterator[Dashboard]:
    """The dashboard of `podium up`.  Its address stands in the data directory while it is served."""
    from podium.engine.scheduler import Scheduler
    from podium.errors import UsageError
    from podium.kube.restarting import Restarting
    from podium.web.server import Dashboard, Source

    def running() -> Scheduler | None:
        machines = (each.machine if isinstance(each, Restarting) else each for each in settings.machines)
        return next((each for each in machines if isinstance(each, Scheduler)), None)

    source = Source(running, watch.plugins_of_last_turns, cluster.transport)
    async with AsyncExitStack() as stack:
        try:
            served = await stack.enter_async_context(Dashboard(source, DEFAULT_PORT if port is None else port))
        except UsageError:
            if port is not None:
                raise
            served = await stack.enter_async_context(Dashboard(source))
        file = cluster.directory.path / ADDRESS
        file.touch(mode=0o600)
        file.write_text(served.login_url + "\n")
        stack.callback(file.unlink, missing_ok=True)
        yield served


def address_of(directory: DataDirectory) -> str:
    """Where the dashboard of a cluster in the background is; "" if it is not served within some seconds."""
    deadline = time.monotonic() + _SERVED_SECONDS
    file = directory.path / ADDRESS
    while not file.exists() or not file.read_text().strip():
        if time.monotonic() > deadline:
            return ""
        time.sleep(0.05)
    return file.read_text().strip()


@asynccontextmanager
async def beside_scheduler(
    address: str | None, token_file: Path | None, metrics: Metrics, transport: Transport
) -> AsyncIterator[None]:
    """The dashboard of `podium scheduler` and `podium run`, if it is wanted."""
    if address is None:
        yield
        return
    from podium.runtime.listener import Address
    from podium.web.server import Dashboard

    where = Address.read(address, "--dashboard-address")
    if not where.is_local:
        # Its login has no TLS: what is to be seen from elsewhere goes through `kubectl port-forward` or ssh.
        log.warning("the dashboard is served on 127.0.0.1, not on %s", where.host)
    token = _token(token_file) if token_file is not None else ""
    async with Dashboard(_source(metrics, transport), where.port, token, flag="--dashboard-address") as served:
        if token:
            log.info("dashboard: %s, the token is in %s", served.url, token_file)
        else:
            log.info("dashboard: %s", served.login_url)
        yield


def _source(metrics: Metrics, transport: Transport) -> Source:
    from podium.engine.scheduler import Scheduler
    from podium.runtime.scheduling import PART
    from podium.web.server import Source

    def leading() -> Scheduler | None:
        return metrics.scheduler if metrics.leading().get(PART, True) else None

    return Source(leading, metrics.watch.plugins_of_last_turns, transport)


def _token(file: Path) -> str:
    from podium.errors import UsageError, why_unreadable

    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--dashboard-token-file: {file} cannot be read: {why_unreadable(error)}") from None
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"--dashboard-token-file: a token has {SHORTEST_TOKEN} characters or more, in one line")
    return token
