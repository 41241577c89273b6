"""An embedded cluster with everything that podium brings along, for commands that start one."""

from __future__ import annotations

from typing import Any

import click

from podium.cli.dialects import hooks, objects
from podium.dialects import speaking
from podium.dialects.dialect import controllers_of, views_of
from podium.dialects.kubernetes.gates import current_quota_gates
from podium.embedded.cluster import EmbeddedCluster, Settings
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.restarting import Restarting
from podium.runtime.configuration import quota_gated
from podium.runtime.reloading import Configuration


def cluster_settings(configuration: Configuration | None = None, **given: Any) -> Settings:
    """The settings of a cluster that speaks all API families, with the scheduler that serves them."""
    in_force = configuration or Configuration(alone=True)
    dialects = speaking()

    def scheduler() -> Scheduler:
        return Scheduler(World(dialects), in_force.profiles)

    return Settings(
        hooks=(*hooks(), *current_quota_gates(lambda: quota_gated(in_force.profiles))),
        objects=objects(),
        controllers=tuple(controllers_of(dialects)),
        # What the scheduler or a plugin of its raises must not end the API server beside it.
        machines=(Restarting(scheduler, "the scheduler"),),
        views=views_of(dialects),
        **given,
    )


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
