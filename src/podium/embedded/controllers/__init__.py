"""What kube-controller-manager does, as far as batch jobs and daily use of kubectl need it.

Each controller is a pure function over a cache of observed objects; `kube.controller.Manager` runs them.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.embedded.controllers.deployment import DeploymentController
from podium.embedded.controllers.disruption import DisruptionController
from podium.embedded.controllers.endpoints import EndpointsController
from podium.embedded.controllers.garbage import GarbageController
from podium.embedded.controllers.job import JobController
from podium.embedded.controllers.job_cleanup import JobOrphanController, JobTimeToLiveController
from podium.embedded.controllers.namespace import NamespaceController
from podium.embedded.controllers.nodelifecycle import NodeLifecycleController
from podium.embedded.controllers.replicaset import ReplicaSetController
from podium.embedded.controllers.serviceaccount import ServiceAccountController
from podium.embedded.controllers.statefulset import StatefulSetController
from podium.embedded.controllers.volumes import VolumeClaimController, VolumeController
from podium.kube.controller import Controller
from podium.kube.resources import Resource

__all__ = ["all_controllers"]


def all_controllers(ca: str, resources: Iterable[Resource] = ()) -> list[Controller]:
    """Every built-in controller.

    `ca` is the text of the cluster's CA certificate.  `resources` is what the server serves at the start;
    `Manager.serve` and `Manager.withdraw` are called for custom resources that come and go.
    """
    served = list(resources)
    return [
        JobController(),
        JobOrphanController(),
        JobTimeToLiveController(),
        ReplicaSetController(),
        DeploymentController(),
        StatefulSetController(),
        GarbageController(served),
        NamespaceController(served),
        ServiceAccountController(ca),
        DisruptionController(),
        NodeLifecycleController(),
        VolumeClaimController(),
        VolumeController(),
        EndpointsController(),
    ]
