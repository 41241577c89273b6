"""The built-in plugins, one file each."""

from __future__ import annotations

from podium.core.framework.plugin import Plugin
from podium.core.plugins.binpack import Binpack
from podium.core.plugins.capacity import Capacity
from podium.core.plugins.conformance import Conformance
from podium.core.plugins.drf import Drf
from podium.core.plugins.fgd import Fgd
from podium.core.plugins.gang import GangPlugin
from podium.core.plugins.give_up import GiveUp
from podium.core.plugins.gpu_filling import GpuFilling
from podium.core.plugins.gpu_nodes import GpuNodes
from podium.core.plugins.gpu_packing import BestFit, DotProduct, GpuClustering, GpuPacking
from podium.core.plugins.job_affinity import JobAffinity, JobAntiAffinity
from podium.core.plugins.leader_first import LeaderFirst
from podium.core.plugins.min_fragment import MinFragment
from podium.core.plugins.node_owner import NodeOwner
from podium.core.plugins.nodegroup import NodeGroup
from podium.core.plugins.nodeorder import NodeOrder
from podium.core.plugins.overcommit import Overcommit
from podium.core.plugins.pdb import Pdb
from podium.core.plugins.predicates import Predicates
from podium.core.plugins.priority import Priority
from podium.core.plugins.proportion import Proportion
from podium.core.plugins.queue_policy import QueuePolicy
from podium.core.plugins.random_node import RandomNode
from podium.core.plugins.resourcequota import ResourceQuota
from podium.core.plugins.role_order import RoleOrder
from podium.core.plugins.sla import Sla
from podium.core.plugins.whole_gang import WholeGang

BUILT_IN: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (
        BestFit,
        Binpack,
        Capacity,
        Conformance,
        DotProduct,
        Drf,
        Fgd,
        GangPlugin,
        GiveUp,
        GpuClustering,
        GpuFilling,
        GpuNodes,
        GpuPacking,
        JobAffinity,
        JobAntiAffinity,
        LeaderFirst,
        MinFragment,
        NodeGroup,
        NodeOrder,
        NodeOwner,
        Overcommit,
        Pdb,
        Predicates,
        Priority,
        Proportion,
        QueuePolicy,
        RandomNode,
        ResourceQuota,
        RoleOrder,
        Sla,
        WholeGang,
    )
}
