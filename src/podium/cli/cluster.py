"""An embedded cluster with everything that podium brings along, for commands that start one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium.cli.families import hooks, objects
from podium.dialects import speaking
from podium.dialects.dialect import controllers_of
from podium.dialects.kubernetes.gates import quota_gates
from podium.embedded.cluster import Settings
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.restarting import Restarting
from podium.runtime.configuration import embedded_profiles, quota_gated


def cluster_settings(config: Path | None = None, **given: Any) -> Settings:
    """The settings of a cluster that speaks all API families, with the scheduler that serves them."""
    dialects, profiles = speaking(), embedded_profiles(config)

    def scheduler() -> Scheduler:
        return Scheduler(World(dialects), profiles)

    return Settings(
        hooks=(*hooks(), *quota_gates(quota_gated(profiles))),
        objects=objects(),
        controllers=tuple(controllers_of(dialects)),
        # What the scheduler or a plugin of its raises must not end the API server beside it.
        machines=(Restarting(scheduler, "the scheduler"),),
        views=World(dialects).views,
        **given,
    )
