"""What Volcano's webhooks fill in and refuse, beyond what the definitions say by themselves.

Queues form a tree: a parent must be able to keep what its children are promised.  The checks look at what is
stored and at the queue being written; a real server without a webhook does none of them, so the scheduler relies
on none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from podium.dialects.kubernetes.gates import add_gate
from podium.dialects.kubernetes.quantities import Amounts, format_amount, read_amounts
from podium.dialects.volcano.job.names import BUDGETS
from podium.dialects.volcano.names import (
    ALLOCATION_GATE,
    DEFAULT_QUEUE,
    HIERARCHY,
    HIERARCHY_WEIGHTS,
    PODGROUPS,
    QUEUE_NAME,
    QUEUES,
    ROOT_QUEUE,
    SCHEDULER,
)
from podium.dialects.volcano.types import Queue
from podium.kube import fields
from podium.kube.admission import Facet, Hook, Surroundings
from podium.kube.fields import FieldError
from podium.kube.resources import NAMESPACES, PODS

Document = dict[str, Any]

DEEPEST = 5

_ENDED = "Completed"
_NAMED = 3  # groups that a refusal names

_ASKS_FOR_GATE = f"has(object.metadata.annotations) && '{ALLOCATION_GATE}' in object.metadata.annotations"
_HAS_BUDGET = (
    f"object.spec.schedulerName == '{SCHEDULER}' && has(object.metadata.annotations) && "
    f"[{', '.join(map(repr, BUDGETS))}].exists(key, key in object.metadata.annotations)"
)
_AMOUNT = re.compile(r"0*[1-9][0-9]*|0*[1-9][0-9]?%")


# --- Pod ---------------------------------------------------------------------------------------------------


def fill_pod(pod: Document, old: Document | None, around: Surroundings) -> None:
    """A pod that asks for it starts behind the gate that stands for its queue's quota."""
    marks = pod["metadata"].get("annotations") or {}
    if old is None and marks.get(ALLOCATION_GATE) == "true":
        add_gate(pod, ALLOCATION_GATE)


def check_pod(pod: Document, old: Document | None, around: Surroundings) -> list[FieldError]:
    """How many pods of a job may be missing: a number or a part of them, and said in one way only."""
    marks = pod["metadata"].get("annotations") or {}
    if pod["spec"].get("schedulerName") != SCHEDULER:
        return []
    reported = [key for key in BUDGETS if key in marks]
    errors = [
        fields.invalid(f"metadata.annotations[{key}]", marks[key], "must be a number above 0, or 1% to 99%")
        for key in reported
        if not _AMOUNT.fullmatch(marks[key])
    ]
    if len(reported) > 1:
        at = f"metadata.annotations[{reported[1]}]"
        errors.append(fields.forbidden(at, f"{reported[0]} is set, and they exclude each other"))
    return errors


# --- PodGroup ----------------------------------------------------------------------------------------------


def fill_group(group: Document, old: Document | None, around: Surroundings) -> None:
    """A group of the default queue goes to the queue of its namespace, if that has one."""
    spec = group.setdefault("spec", {})
    if old is not None or spec.get("queue") not in (None, "", DEFAULT_QUEUE):
        return
    namespace = around.get(NAMESPACES, "", group["metadata"].get("namespace", ""))
    marks = (namespace or {}).get("metadata", {}).get("annotations") or {}
    spec["queue"] = marks.get(QUEUE_NAME) or DEFAULT_QUEUE


# --- Queue -------------------------------------------------------------------------------------------------


def fill_queue(queue: Document, old: Document | None, around: Surroundings) -> None:
    """No weight is a weight of one; a path in the hierarchy begins at the root."""
    spec = queue.setdefault("spec", {})
    if not spec.get("weight"):
        spec["weight"] = 1
    marks = queue["metadata"].get("annotations") or {}
    path, weights = marks.get(HIERARCHY), marks.get(HIERARCHY_WEIGHTS)
    if path and weights and path.split("/")[0] != ROOT_QUEUE:
        marks[HIERARCHY] = f"{ROOT_QUEUE}/{path}"
        marks[HIERARCHY_WEIGHTS] = f"1/{weights}"


def check_queue(document: Document, old: Document | None, around: Surroundings) -> list[FieldError]:
    """What is wrong with a queue among the others."""
    queue = msgspec.convert(document, Queue)
    before = msgspec.convert(old, Queue) if old is not None else None
    tree = _Tree(queue, around)
    errors = list(_path_errors(queue, tree))
    if queue.name == ROOT_QUEUE:
        if before is not None and _resources(before) != _resources(queue):
            errors.append(fields.forbidden("spec", "capability, deserved and guarantee of the root cannot change"))
        if queue.spec.parent:
            errors.append(fields.forbidden("spec.parent", "nothing is above the root of all queues"))
        return errors
    moved = before is None or before.spec.parent != queue.spec.parent
    if moved:
        errors += _parent_errors(queue, tree)
    if not errors and (moved or before is None or _resources(before) != _resources(queue)):
        errors += _amount_errors(queue, tree)
    return errors


def keep_queue(document: Document, around: Surroundings) -> str | None:
    """Why a queue cannot be deleted."""
    name = document["metadata"]["name"]
    if name in (DEFAULT_QUEUE, ROOT_QUEUE):
        return f"queue {name} is always there"
    children = [each["metadata"]["name"] for each in around.having(QUEUES, parent_of, name)]
    if children:
        return f"queue {name} has queues below it: {', '.join(children)}"
    groups = sorted(
        f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}"
        for each in around.having(PODGROUPS, _queue_of, name)
        if (each.get("status") or {}).get("phase") != _ENDED
    )
    if groups:
        named = ", ".join(groups[:_NAMED]) + (" ..." if len(groups) > _NAMED else "")
        count = "a pod group that has" if len(groups) == 1 else f"{len(groups)} pod groups that have"
        return f"queue {name} has {count} not ended ({named}): close it, and delete it when it is empty"
    return None


# By what others are looked up.


def parent_of(queue: Document) -> Iterable[str]:
    parent = (queue.get("spec") or {}).get("parent")
    return (parent,) if parent else ()


def _queue_of(group: Document) -> Iterable[str]:
    queue = (group.get("spec") or {}).get("queue")
    return (queue,) if queue else ()


def _paths_above(queue: Document) -> Iterable[str]:
    """The paths of all branches that a queue's path of shares leads through."""
    path = (queue["metadata"].get("annotations") or {}).get(HIERARCHY) or ""
    return [path[:place] for place, letter in enumerate(path) if letter == "/"]


def _resources(queue: Queue) -> tuple[Any, Any, Any]:
    spec = queue.spec
    return spec.capability, spec.deserved, spec.guarantee


class _Tree:
    """All queues as they will be once one has been written.

    Of the others only those are read that are asked for: a write must not cost more because there are many queues.
    """

    def __init__(self, written: Queue, around: Surroundings) -> None:
        self._written = written
        self._around = around

    def find(self, name: str) -> Queue | None:
        if name == self._written.name:
            return self._written
        found = self._around.get(QUEUES, "", name) if name else None
        return msgspec.convert(found, Queue) if found is not None else None

    def _others(self, facet: Facet, value: str) -> Iterator[Queue]:
        """The queues beside the written one of which something is said."""
        for document in self._around.having(QUEUES, facet, value):
            if document["metadata"]["name"] != self._written.name:
                yield msgspec.convert(document, Queue)

    def children(self, name: str) -> list[Queue]:
        found = list(self._others(parent_of, name)) if name else []
        return [*found, self._written] if self._written.spec.parent == name else found

    def below_path(self, path: str) -> Queue | None:
        """A queue whose path of shares leads through this one."""
        return next(self._others(_paths_above, path), None)

    def ancestors(self, queue: Queue) -> Iterator[Queue]:
        """From the parent up to below the root; ends where a queue is missing or comes round again."""
        seen = {queue.name}
        name = queue.spec.parent
        while name not in ("", ROOT_QUEUE) and name not in seen and (above := self.find(name)) is not None:
            seen.add(name)
            yield above
            name = above.spec.parent


def _path_errors(queue: Queue, tree: _Tree) -> Iterator[FieldError]:
    path, weights = queue.annotations.get(HIERARCHY, ""), queue.annotations.get(HIERARCHY_WEIGHTS, "")
    if not path and not weights:
        return
    at_path, at_weights = f"metadata.annotations[{HIERARCHY}]", f"metadata.annotations[{HIERARCHY_WEIGHTS}]"
    if len(path.split("/")) != len(weights.split("/")):
        yield fields.invalid(
            at_path, path, f"must have as many parts as {HIERARCHY_WEIGHTS}, which is {weights!r}"
        )
        return
    for weight in weights.split("/"):
        if not _is_positive(weight):
            yield fields.invalid(at_weights, weights, f"{weight!r} is not a number above 0")
            return
    other = tree.below_path(path)
    if other is not None:
        yield fields.invalid(at_path, path, f"queue {other.name} is below it, at {other.annotations[HIERARCHY]}")


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def _parent_errors(queue: Queue, tree: _Tree) -> Iterator[FieldError]:
    name, at = queue.spec.parent, "spec.parent"
    if name in ("", ROOT_QUEUE):
        return
    if name == queue.name:
        yield fields.invalid(at, name, "a queue cannot be its own parent")
        return
    parent = tree.find(name)
    if parent is None:
        yield fields.not_found(at, name)
        return
    above = list(tree.ancestors(queue))
    if above[-1].spec.parent == queue.name:
        yield fields.invalid(at, name, f"queue {name} is below this one")
        return
    depth = len(above) + 1 + _height(queue, tree)
    if depth > DEEPEST:
        yield fields.invalid(at, name, f"queues would be {depth} deep, and at most {DEEPEST} are allowed")
    pods = (parent.status.allocated or {}).get("pods", 0)
    if len(tree.children(name)) == 1 and str(pods) not in ("", "0"):
        yield fields.forbidden(at, f"queue {name} has {pods} pods of its own, so it cannot have queues below it")


def _height(queue: Queue, tree: _Tree) -> int:
    """How many levels of queues are below one."""
    height, level, seen = -1, [queue], {queue.name}
    while level:
        height += 1
        level = [child for each in level for child in tree.children(each.name) if child.name not in seen]
        seen.update(child.name for child in level)
    return height


# --- amounts -----------------------------------------------------------------------------------------------


def _amounts(queue: Queue, field: str) -> Amounts:
    spec = queue.spec
    guarantee = spec.guarantee.resource if spec.guarantee is not None else None
    given = {"capability": spec.capability, "deserved": spec.deserved, "guarantee": guarantee}[field]
    return read_amounts(given, field)[0]


def _amount_errors(queue: Queue, tree: _Tree) -> Iterator[FieldError]:
    """A queue against those above it, and those below it against the queue."""
    for name, amount in sorted(_amounts(queue, "capability").items()):
        for above in tree.ancestors(queue):
            limit = _amounts(above, "capability").get(name, 0)
            if limit:
                if amount > limit:
                    detail = f"queue {above.name} above it may have {format_amount(name, limit)} at the most"
                    yield fields.invalid(f"spec.capability[{name}]", format_amount(name, amount), detail)
                break
        most, who = max(
            ((_largest(child, name, tree), child.name) for child in tree.children(queue.name)), default=(0, "")
        )
        if amount and most > amount:
            detail = f"queue {who} below it may have {format_amount(name, most)}"
            yield fields.invalid(f"spec.capability[{name}]", format_amount(name, amount), detail)
    for field in ("guarantee", "deserved"):
        parent = tree.find(queue.spec.parent)
        if parent is not None and parent.name != ROOT_QUEUE:
            yield from _sum_errors(parent, field, tree, queue)
        if tree.children(queue.name):
            yield from _sum_errors(queue, field, tree, queue)


def _largest(queue: Queue, name: str, tree: _Tree) -> int:
    """What a queue may have, or, where it sets no limit, the largest below it."""
    waiting, seen, most = [queue], {queue.name}, 0
    while waiting:
        each = waiting.pop()
        own = _amounts(each, "capability").get(name, 0)
        most = max(most, own)
        if not own:
            below = [child for child in tree.children(each.name) if child.name not in seen]
            seen.update(child.name for child in below)
            waiting += below
    return most


def _sum_errors(parent: Queue, field: str, tree: _Tree, written: Queue) -> Iterator[FieldError]:
    """What the children of a queue are promised together must be within what it is promised itself."""
    total: Amounts = {}
    for child in tree.children(parent.name):
        for name, amount in _amounts(child, field).items():
            total[name] = total.get(name, 0) + amount
    own, said = _amounts(parent, field), _amounts(written, field)
    for name, amount in sorted(total.items()):
        if amount > own.get(name, 0):
            path = f"spec.{field}.resource[{name}]" if field == "guarantee" else f"spec.{field}[{name}]"
            most, together = format_amount(name, own.get(name, 0)), format_amount(name, amount)
            detail = f"the queues below {parent.name} would have {together} together, and {parent.name} has {most}"
            yield fields.invalid(path, format_amount(name, said.get(name, 0)), detail)


HOOKS = (
    Hook(PODS, mutate=fill_pod, new_only=True, condition=_ASKS_FOR_GATE),
    Hook(PODS, validate=check_pod, new_only=True, condition=_HAS_BUDGET),
    Hook(PODGROUPS, mutate=fill_group, looks_at=(NAMESPACES,), new_only=True),
    Hook(QUEUES, mutate=fill_queue, validate=check_queue, keep=keep_queue, looks_at=(QUEUES, PODGROUPS)),
)
