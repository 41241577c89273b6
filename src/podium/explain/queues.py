"""Why a queue gives no more: its arithmetic, and who is in line."""

from __future__ import annotations

from podium.amounts import counted
from podium.core.model.model import Gang
from podium.explain.answers import Amounts, Explanation, QueueStanding
from podium.explain.documents import Document
from podium.explain.listing import brief, refusals
from podium.explain.model import Model
from podium.explain.standings import Standings, waits
from podium.explain.why import gang_view
from podium.kube.resources import Resource

_SHOWN = 10


def explain_queue(model: Model, resource: Resource, document: Document) -> Explanation:
    """How a queue stands, and why the first in its line waits."""
    name = document["metadata"]["name"]
    shown = f"{resource.kind.lower()}/{name}"
    queue = model.cluster.queues.get(model.world.queues[resource].id(name))
    if queue is None:
        return Explanation(shown, "", "empty", f"{resource.kind} {name} is none that podium can read")
    waiting = [gang for gang in model.cluster.gangs.values() if gang.queue == queue.id and waits(gang)]
    profile = next((gang.profile for gang in waiting), next(iter(model.profiles)))
    standings = Standings(model)
    standing = standings.queue(queue, profile)
    line = standings.line(waiting[0]) if waiting else []
    sentence = _sentence(standing)
    reason = ""
    if line and profile in model.profiles:
        why = refusals(model, profile).get(line[0].id)
        if why is not None:
            sentence += f"; the first of {counted(len(line), 'gang')} in line, {_called(line[0])}: {brief(why)}"
            reason = why.code
        else:
            sentence += f"; {_called(line[0])} is next"
    return Explanation(
        object=shown,
        namespace="",
        state="waiting" if waiting else "running" if standing.running else "empty",
        sentence=sentence,
        reason=reason,
        hint="" if queue.open else "open the queue",
        scheduler=profile,
        gangs=tuple(gang_view(model, gang) for gang in line[:_SHOWN]),
        queue=standing,
    )


def _called(gang: Gang) -> str:
    return f"{gang.namespace}/{gang.name}"


def _sentence(standing: QueueStanding) -> str:
    state = "" if standing.open else "is closed and "
    own = standing.nodes
    use = _use if own is None else _use_of_owner
    owns = "" if own is None else f"owns {counted(own, 'node')} and "
    held = ", ".join(use(each) for each in standing.amounts if _counts(each)) or "nothing"
    return f"queue {standing.name} {state}{owns}holds {held}; {standing.running} run and {standing.waiting} wait"


def _counts(amounts: Amounts) -> bool:
    """GPUs, and what is short: CPU and memory in plenty say little."""
    return amounts.resource.endswith("gpu") or (amounts.limit is not None and amounts.used == amounts.limit)


def _use_of_owner(amounts: Amounts) -> str:
    """Of a queue that owns nodes: what these have is what it deserves."""
    over = "" if amounts.borrowed == "0" else f", {amounts.borrowed} of it borrowed"
    return f"{amounts.used} {amounts.resource}{over}, where its nodes have {amounts.deserved}"


def _use(amounts: Amounts) -> str:
    limit = "" if amounts.limit is None else f", at most {amounts.limit}"
    over = "" if amounts.borrowed == "0" else f", {amounts.borrowed} of it borrowed"
    return f"{amounts.used} of {amounts.deserved} {amounts.resource} that it deserves{over}{limit}"
