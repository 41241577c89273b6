"""Why something waits: one sentence with numbers, then what it is made of, then what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.amounts import counted
from podium.core.framework.shares import called
from podium.core.model import quorum
from podium.core.model.model import FINISHED, HOLDING, Gang, State, Task
from podium.core.model.resources import PODS as POD_COLUMN
from podium.explain.answers import Explanation, Funnel, GangView, Member, NodesOut, RemedyView
from podium.explain.goal import Goal, Outcome, try_out
from podium.explain.model import Model
from podium.explain.proposals import listed
from podium.explain.search import Elapsed, Remedy, Search, at_leisure
from podium.explain.standings import Standings, waits
from podium.explain.targets import Target
from podium.kube.resources import PODS
from podium.numbers import HalfBound, Incomplete, Places, shown_gang
from podium.reasons import Refusal

_MEMBERS_SHOWN = 64


def explain(model: Model, target: Target, *, search: bool = True, elapsed: Elapsed = at_leisure) -> Explanation:
    """Why a pod, a gang or a workload waits.  `elapsed` tells a long search when to end."""
    tasks = [task for task in target.tasks if task.state not in FINISHED]
    waiting = [task for task in tasks if task.state in (State.PENDING, State.RESERVED)]
    gangs = [gang for gang in target.gangs if waits(gang)]
    if target.pod:
        gangs = [gang for gang in target.gangs if waiting]
    strangers = [task for task in waiting if task.gang.id not in model.cluster.gangs]
    if strangers or (waiting and any(task.id in model.world.refused for task in waiting)):
        return _at_fault(model, target, waiting)
    if not gangs:
        return _not_waiting(model, target, tasks)
    profile = gangs[0].profile
    if profile not in model.profiles:
        return _of_others(model, target, gangs, profile)
    goal = Goal.of(model, [gang for gang in gangs if gang.profile == profile], waiting if target.pod else ())
    outcome = try_out(model, goal)
    remedies: list[Remedy] = []
    cut = False
    if search and not outcome.reached:
        tried = Search(model, goal, elapsed=elapsed)
        remedies, cut = tried.remedies(outcome), tried.cut
    return _waiting(model, target, gangs, outcome, remedies, cut)


def _waiting(
    model: Model,
    target: Target,
    gangs: Sequence[Gang],
    outcome: Outcome,
    remedies: Sequence[Remedy],
    cut: bool,
) -> Explanation:
    standings, first = Standings(model), gangs[0]
    queue = model.cluster.queues.get(first.queue)
    refusal = outcome.refusals[0] if outcome.refusals else None
    return Explanation(
        object=target.name,
        namespace=target.namespace,
        state="waiting",
        sentence=_sentence(model, target, gangs, outcome, remedies),
        reason=refusal.code if refusal is not None else "",
        hint=_hint(refusal),
        scheduler=first.profile,
        since=min(gang.created for gang in gangs),
        funnel=_funnel(outcome),
        gangs=tuple(gang_view(model, gang) for gang in gangs[:_MEMBERS_SHOWN]),
        queue=standings.queue(queue, first.profile, _resources(model, gangs))
        if queue is not None and queue.id
        else None,
        position=standings.position(first),
        remedies=tuple(RemedyView(each.sentence, each.commands) for each in remedies),
        cut=cut,
    )


def _sentence(
    model: Model, target: Target, gangs: Sequence[Gang], outcome: Outcome, remedies: Sequence[Remedy]
) -> str:
    causes = dict.fromkeys(cause for each in remedies for cause in each.causes)
    if outcome.reached:
        where = listed(outcome.nodes) if outcome.nodes else "a node"
        if outcome.evicts:
            return f"it is about to get {where}: {counted(outcome.evicts, 'pod')} of others will be evicted for it"
        if gangs[0].id in Goal.of(model, gangs).outside:
            return "it can be let in now: the scheduler does that at its next turn, and then its pods are created"
        return f"there is a place for it on {where}: the scheduler puts it there at its next turn"
    if outcome.promised and not outcome.refusals:
        leaving = [
            f"{task.namespace}/{task.name}"
            for name in outcome.promised
            for task in model.cluster.on_row.get(model.cluster.nodes.rows[name], {}).values()
            if task.state is State.RELEASING
        ]
        ending = f"{listed(leaving)} {'is' if len(leaving) == 1 else 'are'} still ending there"
        return f"it has a place on {listed(outcome.promised)} and waits for others to leave: {ending}"
    parts = [_gates(model, gangs) or str(outcome.refusals[0])] if outcome.refusals else []
    if not parts:
        parts = ["the scheduler has nothing to say against it and does not place it: see `podium doctor`"]
    if len(gangs) > 1:
        parts[0] = f"{len(gangs)} of {len(target.gangs)} wait; {parts[0]}"
    return "; ".join([*parts, *causes])


def _gates(model: Model, gangs: Sequence[Gang]) -> str:
    """Which gates hold everything back that waits, where nothing else does."""
    waiting = [task for gang in gangs for task in gang.tasks.values() if task.state is State.PENDING]
    pods = [model.document(PODS, task.namespace, task.name) for task in waiting if task.has_pod]
    gates = [((pod or {}).get("spec") or {}).get("schedulingGates") or () for pod in pods]
    if len(gates) < len(waiting) or not gates or not all(gates):
        return ""
    names = dict.fromkeys(str(gate.get("name")) for each in gates for gate in each)
    return f"held back by scheduling gates: {counted(len(pods), 'pod')} by {listed(list(names))}"


def _hint(refusal: Refusal | None) -> str:
    if refusal is None:
        return ""
    numbers = refusal.numbers
    if isinstance(numbers, Incomplete | HalfBound):
        return _hint(numbers.cause)
    if isinstance(numbers, Places) and len(numbers.causes) == 1:
        return numbers.causes[0].refusal.reason.hint
    return refusal.reason.hint


def _funnel(outcome: Outcome) -> Funnel | None:
    for refusal in outcome.refusals:
        places = next(_places(refusal), None)
        if places is not None:
            out = [NodesOut(each.nodes, each.refusal.code, str(each.refusal)) for each in places.causes]
            return Funnel(places.nodes, places.matching, tuple(out))
    return None


def _places(refusal: Refusal) -> Iterator[Places]:
    numbers = refusal.numbers
    if isinstance(numbers, Places):
        yield numbers
    elif isinstance(numbers, Incomplete | HalfBound):
        yield from _places(numbers.cause)
    for other in refusal.others:
        yield from _places(other)


def gang_view(model: Model, gang: Gang) -> GangView:
    """A gang with its members, those that wait first."""
    names = model.cluster.nodes
    tasks = sorted(gang.tasks.values(), key=lambda task: (task.state is not State.PENDING, task.suffix, task.name))
    members = tuple(
        Member(task.name, task.state.name.lower(), names.name(task.row) if task.row >= 0 else "")
        for task in tasks[:_MEMBERS_SHOWN]
    )
    queue = model.cluster.queues.get(gang.queue)
    return GangView(
        gang.name,
        gang.namespace,
        called(queue) if queue is not None else gang.queue_name,
        gang.minimum,
        gang.ready,
        gang.counts[State.PENDING],
        members,
        tuple(shown_gang(id) for id in gang.together if id != gang.id),
    )


def _resources(model: Model, gangs: Sequence[Gang]) -> set[str]:
    names = model.cluster.dimensions.names
    found = {
        names[column]
        for gang in gangs
        for task in gang.tasks.values()
        if task.state is State.PENDING
        for column, _ in task.cls.request.pairs
        if column != POD_COLUMN
    }
    minimums = (name for gang in gangs if not gang.tasks for name in gang.minimum_resources or ())
    return found | {name for name in minimums if name != "pods"}


# --- nothing for a scheduler to decide ---------------------------------------------------------------------------


def _at_fault(model: Model, target: Target, waiting: Sequence[Task]) -> Explanation:
    """Something is wrong with pods themselves: whatever the room, they cannot be placed."""
    refusal = next((model.world.refused[task.id] for task in waiting if task.id in model.world.refused), None)
    held = sum(1 for task in waiting if task.gated)
    sentence = str(refusal) if refusal is not None else f"held back by scheduling gates: {counted(held, 'pod')}"
    return Explanation(
        object=target.name,
        namespace=target.namespace,
        state="waiting",
        sentence=sentence,
        reason=refusal.code if refusal is not None else "MembersHeldBack",
        hint=refusal.reason.hint if refusal is not None else "lift the gates",
        since=min(task.created for task in waiting),
    )


def _of_others(model: Model, target: Target, gangs: Sequence[Gang], profile: str) -> Explanation:
    served = listed(sorted(model.profiles), 8)
    sentence = f"its scheduler is {profile or 'not named'}, which podium does not serve; it serves {served}"
    return Explanation(target.name, target.namespace, "waiting", sentence, scheduler=profile)


def _not_waiting(model: Model, target: Target, tasks: Sequence[Task]) -> Explanation:
    nodes = model.cluster.nodes
    running = [task for task in tasks if task.state in HOLDING]
    where = list(dict.fromkeys(nodes.name(task.row) for task in running if task.row >= 0))
    views = tuple(gang_view(model, gang) for gang in target.gangs[:_MEMBERS_SHOWN])
    if running:
        sentence = f"it does not wait: {counted(len(running), 'pod')} on {listed(where)}"
        lacking = sum(max(0, quorum.missing(gang)) for gang in target.gangs)
        if lacking:
            sentence += f", and {counted(lacking, 'further member')} to come"
        return Explanation(target.name, target.namespace, "running", sentence, gangs=views)
    if target.tasks:
        states = sorted({task.state.name.lower() for task in target.tasks})
        sentence = f"it does not wait: {counted(len(target.tasks), 'pod')}, {' and '.join(states)}"
        return Explanation(target.name, target.namespace, "done", sentence, gangs=views)
    return Explanation(target.name, target.namespace, "empty", target.absent or "it has no pods")
