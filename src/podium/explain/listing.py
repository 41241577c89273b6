"""Who runs and who waits, a row for each workload; and what nodes have, a row for each kind and state of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podium.amounts import counted, shown
from podium.core.framework.shares import called
from podium.core.model.decisions import Decision, Refuse
from podium.core.model.model import FINISHED, HOLDING, Gang, State, Task
from podium.explain.answers import NodeRow, QueueList, QueueStanding, WorkloadRow
from podium.explain.model import Model
from podium.explain.standings import Standings, waits
from podium.kube.resources import PODS
from podium.numbers import WHOLE, HalfBound, Incomplete, Places
from podium.reasons import Refusal

_SHARES = "gpu-milli"  # resources that are thousandths of a GPU


# --- workloads ---------------------------------------------------------------------------------------------------


def list_workloads(model: Model, namespace: str = "") -> QueueList:
    """All workloads of podium's schedulers, those that wait in the order in which they are served."""
    standings = Standings(model)
    gangs = [gang for gang in model.cluster.gangs.values() if gang.profile in model.profiles and _alive(gang)]
    waiting = {gang.profile for gang in gangs if waits(gang)}
    why = {gang: refusal for profile in sorted(waiting) for gang, refusal in refusals(model, profile).items()}
    by_owner: dict[tuple[str, str, str], list[Gang]] = {}
    for gang in gangs:
        if not namespace or gang.namespace == namespace:
            by_owner.setdefault(_owner(model, gang), []).append(gang)
    positions: dict[str, int] = {}
    for gang in gangs:
        if waits(gang) and gang.id not in positions:
            positions |= {each.id: number for number, each in enumerate(standings.line(gang), start=1)}
    rows = [_row(model, owner, members, positions, why) for owner, members in by_owner.items()]
    rows.sort(
        key=lambda row: (row.state == "PD", row.queue, row.position or 0, row.since, row.namespace, row.name)
    )
    return QueueList(tuple(rows), tuple(list_queues(model, standings)))


def list_queues(model: Model, standings: Standings | None = None) -> Iterator[QueueStanding]:
    """All queues that somebody may be in, or is in."""
    standings = standings or Standings(model)
    profiles: dict[str, str] = {}
    for gang in model.cluster.gangs.values():
        if gang.profile in model.profiles:
            profiles.setdefault(gang.queue, gang.profile)
    for id, queue in sorted(model.cluster.queues.items()):
        if id:
            yield standings.queue(queue, profiles.get(id, next(iter(model.profiles))))


def _alive(gang: Gang) -> bool:
    return waits(gang) or any(task.state not in FINISHED for task in gang.tasks.values())


def refusals(model: Model, profile: str) -> dict[str, Refusal]:
    """Why gangs of a profile wait, by gang: the first reason of each."""

    def look(decisions: list[Decision]) -> tuple[bool, dict[str, Refusal]]:
        found: dict[str, Refusal] = {}
        for each in decisions:
            if isinstance(each, Refuse):
                found.setdefault(each.gang, each.refusal)
        return True, found

    return model.turns(profile, look)


def _owner(model: Model, gang: Gang) -> tuple[str, str, str]:
    """Namespace, kind and name of what a user made: the owner of a group or a pod, or that itself."""
    found = model.world.group_of(gang)
    if found is not None:
        resource, _, obj = found
        owner = obj.metadata.controller
        return (gang.namespace, owner.kind, owner.name) if owner else (gang.namespace, resource.kind, gang.name)
    task = next(iter(gang.tasks.values()), None)
    pod = model.world.pod_of(task) if task is not None else None
    owner = pod.metadata.controller if pod is not None else None
    return (gang.namespace, owner.kind, owner.name) if owner else (gang.namespace, PODS.kind, gang.name)


def _row(
    model: Model,
    owner: tuple[str, str, str],
    gangs: Sequence[Gang],
    positions: dict[str, int],
    why: dict[str, Refusal],
) -> WorkloadRow:
    namespace, kind, name = owner
    tasks = [task for gang in gangs for task in gang.tasks.values() if task.state not in FINISHED]
    placed = [task for task in tasks if task.state in HOLDING]
    stuck = [gang for gang in gangs if waits(gang)]
    waiting = bool(stuck) and len(placed) < sum(gang.minimum for gang in gangs)
    refusal = next((why[gang.id] for gang in stuck if gang.id in why), None)
    fault = next((model.world.refused[task.id] for task in tasks if task.id in model.world.refused), None)
    refusal = fault or refusal
    since = min((gang.created for gang in gangs), default=0.0)
    if not waiting:
        since = min((task.started or task.created for task in placed), default=since)
    queue = model.cluster.queues.get(gangs[0].queue)
    message = str(refusal) if refusal is not None else ""
    if stuck and refusal is None:
        held = sum(1 for task in tasks if task.gated and task.state is State.PENDING)
        message = f"held back by scheduling gates: {counted(held, 'pod')}" if held else "it is next"
    sums = _sums(model, tasks) if tasks else dict(gangs[0].minimum_resources or {})
    sums.pop("pods", None)
    return WorkloadRow(
        namespace,
        kind,
        name,
        called(queue) if queue is not None else gangs[0].queue_name,
        "PD" if waiting else "R",
        len(placed),
        max(len(tasks), *(gang.minimum for gang in gangs)) if len(gangs) == 1 else len(tasks),
        _gpus(sums),
        {key: shown(key, amount) for key, amount in sorted(sums.items())},
        since,
        max(gang.priority for gang in gangs),
        min((positions[gang.id] for gang in stuck if gang.id in positions), default=None) if waiting else None,
        tuple(dict.fromkeys(model.cluster.nodes.name(task.row) for task in placed if task.row >= 0)),
        refusal.code if refusal is not None and stuck else "",
        (brief(refusal) if refusal is not None else message) if stuck else "",
        message if stuck else "",
    )


def brief(refusal: Refusal) -> str:
    """A refusal in a few words: for a column."""
    numbers = refusal.numbers
    if isinstance(numbers, Incomplete | HalfBound):
        have = numbers.placed if isinstance(numbers, Incomplete) else numbers.bound
        return f"{have} of {numbers.need} fit; {brief(numbers.cause)}"
    if isinstance(numbers, Places):
        words = numbers.words()
        return str(words["causes"] if not numbers.matching else words["summary"])
    return str(refusal)


def _sums(model: Model, tasks: Iterable[Task]) -> dict[str, int]:
    names, sums = model.cluster.dimensions.names, dict[str, int]()
    for task in tasks:
        for column, amount in task.cls.request.pairs:
            sums[names[column]] = sums.get(names[column], 0) + amount
    return sums


def _gpus(sums: dict[str, int]) -> float:
    found = 0.0
    for name, amount in sums.items():
        if name.endswith(_SHARES):
            found += amount / WHOLE
        elif name.endswith("/gpu") or name.rpartition("/")[2] == "gpu":
            found += amount
    return found


# --- nodes -------------------------------------------------------------------------------------------------------

_MODEL_LABELS = ("nvidia.com/gpu.product", "podium.dev/gpu-model", "alibabacloud.com/gpu-card-model")


def list_nodes(model: Model) -> list[NodeRow]:
    """All nodes by name."""
    nodes, names = model.cluster.nodes, model.cluster.dimensions.names
    rows = []
    for name, row in sorted(nodes.rows.items()):
        facts = nodes.facts[row]
        assert facts is not None
        offered = {
            names[c]: int(nodes.allocatable[row, c]) for c in range(len(names)) if nodes.allocatable[row, c]
        }
        used = {names[c]: int(nodes.used[row, c]) for c in range(len(names)) if nodes.used[row, c]}
        tasks = model.cluster.on_row.get(row, {})
        if not facts.ready:
            state = "down"
        elif facts.unschedulable:
            state = "drain"
        else:
            state = _load(offered, used)
        queue = model.cluster.queues.get(facts.queue) if facts.queue else None
        rows.append(
            NodeRow(
                name,
                state,
                _gpus(offered),
                _gpus(used),
                facts.device_model
                or next((facts.labels[each] for each in _MODEL_LABELS if each in facts.labels), ""),
                shown("cpu", offered.get("cpu", 0)),
                shown("cpu", used.get("cpu", 0)),
                shown("memory", offered.get("memory", 0)),
                shown("memory", used.get("memory", 0)),
                len(tasks),
                called(queue) if queue is not None else "",
                tuple(f"{each.key}={each.value}" if each.value else each.key for each in facts.taints),
            )
        )
    return rows


def _load(offered: dict[str, int], used: dict[str, int]) -> str:
    """By GPUs where a node has some, else by CPU: what a node is bought for."""
    for measure in (_gpus, lambda sums: float(sums.get("cpu", 0))):
        whole, held = measure(offered), measure(used)
        if whole:
            return "idle" if not held else "alloc" if held >= whole else "mix"
    return "idle"
