"""What Volcano's controllers write, and the patches of its groups and queues, by who does it."""

from __future__ import annotations

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.job.objects import KEPT
from podium.dialects.volcano.names import COMMANDS, PODGROUPS, QUEUES
from podium.dialects.volcano.podgroup_controller import OWNERS
from podium.kube.resources import PERSISTENTVOLUMECLAIMS, PODS, SECRETS
from podium.kube.rights import READING, Right

# `job/`: the Job itself, its pods and group, what its plugins ask for.  Of Secrets it makes new ones and reads
# none: they go with the Job.
_JOBS = (
    Right(JOBS, ("patch", "delete")),
    Right(JOBS, ("patch",), "status"),
    Right(COMMANDS, ("delete",)),
    Right(PODGROUPS, ("create", "patch", "delete")),
    Right(PODS, ("get", "create", "delete")),
    Right(PERSISTENTVOLUMECLAIMS, ("create",)),
    Right(SECRETS, ("create",)),
    *(Right(resource, ("create", "patch", "delete")) for resource in KEPT),
)

# `podgroup_controller.py`: groups for pods, and what it must know of who controls these.
_GROUPS = (
    Right(PODGROUPS, ("create", "patch", "delete")),
    Right(PODS, ("patch",)),
    *(Right(resource, ("get", *READING)) for resource in OWNERS),
)

# `queue_controller.py`, and what the scheduler says of queues.
_QUEUES = (Right(QUEUES, ("create", "patch")), Right(QUEUES, ("patch",), "status"), Right(COMMANDS, ("delete",)))

RIGHTS = (*_JOBS, *_GROUPS, *_QUEUES)
