"""The job plugins that come with podium, by the names that Jobs use."""

from __future__ import annotations

from podium.dialects.volcano.job.plugin import JobPlugin
from podium.dialects.volcano.job.plugins.env import EnvPlugin
from podium.dialects.volcano.job.plugins.hcclrank import HcclRankPlugin
from podium.dialects.volcano.job.plugins.mpi import MpiPlugin
from podium.dialects.volcano.job.plugins.pytorch import PytorchPlugin
from podium.dialects.volcano.job.plugins.ray import RayPlugin
from podium.dialects.volcano.job.plugins.ssh import SshPlugin
from podium.dialects.volcano.job.plugins.svc import SvcPlugin
from podium.dialects.volcano.job.plugins.tensorflow import TensorflowPlugin

BUILT_IN: dict[str, type[JobPlugin]] = {
    plugin.name: plugin
    for plugin in (
        EnvPlugin,
        SvcPlugin,
        SshPlugin,
        PytorchPlugin,
        TensorflowPlugin,
        MpiPlugin,
        RayPlugin,
        HcclRankPlugin,
    )
}
