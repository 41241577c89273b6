"""Scenarios as tables: a small cluster, what is on it, which plugins decide, and what must come out.

nodes, queues, gangs, tasks      what there is
profile, actions                 who decides; a profile lists for each plugin the hooks that are on
expect                           places, evictions, nominations, phases
"""

from __future__ import annotations

from typing import Any

from podium.core.cluster import Cluster, GangFacts, TaskFacts
from podium.core.cycle import run_cycle
from podium.core.decisions import Bind, Decision, Evict, Nominate
from podium.core.constraints import Constraints
from podium.core.model import Phase, Queue, State
from podium.core.nodes import NodeFacts
from podium.core.profile import Profile, read_profile
from podium.core.session import SWITCHES
from podium.kube.quantity import parse_milli, parse_units

# A profile's short names for the switches of the configuration file.
HOOKS = {
    "jobOrder": "enableJobOrder",
    "jobReady": "enableJobReady",
    "jobPipelined": "enableJobPipelined",
    "jobStarving": "enableJobStarving",
    "jobEnqueued": "enableJobEnqueued",
    "taskOrder": "enableTaskOrder",
    "queueOrder": "enableQueueOrder",
    "preemptable": "enablePreemptable",
    "reclaimable": "enableReclaimable",
    "preemptive": "enablePreemptive",
    "overused": "enabledOverused",
    "allocatable": "enabledAllocatable",
    "predicate": "enablePredicate",
    "nodeOrder": "enableNodeOrder",
    "hierarchy": "enableHierarchy",
    "victim": "enabledVictim",
    "subJobReady": "enabledSubJobReady",
    "subJobOrder": "enabledSubJobOrder",
    "hyperNodeOrder": "enabledHyperNodeOrder",
    "hyperNodeGradient": "enabledHyperNodeGradient",
}
# Not switchable in the file: always on.
_ALWAYS = {"enableJobValid"}


def profile_of(tiers: list[list[dict[str, Any]]], actions: list[str], arguments: dict[str, Any]) -> Profile:
    switches = set(SWITCHES.values()) - _ALWAYS | set(HOOKS.values())
    document: dict[str, Any] = {"actions": ", ".join(actions), "tiers": []}
    for tier in tiers:
        plugins = []
        for each in tier:
            on = {HOOKS[hook] for hook in each["hooks"]}
            args = {**each.get("args", {}), **arguments.get(each["plugin"], {})}
            plugins.append({"name": each["plugin"], "arguments": args, **{s: s in on for s in switches}})
        document["tiers"].append({"plugins": plugins})
    return read_profile(document)


def amounts(given: dict[str, Any]) -> dict[str, int]:
    return {name: (parse_milli if name == "cpu" else parse_units)(value) for name, value in given.items()}


class Scenario:
    """A scenario put on a cluster and run once."""

    def __init__(self, table: dict[str, Any], profile: Profile) -> None:
        self.cluster = Cluster()
        self._names: dict[str, str] = {}
        self._build(table)
        self.decisions: list[Decision] = run_cycle(self.cluster, profile, now=1_000_000.0)
        self.cluster.validate()

    def _build(self, table: dict[str, Any]) -> None:
        classes = table.get("priorityClasses") or {}
        for name, node in (table.get("nodes") or {}).items():
            room = {key: value for key, value in node.items() if key not in ("labels", "taints")}
            facts = NodeFacts(name, allocatable=amounts(room), labels=node.get("labels") or {})
            self.cluster.put_node(facts)
        for name, queue in (table.get("queues") or {}).items():
            self.cluster.put_queue(
                Queue(
                    name,
                    name,
                    queue.get("parent", ""),
                    queue.get("weight", 1),
                    amounts(queue.get("capability") or {}),
                    amounts(queue.get("guarantee") or {}),
                    amounts(queue.get("deserved") or {}),
                    queue.get("priority", 0),
                    open=queue.get("state", "Open") == "Open",
                    attributes=queue.get("annotations") or {},
                )
            )
        for id, gang in (table.get("podgroups") or {}).items():
            namespace, _, name = id.partition("/")
            wanted = gang.get("minResources")
            self.cluster.put_gang(
                GangFacts(
                    id,
                    namespace,
                    name,
                    gang["queue"],
                    gang.get("min", 0),
                    gang.get("minTask") or {},
                    amounts(wanted) if wanted is not None else None,
                    classes.get(gang.get("prio"), 0),
                    phase=Phase[(gang.get("phase") or "Pending").upper()],
                    attributes=gang.get("annotations") or {},
                )
            )
        for index, (id, task) in enumerate(_tasks(table)):
            namespace, _, name = id.partition("/")
            state = State[(task.get("phase") or "Pending").upper()]
            if state is State.PENDING and task.get("node"):
                state = State.BOUND
            self.cluster.put_task(
                TaskFacts(
                    id,
                    namespace,
                    name,
                    f"{namespace}/{task['pg']}",
                    amounts(task.get("req") or {}),
                    Constraints(selector=tuple(sorted((task.get("nodeSelector") or {}).items()))),
                    task.get("task", ""),
                    task.get("priority", 1),
                    float(index),
                    state,
                    task.get("node", ""),
                    preemptable=task.get("preemptable", True),
                    preempts=task.get("preemptionPolicy") != "Never",
                    protected=namespace == "kube-system",
                )
            )

    @property
    def binds(self) -> dict[str, str]:
        return {each.task: each.node for each in self.decisions if isinstance(each, Bind)}

    @property
    def evicted(self) -> set[str]:
        return {each.task for each in self.decisions if isinstance(each, Evict)}

    @property
    def nominated(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for each in self.decisions:
            if isinstance(each, Nominate):
                found.setdefault(self.cluster.tasks[each.task].gang.id, []).append(each.node)
        return found

    def check(self, expect: dict[str, Any]) -> None:
        """Compares with what must come out."""
        if not expect.get("anyNodes"):
            for task, node in (expect.get("binds") or {}).items():
                assert self.binds.get(task) == node, (self.binds, self.decisions)
        if "bindsNum" in expect:
            assert len(self.binds) == expect["bindsNum"], (self.binds, self.decisions)
        if "evicted" in expect:
            assert self.evicted == set(expect["evicted"]), self.decisions
        if "evictNum" in expect:
            assert len(self.evicted) == expect["evictNum"], self.decisions
        for gang, nodes in (expect.get("pipelined") or {}).items():
            assert sorted(self.nominated.get(gang, [])) == sorted(nodes), self.decisions
        for gang, phase in (expect.get("phase") or {}).items():
            assert self.cluster.gangs[gang].phase is Phase[phase.upper()], self.decisions


def _tasks(table: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    pods = dict(table.get("pods") or {})
    found = []
    for gang, many in (pods.pop("generate", None) or {}).items():
        for index in range(many["count"]):
            found.append((many["name"].replace("<i>", str(index)), {**many, "pg": gang}))
    return [*pods.items(), *found]
