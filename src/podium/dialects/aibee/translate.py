"""Pools in the core's words: queues that own nodes, and what pods say of them.

A node belongs to the pool that selects it, by labels or by the resources that it offers.  One that no pool
selects, or more than one, is the Default pool's: in the core a node without an owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from podium.core.model.model import Queue
from podium.dialects.aibee.names import DEFAULT_POOL, POOL, pool_id, pool_name
from podium.dialects.aibee.types import Pool
from podium.dialects.dialect import Ownership
from podium.dialects.kubernetes.membership import Marks, QueueMark, bearing
from podium.dialects.kubernetes.quantities import read_amounts
from podium.kube.selectors import EVERYTHING, LabelMatch, SelectorError, from_selector
from podium.kube.times import parse_time
from podium.kube.wire import Node, Object
from podium.queue_reasons import CANNOT_TAKE_BACK, NODE_CONTESTED
from podium.reasons import BAD_SPEC, NO_EFFECT, Refusal, refuse

# The pool that is there without an object: everything is on.
DEFAULT = Queue(id=pool_id(DEFAULT_POOL), name=DEFAULT_POOL, owns_rest=True, lends=True, borrows=True)

_OLD_FIELDS = {"weight": "weight", "quota": "quota", "priorities": "priorities", "priority": "priority"}


# --- pools -------------------------------------------------------------------------------------------------


def read_pool(pool: Pool) -> tuple[Queue, tuple[Refusal, ...]]:
    """A pool as a queue, and what is wrong with it."""
    spec, name = pool.spec, pool_name(pool.name)
    queue = Queue(
        id=pool_id(name),
        name=name,
        created=parse_time(pool.metadata.creation_timestamp),
        owns_rest=name == DEFAULT_POOL,
        lends=not spec.disable_sharing,
        borrows=not spec.disable_borrowing,
        lenders=tuple(pool_id(each) for each in spec.borrowing_pools or ()),
        preempts=not spec.disable_preemption,
    )
    return queue, tuple(_faults(pool))


def _faults(pool: Pool) -> Iterator[Refusal]:
    spec = pool.spec
    if pool_name(pool.name) == DEFAULT_POOL:
        if spec.node_selector is not None or spec.support_resources:
            detail = "the Default pool has the nodes that no other pool has; a selector has no effect"
            yield refuse(BAD_SPEC, field="spec.nodeSelector", detail=detail)
    else:
        try:
            selects = _selector(pool) is not None
        except SelectorError as error:
            yield refuse(BAD_SPEC, field="spec.nodeSelector", detail=f"{error}; the pool has no nodes")
        else:
            if not selects:
                detail = "it selects no node: name labels in it, or resources in supportResources"
                yield refuse(BAD_SPEC, field="spec.nodeSelector", detail=detail)
    if not spec.disable_sharing and spec.disable_preemption:
        yield refuse(CANNOT_TAKE_BACK, field="spec.disablePreemption")
    for attribute, field in _OLD_FIELDS.items():
        if getattr(spec, attribute) is not None:
            yield refuse(NO_EFFECT, field=f"spec.{field}")


def _selector(pool: Pool) -> LabelMatch | None:
    """Which labels the nodes of a pool have; None if it has no nodes.  An empty selector is no wish for all."""
    given = pool.spec.node_selector
    found = from_selector(given) if given is not None else EVERYTHING
    return None if found.everything and not pool.spec.support_resources else found


# --- whose nodes -------------------------------------------------------------------------------------------


def _claims(pool: Pool) -> Callable[[Node], bool] | None:
    """Which nodes a pool selects."""
    try:
        matches = _selector(pool)
    except SelectorError:
        return None
    if matches is None or pool.deleting or pool_name(pool.name) == DEFAULT_POOL:
        return None
    resources = tuple(pool.spec.support_resources or ())

    def selects(node: Node) -> bool:
        return matches(node.labels) and all(_offered(node).get(each, 0) > 0 for each in resources)

    return selects


def _label(pool: Pool) -> tuple[str, str] | None:
    """One that all nodes of a pool have."""
    labels = pool.spec.node_selector.match_labels if pool.spec.node_selector is not None else None
    return min(labels.items()) if labels else None


def _offered(node: Node) -> Mapping[str, int]:
    given = node.status.allocatable
    return read_amounts(given if given is not None else node.status.capacity, "")[0]


def _judge(pools: Sequence[str]) -> tuple[str, Refusal | None]:
    if len(pools) > 1:
        return "", refuse(NODE_CONTESTED, first=pools[0], second=pools[1], owner=DEFAULT_POOL)
    return (pool_id(pools[0]) if pools else ""), None


OWNERSHIP = Ownership(_claims, _judge, _label)


# --- pods --------------------------------------------------------------------------------------------------


def _pool_of(obj: Object) -> QueueMark | None:
    marks = obj.metadata.annotations
    name = marks.get(POOL) if marks else None
    if not name:
        return None
    called = f"pool {pool_name(name)} of Ai-Scheduler"
    return QueueMark(pool_id(name), pool_name(name), called, DEFAULT.id, over_usual=True)


MARKS = Marks(queue=_pool_of, concerns=bearing(POOL))
