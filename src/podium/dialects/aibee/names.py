"""Names by which Ai-Scheduler's objects and pods speak of each other."""

from __future__ import annotations

from podium.kube.resources import Resource

POOLS = Resource("resource.aibee.cn", "v1alpha1", "pools", "Pool", namespaced=False)

DIALECT = "aibee"
SCHEDULER = "ai-scheduler"

# On pods: the pool that they are at home in.
POOL = "resource.aibee.cn/pool"

# The pool that is always there: of the nodes that no other pool has, and of the pods that name none.
DEFAULT_POOL = "Default"


def pool_name(name: str) -> str:
    """A pool's name; names of objects have no capital letters, so the built-in pool is known by both spellings."""
    return DEFAULT_POOL if name in ("", DEFAULT_POOL, DEFAULT_POOL.lower()) else name


def pool_id(name: str) -> str:
    """A pool's id in the core."""
    return f"aibee/{pool_name(name)}"
