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
from podium.runtime.configuration import embedded_profiles, quota_gated


def cluster_settings(config: Path | None = None, **given: Any) -> Settings:
    """The settings of a cluster that speaks all API families, with the scheduler that serves them."""
    dialects, profiles = speaking(), embedded_profiles(config)
    world = World(dialects)
    return Settings(
        hooks=(*hooks(), *quota_gates(quota_gated(profiles))),
        objects=objects(),
        controllers=tuple(controllers_of(dialects)),
        machines=(Scheduler(world, profiles),),
        views=world.views,
        **given,
    )
