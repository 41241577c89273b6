"""Scenarios as tables: a small cluster, what is on it, which plugins decide, and what must come out.

A file holds `profiles` and `scenarios`.  A profile is a list of tiers; a tier names its plugins, each with the
hooks that are on (`all`: as an unwritten switch in a configuration file), or with `hooks` and arguments in `with`.

    about     one sentence
    profile   a name, or the tiers themselves
    actions   in order
    with      more arguments by plugin
    nodes     name: resources, `labels`
    queues    name: a queue's fields, amounts as Kubernetes writes them
    gangs     name: queue, min (1), roles, needs (its minimum of resources), priority, phase (inqueue), namespace,
              created, attributes, and tasks: by name, or {count, ...} for equal ones that are called <gang>-<i>;
              a task has ask, at (its node), state (pending, or running with a node), priority, role, labels,
              preemptable, preempts, gated, nominated
    then      placed (exactly: task -> node, names, or how many), by_gang (how many of each), evicted (exactly, or
              how many), waits (gang -> nodes it was promised), phases, refused (gang -> a code), and faults (queue
              -> a code)

What is not named in `then` is not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from podium.core.cluster import Cluster, GangFacts, TaskFacts
from podium.core.constraints import Constraints
from podium.core.cycle import run_cycle
from podium.core.decisions import Bind, Decision, Evict, Nominate, QueueFault, Refuse
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
    "namespaceOrder": "enableNamespaceOrder",
    "preemptable": "enablePreemptable",
    "reclaimable": "enableReclaimable",
    "preemptive": "enablePreemptive",
    "overused": "enabledOverused",
    "allocatable": "enabledAllocatable",
    "predicate": "enablePredicate",
    "nodeOrder": "enableNodeOrder",
    "hierarchy": "enableHierarchy",
    "victim": "enabledVictim",
}
# Not switchable in the file: always on.
_ALWAYS = {"enableJobValid"}

NOW = 1_000_000.0


def read_scenarios(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every scenario of a folder with its name, its profile filled in."""
    for path in sorted(folder.glob("*.yaml")):
        document = yaml.load(path.read_text(), yaml.CSafeLoader)
        profiles = document.get("profiles") or {}
        for index, table in enumerate(document["scenarios"]):
            profile = table["profile"]
            tiers = profiles[profile] if isinstance(profile, str) else profile
            yield f"{path.stem}-{index + 1:02}", {**table, "profile": tiers}


def profile_of(
    tiers: list[dict[str, Any]], actions: list[str], arguments: Mapping[str, Mapping[str, Any]] | None = None
) -> Profile:
    """A profile in which the listed hooks are on and all others are written as false."""
    switches = set(SWITCHES.values()) - _ALWAYS | set(HOOKS.values())
    document: dict[str, Any] = {"actions": ", ".join(actions), "tiers": []}
    for tier in tiers:
        plugins = []
        for name, given in tier.items():
            entry = given if isinstance(given, dict) else {"hooks": given}
            hooks = entry["hooks"]
            args = {**entry.get("with", {}), **(arguments or {}).get(name, {})}
            states = {} if hooks == "all" else {each: each in {HOOKS[hook] for hook in hooks} for each in switches}
            plugins.append({"name": name, "arguments": args, **states})
        document["tiers"].append({"plugins": plugins})
    return read_profile(document)


def amounts(given: Mapping[str, Any]) -> dict[str, int]:
    return {name: (parse_milli if name == "cpu" else parse_units)(str(value)) for name, value in given.items()}


class Scenario:
    """A scenario put on a cluster and run once."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.cluster = Cluster()
        self.profile = profile_of(table["profile"], table["actions"], table.get("with"))
        for name, node in (table.get("nodes") or {}).items():
            self.cluster.put_node(_node(name, node))
        for name, queue in (table.get("queues") or {}).items():
            self.cluster.put_queue(_queue(name, queue))
        self.cluster.namespace_weights = dict(table.get("namespaces") or {})
        for name, gang in (table.get("gangs") or {}).items():
            self.cluster.put_gang(_gang(name, gang))
            for task in _tasks(name, gang, len(self.cluster.tasks)):
                self.cluster.put_task(task)
        self.decisions: list[Decision] = []
        self.run()

    def run(self) -> None:
        """One cycle more."""
        self.decisions = run_cycle(self.cluster, self.profile, now=NOW)
        self.cluster.validate()

    @property
    def placed(self) -> dict[str, str]:
        return {each.task: each.node for each in self.decisions if isinstance(each, Bind)}

    @property
    def evicted(self) -> list[str]:
        return sorted(each.task for each in self.decisions if isinstance(each, Evict))

    @property
    def waits(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for each in self.decisions:
            if isinstance(each, Nominate):
                found.setdefault(self.cluster.tasks[each.task].gang.id, []).append(each.node)
        return {gang: sorted(nodes) for gang, nodes in found.items()}

    def check(self, then: Mapping[str, Any]) -> None:
        """Compares with what must come out."""
        unknown = set(then) - {"placed", "by_gang", "evicted", "waits", "phases", "refused", "faults"}
        assert not unknown, f"nothing checks {unknown}"
        if "placed" in then:
            _same(self.placed, then["placed"], self.decisions)
        if "by_gang" in then:
            counts = Counter(self.cluster.tasks[task].gang.id for task in self.placed)
            assert dict(counts) == then["by_gang"], self.decisions
        if "evicted" in then:
            _same(dict.fromkeys(self.evicted, ""), then["evicted"], self.decisions)
        if "waits" in then:
            assert self.waits == {gang: sorted(nodes) for gang, nodes in then["waits"].items()}, self.decisions
        for gang, phase in (then.get("phases") or {}).items():
            assert self.cluster.gangs[gang].phase is Phase[phase.upper()], (gang, self.decisions)
        for gang, code in (then.get("refused") or {}).items():
            found = {
                each.refusal.code for each in self.decisions if isinstance(each, Refuse) and each.gang == gang
            }
            assert code in found, (gang, found)
        if "faults" in then:
            faults = {each.queue: each.refusal.code for each in self.decisions if isinstance(each, QueueFault)}
            assert faults == then["faults"], self.decisions


def _same(found: Mapping[str, str], wanted: Any, decisions: list[Decision]) -> None:
    if isinstance(wanted, int):
        assert len(found) == wanted, decisions
    elif isinstance(wanted, list):
        assert sorted(found) == sorted(wanted), decisions
    else:
        assert found == wanted, decisions


def _node(name: str, given: Mapping[str, Any]) -> NodeFacts:
    room = {"pods": 110, **{key: value for key, value in given.items() if key != "labels"}}
    return NodeFacts(name, allocatable=amounts(room), labels=given.get("labels") or {})


def _queue(name: str, given: Mapping[str, Any]) -> Queue:
    fields: dict[str, Any] = {
        key: amounts(value) if key in ("capability", "guarantee", "deserved") else value
        for key, value in given.items()
    }
    return Queue(name, name, **fields)


def _gang(name: str, given: Mapping[str, Any]) -> GangFacts:
    needs = given.get("needs")
    return GangFacts(
        name,
        given.get("namespace", "ns"),
        name,
        given["queue"],
        given.get("min", 1),
        given.get("roles") or {},
        amounts(needs) if needs is not None else None,
        given.get("priority", 0),
        given.get("created", 0.0),
        Phase[given.get("phase", "inqueue").upper()],
        given.get("preemptable", True),
        given.get("attributes") or {},
    )


def _tasks(gang: str, given: Mapping[str, Any], first: int) -> Iterator[TaskFacts]:
    tasks = given.get("tasks") or {}
    if "count" in tasks:
        alike = {key: value for key, value in tasks.items() if key != "count"}
        tasks = {f"{gang}-{index}": alike for index in range(tasks["count"])}
    namespace = given.get("namespace", "ns")
    for index, (name, task) in enumerate(tasks.items(), start=first):
        node = task.get("at", "")
        yield TaskFacts(
            name,
            namespace,
            name,
            gang,
            amounts(task.get("ask") or {}),
            Constraints(selector=tuple(sorted((task.get("selector") or {}).items()))),
            task.get("role", ""),
            task.get("priority", 1),
            float(index),
            State[task.get("state", "running" if node else "pending").upper()],
            node,
            task.get("nominated", ""),
            preemptable=task.get("preemptable", True),
            preempts=task.get("preempts", True),
            gated=task.get("gated", False),
            protected=task.get("protected", False),
            labels=task.get("labels") or {},
        )
