"""The job plugins that come with podium, by the names that Jobs use."""

from __future__ import annotations

from podium.dialects.volcano.job_plugin import JobPlugin
from podium.dialects.volcano.job_plugins.env import EnvPlugin
from podium.dialects.volcano.job_plugins.hcclrank import HcclRankPlugin
from podium.dialects.volcano.job_plugins.mpi import MpiPlugin
from podium.dialects.volcano.job_plugins.pytorch import PytorchPlugin
from podium.dialects.volcano.job_plugins.ray import RayPlugin
from podium.dialects.volcano.job_plugins.ssh import SshPlugin
from podium.dialects.volcano.job_plugins.svc import SvcPlugin
from podium.dialects.volcano.job_plugins.tensorflow import TensorflowPlugin

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
