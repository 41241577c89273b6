"""What plugins can be asked, and how their answers become one: the table of hooks and the rules of combining.

A hook is a method of plugins by name, with a rule and, where users can turn it off, the switch of the
configuration file.  The built-in ones are methods of `Plugin` and stand in `HOOKS`.  An action may have hooks of
its own: it makes a `Hook`, lists it in its `HOOKS`, and asks it with `session.ask`; plugins that know the action
define a method of that name.  Neither the session nor the base class has to know.

How opinions combine follows Volcano, tier by tier.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from podium.core.framework.plugin import Plugin

Tiers = Sequence[Sequence["Plugin"]]


class Rule(Enum):
    """How the answers of several plugins become one.  The value is the sentence of the documentation."""

    NOTIFIED = "every plugin is notified"
    FIRST = "the first plugin with an answer decides; zero and None are none"
    ALL = "every plugin must agree"
    ANY = "one plugin is enough"
    VOTES = "any reject loses; without one the first tier with a permit decides; without that it is permitted"
    STARVING = "all plugins of the first tier that has an opinion must agree; without an opinion it is denied"
    COMMON = "inside a tier what all plugins name; the first tier that names any decides"
    UNION = "inside a tier what any plugin names; the first tier that names any decides"
    SUM = "the sum"
    BATCH = "the smallest number that a plugin promises"
    NEED = "the largest number that a plugin asks for"


class Hook(msgspec.Struct, frozen=True):
    """Something that plugins can be asked."""

    name: str
    rule: Rule
    switch: str = ""  # of the configuration file; without one the hook is always on
    asked_by: str = ""
    grade: int = 0  # for hooks on nodes: see `plugin`


_EVERY = "every action"
_MAIN = "enqueue, allocate, backfill, preempt, reclaim, gangpreempt, gangreclaim"
_PLACING = "allocate, backfill, preempt, reclaim, gangpreempt, gangreclaim"
_TAKING = "preempt, reclaim, gangpreempt, gangreclaim"

HOOKS: dict[str, Hook] = {
    hook.name: hook
    for hook in (
        Hook("on_session_open", Rule.NOTIFIED, asked_by=_EVERY),
        Hook("on_session_close", Rule.NOTIFIED, asked_by=_EVERY),
        Hook("on_allocate", Rule.NOTIFIED, asked_by=_PLACING),
        Hook("on_deallocate", Rule.NOTIFIED, asked_by=_PLACING),
        Hook("job_valid", Rule.FIRST, asked_by=_PLACING),
        Hook("job_enqueueable", Rule.VOTES, "enableJobEnqueued", "enqueue"),
        Hook("admission_refusal", Rule.FIRST, "enableJobEnqueued", "enqueue"),
        Hook("job_enqueued", Rule.NOTIFIED, "enableJobEnqueued", "enqueue"),
        Hook("namespace_order", Rule.FIRST, "enableNamespaceOrder", "allocate"),
        Hook("queue_order", Rule.FIRST, "enableQueueOrder", "enqueue, allocate, reclaim, gangreclaim"),
        Hook("queue_key", Rule.FIRST, "enableQueueOrder", "enqueue, allocate, reclaim, gangreclaim"),
        Hook("victim_queue_order", Rule.FIRST, asked_by="reclaim, gangreclaim"),
        Hook("job_order", Rule.FIRST, "enableJobOrder", _MAIN),
        Hook("job_key", Rule.FIRST, "enableJobOrder", _MAIN),
        Hook("sub_job_order", Rule.FIRST, "enabledSubJobOrder", "allocate"),
        Hook("task_order", Rule.FIRST, "enableTaskOrder", _PLACING),
        Hook("task_key", Rule.FIRST, "enableTaskOrder", _PLACING),
        Hook("cluster_order", Rule.FIRST, "enabledClusterOrder"),
        Hook("overused", Rule.ANY, "enabledOverused", "allocate, reclaim, gangreclaim"),
        Hook("allocatable", Rule.FIRST, "enabledAllocatable", _PLACING),
        Hook("headroom", Rule.BATCH, "enabledAllocatable", "allocate"),
        Hook("preemptive", Rule.ALL, "enablePreemptive", "reclaim, gangreclaim"),
        Hook("job_ready", Rule.ALL, "enableJobReady", "allocate, backfill"),
        Hook("shortfall", Rule.NEED, "enableJobReady", "allocate"),
        Hook("job_pipelined", Rule.VOTES, "enableJobPipelined", "allocate, " + _TAKING),
        Hook("job_starving", Rule.STARVING, "enableJobStarving", _TAKING),
        Hook("job_refused", Rule.FIRST, asked_by=_EVERY),
        Hook("sub_job_ready", Rule.ALL, "enabledSubJobReady", "allocate"),
        Hook("sub_job_shortfall", Rule.NEED, "enabledSubJobReady", "allocate"),
        Hook("sub_job_pipelined", Rule.VOTES, "enabledSubJobPipelined", "allocate"),
        Hook("preemptable", Rule.COMMON, "enablePreemptable", "preempt, gangpreempt"),
        Hook("reclaimable", Rule.COMMON, "enableReclaimable", "reclaim, gangreclaim"),
        Hook("victim_tasks", Rule.UNION, "enabledVictim"),
        Hook("target_job", Rule.FIRST, "enableTargetJob"),
        Hook("reserved_nodes", Rule.NOTIFIED, "enableReservedNodes"),
        Hook("signature", Rule.NOTIFIED, asked_by=_PLACING),
        Hook("applies", Rule.NOTIFIED, asked_by=_PLACING),
        Hook("pre_predicate", Rule.FIRST, "enablePredicate", _PLACING),
        Hook("mask", Rule.ALL, "enablePredicate", _PLACING, 1),
        Hook("mask_rows", Rule.ALL, "enablePredicate", _PLACING, 2),
        Hook("predicate", Rule.ALL, "enablePredicate", _PLACING, 3),
        Hook("batch_predicate", Rule.ALL, "enablePredicate", _PLACING, 3),
        Hook("score", Rule.SUM, "enableNodeOrder", _PLACING, 1),
        Hook("score_rows", Rule.SUM, "enableNodeOrder", _PLACING, 2),
        Hook("node_order", Rule.SUM, "enableNodeOrder", _PLACING, 3),
        Hook("batch_node_order", Rule.SUM, "enableNodeOrder", _PLACING, 3),
        Hook("best_node", Rule.FIRST, "enableBestNode", _PLACING, 3),
        Hook("pick_device", Rule.FIRST, "enableNodeOrder", _PLACING, 2),
        Hook("hyper_node_order", Rule.SUM, "enabledHyperNodeOrder"),
        Hook("hyper_node_gradient", Rule.FIRST, "enabledHyperNodeGradient"),
        Hook("refusals", Rule.NOTIFIED, "enablePredicate", _PLACING),
    )
}

# A plugin's switch that is no hook's: whether queues form a tree for it.
HIERARCHY = "enableHierarchy"

# Off unless the file says so.
OFF_BY_DEFAULT = frozenset({"enableNamespaceOrder", HIERARCHY})

SWITCHES = frozenset({hook.switch for hook in HOOKS.values() if hook.switch} | {HIERARCHY})


# --- combining ---------------------------------------------------------------------------------------------------


def combine(hook: Hook, tiers: Tiers, arguments: Sequence[Any]) -> Any:
    """The answer of the plugins that have a hook.

    What that is depends on the rule: a bool for ALL, ANY, VOTES and STARVING, a list for COMMON and UNION, an
    amount for SUM, BATCH and NEED, and for FIRST and NOTIFIED an answer or None.
    """
    answers = ([getattr(plugin, hook.name)(*arguments) for plugin in tier] for tier in tiers)
    match hook.rule:
        case Rule.VOTES:
            return permitted(answers)
        case Rule.STARVING:
            return all(next(iter(answers), [False]))
        case Rule.COMMON:
            return next(filter(None, map(common, answers)), [])
        case Rule.UNION:
            return next(filter(None, map(union, answers)), [])
    each = (getattr(plugin, hook.name)(*arguments) for tier in tiers for plugin in tier)
    match hook.rule:
        case Rule.FIRST:
            return next(filter(None, each), None)
        case Rule.ALL:
            return all(each)
        case Rule.ANY:
            return any(each)
        case Rule.SUM:
            return sum(each)
        case Rule.BATCH:
            return min(each, default=None)
        case Rule.NEED:
            return max(each, default=None)
    for _ in each:
        pass  # notified; nothing is expected back
    return None


def permitted(tiers: Any) -> bool:
    """Votes by tier: any reject loses, the first tier with a permit decides."""
    for votes in tiers:
        if min(votes) < 0:
            return False
        if max(votes) > 0:
            return True
    return True


def common(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """What all lists have, by id, in the order of the first."""
    found = list(lists[0])
    for other in lists[1:]:
        ids = {each.id for each in other}
        found = [each for each in found if each.id in ids]
    return found


def union(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """What any list has, each once."""
    return list({each.id: each for found in lists for each in found}.values())
