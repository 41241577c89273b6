"""The built-in kinds: a record for each says all that is particular to it, and everybody else asks the record.

A module for each family.  What a record names is close by or in the model of the kinds: its fields in
`schema/kinds/`, what is filled in and refused in `schema/defaults.py` and `schema/validation/`, how `kubectl get`
shows it in `embedded/printers/`.
"""

from __future__ import annotations

from podium.embedded.kinds import access, cluster, configuration, network, pods, storage, workloads
from podium.embedded.registry import Kind

# The groups in the order of a real server's discovery: it decides which group a client means by a name that
# several groups have, e.g. `events`.
_GROUPS = (
    "",
    "apps",
    "events.k8s.io",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
)

_KINDS = (
    *access.KINDS,
    *cluster.KINDS,
    *configuration.KINDS,
    *network.KINDS,
    *pods.KINDS,
    *storage.KINDS,
    *workloads.KINDS,
)


def builtin_kinds() -> list[Kind]:
    """Every built-in kind, in the order of discovery: group by group, by name in each."""
    return sorted(_KINDS, key=lambda kind: (_GROUPS.index(kind.resource.group), kind.resource.plural))
