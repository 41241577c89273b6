"""The built-in kinds as of Kubernetes 1.36, in the notation of `podium.schema.table`.

One module for each family of kinds.  `= {}` stands at structs that an API server always prints, `= ""` and `= 0`
at scalars likewise; the other defaults are Kubernetes' own.  Defaults that depend on other fields are code, in
`podium.schema.defaults`.
"""

from podium.schema.kinds import (
    apiextensions,
    apps,
    batch,
    configuration,
    containers,
    events,
    meta,
    network,
    nodes,
    placement,
    pod_status,
    pods,
    policy,
    rbac,
    storage,
    volumes,
)

TABLES: tuple[tuple[str, str], ...] = (
    *meta.TABLES,
    *pods.TABLES,
    *containers.TABLES,
    *placement.TABLES,
    *pod_status.TABLES,
    *volumes.TABLES,
    *storage.TABLES,
    *nodes.TABLES,
    *network.TABLES,
    *configuration.TABLES,
    *events.TABLES,
    *apps.TABLES,
    *batch.TABLES,
    *rbac.TABLES,
    *policy.TABLES,
    *apiextensions.TABLES,
)
