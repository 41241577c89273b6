"""Starting a process of podium on somebody's cluster: from what was typed to parts that run."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from podium.cli.log_format import log_to_stderr
from podium.cli.loop import collect_rarely, loop_factory
from podium.dialects.dialect import Dialect
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import SERVICE_ACCOUNT, resolve
from podium.kube.lease import Terms
from podium.kube.transport import Transport
from podium.runtime.controlling import PART as CONTROLLERS
from podium.runtime.controlling import ControllersPart
from podium.runtime.dumping import Dumps
from podium.runtime.listener import Address
from podium.runtime.metrics import Metrics
from podium.runtime.process import ElectionSettings, Process, Window
from podium.runtime.reloading import Configuration
from podium.runtime.scheduling import PART as SCHEDULER
from podium.runtime.scheduling import Rate, SchedulerPart

DEFAULT_LISTEN = ":8080"

Work = Callable[[Transport, asyncio.Event], Awaitable[None]]
Connect = Callable[[], Transport]  # another way to the same server
ProcessWork = Callable[[Transport, asyncio.Event, Connect], Awaitable[None]]


class Common(msgspec.Struct, frozen=True):
    """What `connection_options` and `process_options` give."""

    kubeconfig: Path | None
    context: str | None
    master: str | None
    leader_elect: bool
    leader_elect_lease_duration: float
    leader_elect_renew_deadline: float
    leader_elect_retry_period: float
    lease_namespace: str | None
    listen_address: str | None
    healthz_address: str | None
    enable_healthz: bool
    enable_metrics: bool
    verbosity: int
    log_format: str

    def election(self, *, once: bool = False) -> ElectionSettings:
        terms = Terms(
            self.leader_elect_lease_duration, self.leader_elect_renew_deadline, self.leader_elect_retry_period
        )
        enabled = self.leader_elect and not once
        if enabled:
            terms.check()
        return ElectionSettings(self.lease_namespace or _own_namespace(), terms, enabled)

    def window(self) -> Window:
        healthz = self.healthz_address
        return Window(
            Address.read(self.listen_address or DEFAULT_LISTEN, "--listen-address"),
            chosen=self.listen_address is not None,
            healthz=Address.read(healthz, "--healthz-address") if healthz is not None else None,
            with_health=self.enable_healthz,
            with_metrics=self.enable_metrics,
        )


class Scheduling(msgspec.Struct, frozen=True):
    """What `scheduler_options` give."""

    config: Path | None
    names: tuple[str, ...]
    schedule_period: float
    default_queue: str
    kube_api_qps: float
    kube_api_burst: int
    dashboard_address: str | None
    dashboard_token_file: Path | None

    @property
    def rate(self) -> Rate:
        return Rate(self.kube_api_qps, self.kube_api_burst or max(1, int(self.kube_api_qps)))


def split(given: dict[str, Any]) -> tuple[Common, dict[str, Any]]:
    """What all of these commands take, and the rest."""
    fields = Common.__struct_fields__
    common = Common(**{name: given[name] for name in fields})
    return common, {name: value for name, value in given.items() if name not in fields}


def add_scheduler(
    process: Process,
    transport: Transport,
    dialects: tuple[Dialect, ...],
    settings: Scheduling,
    configuration: Configuration,
    metrics: Metrics,
    *,
    lease: str,
    namespace: str,
) -> SchedulerPart:
    metrics.configuration = configuration
    part = SchedulerPart(
        transport,
        dialects,
        configuration,
        metrics,
        period=settings.schedule_period,
        rate=settings.rate,
        may_write=process.lease(SCHEDULER, lease),
        events_on=(namespace, lease),
    )
    process.add(SCHEDULER, part.run)
    dumps = Dumps(lambda: part.running)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, dumps.begin)
    return part


def add_controllers(
    process: Process, transport: Transport, dialects: tuple[Dialect, ...], metrics: Metrics, *, lease: str
) -> None:
    part = ControllersPart(transport, dialects, metrics, may_write=process.lease(CONTROLLERS, lease))
    process.add(CONTROLLERS, part.run)


def run_on_cluster(common: Common, work: ProcessWork) -> None:
    """Connects as the common options say, and works until it is done or a signal comes."""
    reported = (common.kubeconfig, common.context, common.master)
    run_connected(*reported, lambda transport, stop: work(transport, stop, partial(_connected, *reported)))


def run_connected(kubeconfig: Path | None, context: str | None, master: str | None, work: Work) -> None:
    """The same for commands with fewer options."""
    transport = _connected(kubeconfig, context, master)

    async def connected() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            await work(transport, stop)
        finally:
            await transport.close()

    collect_rarely()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(connected())


def _connected(kubeconfig: Path | None, context: str | None, master: str | None) -> HttpTransport:
    connection = resolve(kubeconfig, context)
    if master:
        connection = msgspec.structs.replace(connection, server=master)
    return HttpTransport(connection)


def log_as_a_service(verbosity: int, form: str = "text") -> None:
    """Warnings, and what becomes of the process itself: who leads, where it can be asked, what is in force."""
    levels = (logging.WARNING, logging.INFO, logging.INFO, logging.INFO, logging.DEBUG)
    log_to_stderr(levels[min(verbosity, 4)], form)
    logging.getLogger("podium.runtime").setLevel(min(levels[min(verbosity, 4)], logging.INFO))


def _own_namespace() -> str:
    """The pod's own namespace inside a cluster; outside of one that of the control plane, which always exists."""
    try:
        return (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except OSError:
        return "kube-system"
