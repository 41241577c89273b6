"""What would help where a queue, a quota, a budget or the gang itself is the matter."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from podium.amounts import counted
from podium.core.framework.shares import called
from podium.core.model import quorum
from podium.core.model.model import Gang, Queue, Task
from podium.dialects.dialect import GangWish, QueueKind, Rewrite
from podium.dialects.kubernetes.quantities import format_amount, read_amounts
from podium.explain.documents import Document
from podium.explain.model import Model
from podium.explain.proposals import Ladder, Proposal, choosing, commands_of, listed
from podium.kube.changes import Create, Patch
from podium.kube.resources import PODDISRUPTIONBUDGETS, PODS, RESOURCEQUOTAS, Resource
from podium.kube.wire import PodDisruptionBudget
from podium.numbers import Members, Partners, shown_gang
from podium.queue_numbers import Bound, QueueName, QueueUse, QuotaUse
from podium.queue_reasons import NO_QUEUE, QUOTA
from podium.reasons import GROUP_INCOMPLETE, MEMBERS_HELD, Refusal

_HEAVIEST = 10_000
_MOST_UNITS = 2**50


def other_ladders(
    model: Model, gangs: Sequence[Gang], tasks: Sequence[Task], causes: Collection[Refusal]
) -> Iterator[Ladder]:
    """Everything but nodes that may help some gangs of which some tasks wait."""
    for cause in causes:
        numbers = cause.numbers
        if isinstance(numbers, QueueUse):
            yield from _raise(model, numbers, gangs, tasks)
        elif cause.reason is NO_QUEUE and isinstance(numbers, QueueName):
            yield from _create_queue(model, numbers.queue, {gang.queue for gang in gangs})
        elif cause.reason is QUOTA and isinstance(numbers, QuotaUse):
            yield from _quota(model, gangs[0].namespace, numbers)
        elif isinstance(numbers, Members) and not numbers.role and not numbers.policy:
            for gang in gangs:
                yield from lower_minimum(model, gang)
        elif cause.reason is MEMBERS_HELD:
            yield from _ungate(model, gangs)
        elif cause.reason is GROUP_INCOMPLETE and isinstance(numbers, Partners):
            yield from _alone(model, gangs, numbers)
    yield from _switches(model, gangs)


# --- queues ----------------------------------------------------------------------------------------------------


class _KnownQueue(msgspec.Struct, frozen=True):
    queue: Queue
    kind: QueueKind
    document: Document

    def rewritten(self, after: Queue) -> Rewrite | None:
        return self.kind.rewrite(self.document, self.queue, after) if self.kind.rewrite is not None else None


def _known(model: Model, queue: Queue) -> _KnownQueue | None:
    for resource, kind in model.world.queues.items():
        for obj in model.world.cache.all(resource):
            if kind.id(obj.name) == queue.id:
                document = model.document(resource, "", obj.name)
                return _KnownQueue(queue, kind, document) if document is not None else None
    return None


def _queue(model: Model, name: str) -> _KnownQueue | None:
    """A queue by the name that users have for it."""
    found = next((each for each in model.cluster.queues.values() if called(each) == name), None)
    return _known(model, found) if found is not None else None


def _raise(model: Model, use: QueueUse, gangs: Sequence[Gang], tasks: Sequence[Task]) -> Iterator[Ladder]:
    known = _queue(model, use.queue)
    if known is None:
        return
    queue, resource = known.queue, use.resource
    column = model.cluster.dimensions.find(resource)
    asked = sum(task.cls.request.amount(column) for task in tasks) if column is not None else 0
    asked = max(asked, int(use.need))
    for field in ("capability", "deserved"):
        limits: dict[str, int] = getattr(queue, field)
        if resource in limits:
            yield from _limit(known, field, resource, limits[resource], asked, int(use.holds), int(use.need))
    if use.bound is Bound.SHARE:
        yield from _weight(known)
    if use.bound is Bound.LIMIT:
        for other in model.cluster.queues.values():
            if other.id != queue.id and other.guarantee.get(resource):
                yield from _guarantee(model, other, resource)


def _limit(
    known: _KnownQueue, field: str, resource: str, limit: int, asked: int, holds: int, need: int
) -> Iterator[Ladder]:
    def at(size: int) -> Proposal | None:
        limits = {**getattr(known.queue, field), resource: limit + size}
        rewrite = known.rewritten(msgspec.structs.replace(known.queue, **{field: limits}))
        amount = format_amount(resource, limit + size)
        sentence = f"raise the {field} of queue {called(known.queue)} to {amount} {resource}"
        return _proposal(f"{field} {called(known.queue)} {resource}", size, sentence, rewrite)

    most = min(_MOST_UNITS, max(asked + holds, limit) * 2 + asked)
    yield from _ladder(at, most, hint=max(1, holds + asked - limit))


def _weight(known: _KnownQueue) -> Iterator[Ladder]:
    def at(size: int) -> Proposal | None:
        weight = known.queue.weight + size
        rewrite = known.rewritten(msgspec.structs.replace(known.queue, weight=weight))
        return _proposal(
            f"weight {called(known.queue)}",
            size,
            f"raise the weight of queue {called(known.queue)} to {weight}",
            rewrite,
        )

    yield from _ladder(at, _HEAVIEST)


def _guarantee(model: Model, other: Queue, resource: str) -> Iterator[Ladder]:
    known = _known(model, other)
    if known is None:
        return
    guaranteed = other.guarantee[resource]

    def at(size: int) -> Proposal | None:
        kept = {**other.guarantee, resource: guaranteed - size}
        rewrite = known.rewritten(msgspec.structs.replace(other, guarantee=kept))
        amount = format_amount(resource, guaranteed - size)
        sentence = f"lower the guarantee of queue {called(other)} to {amount} {resource}"
        return _proposal(f"guarantee {called(other)} {resource}", size, sentence, rewrite)

    yield from _ladder(at, guaranteed)


def _switches(model: Model, gangs: Sequence[Gang]) -> Iterator[Ladder]:
    """What of a queue is on or off, the other way round: open, strictly in order, lending and so on."""
    queues = dict.fromkeys(gang.queue for gang in gangs)
    # Of queues that own nodes each may lend its own to the others.
    queues |= dict.fromkeys(
        facts.queue for facts in model.cluster.nodes.facts if facts is not None and facts.queue
    )
    for id in queues:
        queue = model.cluster.queues.get(id)
        known = _known(model, queue) if queue is not None else None
        if known is None:
            continue
        for field in Queue.__struct_fields__:
            value = getattr(known.queue, field)
            if isinstance(value, bool):
                yield from _switch(known, field, not value)


def _switch(known: _KnownQueue, field: str, value: bool) -> Iterator[Ladder]:
    name = called(known.queue)
    sentences = {
        ("open", True): f"open queue {name}",
        ("fifo", False): f"let queue {name} serve those behind one that waits",
        ("lends", True): f"let {name} lend what is idle on its nodes to others",
        ("borrows", True): f"let {name} borrow idle nodes of others",
        ("preempts", True): f"let the pods of {name} push others off its own nodes",
    }
    causes = {
        ("lends", True): f"{name} does not lend its nodes",
        ("borrows", True): f"{name} does not borrow nodes of others",
        ("preempts", True): f"pods of {name} may not push others off its nodes",
    }

    def at(size: int) -> Proposal | None:
        rewrite = known.rewritten(msgspec.structs.replace(known.queue, **{field: value}))
        sentence = sentences.get((field, value), f"turn {field} of queue {name} {'on' if value else 'off'}")
        return _proposal(f"{field} {name}", 1, sentence, rewrite, causes.get((field, value), ""))

    yield from _ladder(at, 1)


def _create_queue(model: Model, name: str, wanted: set[str]) -> Iterator[Ladder]:
    for resource, kind in model.world.queues.items():
        if kind.make is not None and kind.id(name) in wanted:
            change = Create(resource, "", kind.make(name))
            proposal = Proposal(f"queue {name}", 1, f"create queue {name}", commands_of([change]), (change,))
            yield Ladder(proposal.what, 1, lambda size, found=proposal: found)  # type: ignore[misc]


def _ladder(at: Callable[[int], Proposal | None], most: int, hint: int = 0) -> Iterator[Ladder]:
    first = at(1)
    if first is not None and most > 0:
        yield Ladder(first.what, most, at, hint=min(hint, most))  # type: ignore[arg-type]


def _proposal(what: str, size: int, sentence: str, rewrite: Rewrite | None, cause: str = "") -> Proposal | None:
    if rewrite is None:
        return None
    written = (rewrite.written, *rewrite.also)
    return Proposal(what, size, sentence, commands_of(written), (*written, *rewrite.follows), cause)


# --- gangs -----------------------------------------------------------------------------------------------------


def _rewrite_gang(model: Model, gang: Gang, wish: GangWish) -> Rewrite | None:
    found = model.world.group_of(gang)
    document = model.document(found[0], gang.namespace, gang.name) if found is not None else None
    if found is not None and document is not None and found[1].rewrite is not None:
        return found[1].rewrite(document, wish)
    kinds = (kind.gathered for kind in model.world.groups.values() if kind.gathered is not None)
    gathered = next((kind for kind in kinds if kind.id(gang.namespace, gang.name) == gang.id), None)
    if gathered is None or gathered.rewrite is None:
        return None
    tasks = sorted(gang.tasks.values(), key=lambda task: (task.suffix, task.name))
    read = (model.document(PODS, task.namespace, task.name) for task in tasks if task.has_pod)
    pods = [pod for pod in read if pod is not None]
    group = (found[0], document) if found is not None and document is not None else None
    return gathered.rewrite(group, pods, wish)


def lower_minimum(model: Model, gang: Gang) -> Iterator[Ladder]:
    """A gang that starts with fewer members."""
    least = gang.minimum
    if not quorum.is_gang(gang) or least < 2:
        return

    def at(size: int) -> Proposal | None:
        rewrite = _rewrite_gang(model, gang, GangWish(minimum=least - size))
        sentence = f"let {gang.name} start with {least - size} of {least} members"
        return _proposal(f"minimum {gang.id}", size, sentence, rewrite)

    yield from _ladder(at, least - 1)


def _alone(model: Model, gangs: Sequence[Gang], partners: Partners) -> Iterator[Ladder]:
    """Gangs that start together with others that are not there."""
    missing = frozenset(id for id in partners.awaited if id not in model.cluster.gangs)
    for gang in gangs:
        awaited = missing & frozenset(gang.together)
        if awaited:
            rewrite = _rewrite_gang(model, gang, GangWish(without=awaited))
            others = listed(sorted(map(shown_gang, awaited)))
            sentence = f"let {gang.name} start without {others}"
            proposal = _proposal(f"alone {gang.id}", 1, sentence, rewrite)
            if proposal is not None:
                yield Ladder(proposal.what, 1, lambda size, found=proposal: found)  # type: ignore[misc]


def _ungate(model: Model, gangs: Sequence[Gang]) -> Iterator[Ladder]:
    tasks = [task for gang in gangs for task in gang.tasks.values() if task.gated and task.has_pod]
    held = []
    for task in sorted(tasks, key=lambda each: (each.suffix, each.name)):
        pod = model.document(PODS, task.namespace, task.name)
        if pod is not None and (pod.get("spec") or {}).get("schedulingGates"):
            held.append(task)
    if not held:
        return
    operation = json.dumps([{"op": "remove", "path": "/spec/schedulingGates"}])

    namespaces = {task.name: task.namespace for task in held}

    def pick(names: Sequence[str]) -> Proposal:
        by_namespace: dict[str, list[str]] = {}
        for name in names:
            by_namespace.setdefault(namespaces[name], []).append(name)
        commands = (
            shlex.join(["kubectl", "patch", "pod", *those, "-n", namespace, "--type=json", "-p", operation])
            for namespace, those in by_namespace.items()
        )
        lifted = {"spec": {"schedulingGates": None}}
        return Proposal(
            "gates",
            len(names),
            f"lift the scheduling gates of {counted(len(names), 'pod')}: {listed(names)}",
            tuple(commands),
            tuple(Patch(PODS, namespaces[name], name, lifted) for name in names),
            chosen=tuple(names),
        )

    yield choosing("gates", list(namespaces), pick)


# --- quotas and budgets ----------------------------------------------------------------------------------------


def _quota(model: Model, namespace: str, use: QuotaUse) -> Iterator[Ladder]:
    def at(size: int) -> Proposal:
        amount = format_amount(use.resource, use.hard + size)
        change = Patch(RESOURCEQUOTAS, namespace, use.quota, {"spec": {"hard": {use.resource: amount}}})
        sentence = f"raise {use.resource} of quota {use.quota} to {amount}"
        return Proposal(f"quota {use.quota} {use.resource}", size, sentence, commands_of([change]), (change,))

    yield Ladder(
        f"quota {use.quota} {use.resource}", 4 * (use.need + use.used), at, hint=use.need + use.used - use.hard
    )


def budget_ladders(model: Model) -> Iterator[Ladder]:
    """Disruption budgets that keep pods of lower priority where they are."""
    for obj in model.world.cache.all(PODDISRUPTIONBUDGETS):
        if isinstance(obj, PodDisruptionBudget):
            document = model.document(PODDISRUPTIONBUDGETS, obj.namespace, obj.name)
            if document is not None:
                yield _budget(PODDISRUPTIONBUDGETS, document)


def _budget(resource: Resource, document: Document) -> Ladder:
    metadata, spec, status = document["metadata"], document["spec"], document.get("status") or {}
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    allowed, expected = status.get("disruptionsAllowed", 0), status.get("expectedPods", 0)
    needed = status.get("desiredHealthy", expected)

    def at(size: int) -> Proposal:
        if spec.get("maxUnavailable") is not None:
            wanted = {"maxUnavailable": expected - needed + size}
        else:
            wanted = {"minAvailable": max(0, needed - size)}
        written = Patch(resource, namespace, name, {"spec": wanted})
        follows = Patch(resource, namespace, name, {"status": {"disruptionsAllowed": allowed + size}}, "status")
        sentence = (
            f"let budget {namespace}/{name} allow {counted(allowed + size, 'disruption')} instead of {allowed}"
        )
        cause = (
            f"pods of lower priority could make room, but budget {namespace}/{name} allows {allowed} disruptions"
        )
        what, commands = f"budget {namespace}/{name}", commands_of([written])
        return Proposal(what, size, sentence, commands, (written, follows), cause)

    return Ladder(f"budget {namespace}/{name}", max(1, expected), at)


def amount_of(resource: str, quantity: str) -> int:
    good, _ = read_amounts({resource: quantity}, "")
    return good.get(resource, 0)
