"""An embedded cluster with everything that podium brings along, for commands that start one."""

from __future__ import annotations

from typing import Any

import click

from podium.cli.dialects import hooks, objects
from podium.dialects import speaking
from podium.dialects.dialect import controllers_of, views_of
from podium.dialects.kubernetes.gates import current_quota_gates
from podium.embedded.bootstrap import HeldLease
from podium.embedded.cluster import EmbeddedCluster, Settings
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.restarting import Restarting
from podium.runtime.configuration import quota_gated
from podium.runtime.controlling import LEASE as CONTROLLERS_LEASE
from podium.runtime.identity import process_identity
from podium.runtime.measuring import MeasuredScheduler, Stopwatch
from podium.runtime.reloading import Configuration
from podium.runtime.scheduling import LEASE as SCHEDULER_LEASE


def cluster_settings(
    configuration: Configuration | None = None,
    watch: Stopwatch | None = None,
    *,
    scheduler: bool = True,
    controllers: bool = True,
    **given: Any,
) -> Settings:
    """The settings of a cluster that speaks all API families, with the scheduler that serves them.

    Without `scheduler` or `controllers` somebody else is to do their work: a process beside it can.  `watch` is
    for whoever wants to know how queues stand: it keeps the plugins of the last turns.
    """
    in_force = configuration or Configuration(alone=True)
    dialects = speaking(profiles=lambda: in_force.profiles)

    def scheduling() -> Scheduler:
        if watch is not None:
            return MeasuredScheduler(World(dialects), in_force.profiles, watch)
        return Scheduler(World(dialects), in_force.profiles)

    return Settings(
        hooks=(*hooks(), *current_quota_gates(lambda: quota_gated(in_force.profiles))),
        objects=objects(),
        controllers=tuple(controllers_of(dialects)) if controllers else (),
        # What the scheduler or a plugin of its raises must not end the API server beside it.
        machines=(Restarting(scheduling, "the scheduler"),) if scheduler else (),
        leases=(
            _lease(SCHEDULER_LEASE, "scheduler", scheduler),
            _lease(CONTROLLERS_LEASE, "controllers", controllers),
        ),
        views=views_of(dialects),
        **given,
    )


def _lease(name: str, part: str, inside: bool) -> HeldLease:
    """`podium run` beside the cluster finds it, stands by and says why."""
    hint = f"it runs inside `podium up`, which leaves it out with --{part} none"
    return HeldLease(name, process_identity() if inside else "", hint)


async def follow_configuration(configuration: Configuration, settings: Settings, cluster: EmbeddedCluster) -> None:
    """Hands the profiles of a changed file to the cluster's scheduler; one that cannot be used changes nothing."""
    async for refused in configuration.changes():
        if refused is not None:
            continue  # the log says so
        for machine in settings.machines:
            running = machine.machine if isinstance(machine, Restarting) else machine
            if isinstance(running, Scheduler):
                running.reconfigure(configuration.profiles)
        cluster.driver.wake()
        click.echo(f"version {configuration.version} of {configuration.source} is in force")
