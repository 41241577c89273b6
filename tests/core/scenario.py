"""Scenarios as tables: a small cluster, what is on it, which plugins decide, and what must come out.

A file holds `profiles` and `scenarios`.  A profile is a list of tiers; a tier names its plugins, each with the
hooks that are on (`all`: as an unwritten switch in a configuration file), or with `hooks` and arguments in `with`.

    about     one sentence
    argument  a plugin and its argument, or `switch` and a switch: without it something else must come out
    profile   a name, or the tiers themselves
    actions   in order
    with      more arguments by plugin
    nodes     name: resources, `labels`
    queues    name: a queue's fields, amounts as Kubernetes writes them
    gangs     name: queue, min (1), roles, needs (its minimum of resources), priority, phase (inqueue), namespace,
              created, attributes, and tasks: by name, or {count, ...} for equal ones that are called <gang>-<i>;
              a task has ask, at (its node), state (pending, or running with a node), priority, role, labels,
              preemptable, preempts, protected (of the system), gated, nominated, selector, and apart (topology
              label -> labels of tasks that it shuns there)
    namespaces name: weight
    configure arguments by action
    then      placed (exactly: task -> node, names, or how many), by_gang (how many of each), evicted (exactly, or
              how many), waits (gang -> nodes it was promised), phases, refused (gang -> a code), and faults (queue
              -> a code)

What is not named in `then` is not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.cycle import run_cycle
from podium.core.framework.hooks import SWITCHES
from podium.core.model.constraints import Constraints, PodSelection, PodTerm, Requirement
from podium.core.model.decisions import Bind, Decision, Evict, Failure, Nominate, QueueFault, Refuse
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Phase, Queue, State
from podium.core.profiles.profile import read_profile
from podium.dialects.volcano.names import NODE_GROUP
from podium.dialects.volcano.translate import longest_wait, read_path
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

NOW = 1_000_000.0
NAMESPACE = "ns"  # of gangs that name none


def read_scenarios(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every scenario of a folder with its name, its profile filled in."""
    for path in sorted(folder.glob("*.yaml")):
        document = yaml.load(path.read_text(), yaml.CSafeLoader)
        profiles = document.get("profiles") or {}
        for index, table in enumerate(document["scenarios"]):
            profile = table["profile"]
            tiers = profiles[profile] if isinstance(profile, str) else profile
            yield f"{path.stem}-{index + 1:02}", {**table, "profile": tiers}


def configuration_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario's profile as a configuration file: the listed hooks are on, all others are written as false."""
    arguments = table.get("with") or {}
    document: dict[str, Any] = {"actions": ", ".join(table["actions"]), "tiers": []}
    for tier in table["profile"]:
        plugins = []
        for name, given in tier.items():
            entry = given if isinstance(given, dict) else {"hooks": given}
            hooks = entry["hooks"]
            args = {**entry.get("with", {}), **arguments.get(name, {})}
            states = {} if hooks == "all" else {each: each in {HOOKS[hook] for hook in hooks} for each in SWITCHES}
            plugins.append({"name": name, "arguments": args, **states})
        document["tiers"].append({"plugins": plugins})
    configured = table.get("configure") or {}
    document["configurations"] = [{"name": name, "arguments": reported} for name, reported in configured.items()]
    return document


def without_argument(table: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario as it would be without the argument, or the switch, that it is about."""
    owner, name = table["argument"]

    def stripped(reported: Mapping[str, Any]) -> dict[str, Any]:
        head = name.partition("<")[0]
        return {
            key: value
            for key, value in reported.items()
            if key != name and not (head != name and key.startswith(head))
        }

    def entry(plugin: str, given: Any) -> Any:
        table = given if isinstance(given, dict) else {"hooks": given}
        hooks = table["hooks"]
        if owner == "switch" and hooks != "all":
            hooks = [hook for hook in hooks if HOOKS[hook] != name]
        reported = table.get("with", {})
        return {"hooks": hooks, "with": stripped(reported) if plugin == owner else reported}

    return {
        **table,
        "profile": [{plugin: entry(plugin, given) for plugin, given in tier.items()} for tier in table["profile"]],
        "with": {
            plugin: stripped(reported) if plugin == owner else reported
            for plugin, reported in (table.get("with") or {}).items()
        },
    }


def amounts(given: Mapping[str, Any]) -> dict[str, int]:
    return {name: (parse_milli if name == "cpu" else parse_units)(str(value)) for name, value in given.items()}


class Outcome(msgspec.Struct, frozen=True):
    """What came out of a scenario, whoever saw it."""

    gangs: Mapping[str, str]  # of all tasks
    placed: Mapping[str, str]
    evicted: Collection[str]
    waits: Mapping[str, Sequence[str]]  # by gang: the nodes it was promised
    phases: Mapping[str, Phase]
    refused: Mapping[str, Collection[str]]  # by gang: the codes it was told
    faults: Mapping[str, str]

    def check(self, then: Mapping[str, Any]) -> None:
        """Compares with what must come out."""
        unknown = set(then) - {"placed", "by_gang", "evicted", "waits", "phases", "refused", "faults"}
        assert not unknown, f"nothing checks {unknown}"
        if "placed" in then:
            self._same(self.placed, then["placed"])
        if "by_gang" in then:
            assert Counter(self.gangs[task] for task in self.placed) == then["by_gang"], self
        if "evicted" in then:
            self._same(dict.fromkeys(self.evicted, ""), then["evicted"])
        if "waits" in then:
            waits = {gang: sorted(nodes) for gang, nodes in self.waits.items()}
            assert waits == {gang: sorted(nodes) for gang, nodes in then["waits"].items()}, self
        for gang, phase in (then.get("phases") or {}).items():
            assert self.phases[gang] is Phase[phase.upper()], (gang, self)
        for gang, code in (then.get("refused") or {}).items():
            assert code in self.refused.get(gang, ()), (gang, self)
        if "faults" in then:
            assert self.faults == then["faults"], self

    def _same(self, found: Mapping[str, str], wanted: Any) -> None:
        if isinstance(wanted, int):
            assert len(found) == wanted, self
        elif isinstance(wanted, list):
            assert sorted(found) == sorted(wanted), self
        else:
            assert found == wanted, self


class Scenario:
    """A scenario put on a cluster and run once."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.cluster = Cluster()
        self.profile = read_profile(configuration_of(table))
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
        failures = [each.trace for each in self.decisions if isinstance(each, Failure)]
        assert not failures, failures[0]

    @property
    def outcome(self) -> Outcome:
        """What was decided."""
        tasks = self.cluster.tasks
        waits: dict[str, list[str]] = {}
        refused: dict[str, set[str]] = {}
        for each in self.decisions:
            if isinstance(each, Nominate):
                waits.setdefault(tasks[each.task].gang.id, []).append(each.node)
            elif isinstance(each, Refuse):
                refused.setdefault(each.gang, set()).add(each.refusal.code)
        return Outcome(
            gangs={task.id: task.gang.id for task in tasks.values()},
            placed={each.task: each.node for each in self.decisions if isinstance(each, Bind)},
            evicted={each.task for each in self.decisions if isinstance(each, Evict)},
            waits=waits,
            phases={gang.id: gang.phase for gang in self.cluster.gangs.values()},
            refused=refused,
            faults={each.queue: each.refusal.code for each in self.decisions if isinstance(each, QueueFault)},
        )


def room_of(node: Mapping[str, Any]) -> dict[str, Any]:
    """What a node has."""
    return {"pods": 110, **{key: value for key, value in node.items() if key != "labels"}}


def _node(name: str, given: Mapping[str, Any]) -> NodeFacts:
    labels = given.get("labels") or {}
    return NodeFacts(name, allocatable=amounts(room_of(given)), labels=labels, group=labels.get(NODE_GROUP, ""))


def _queue(name: str, given: Mapping[str, Any]) -> Queue:
    fields: dict[str, Any] = {
        key: amounts(value) if key in ("capability", "guarantee", "deserved") else value
        for key, value in given.items()
        if key != "attributes"
    }
    return Queue(name, name, path=read_path(given.get("attributes") or {}), **fields)


def _gang(name: str, given: Mapping[str, Any]) -> GangFacts:
    needs = given.get("needs")
    attributes = given.get("attributes") or {}
    return GangFacts(
        name,
        given.get("namespace", NAMESPACE),
        name,
        given["queue"],
        given.get("min", 1),
        given.get("roles") or {},
        amounts(needs) if needs is not None else None,
        given.get("priority", 0),
        given.get("created", 0.0),
        Phase[given.get("phase", "inqueue").upper()],
        given.get("preemptable", True),
        attributes,
        longest_wait=longest_wait(attributes),
    )


def tasks_of(gang: str, given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The tasks of a gang by name."""
    tasks: dict[str, Mapping[str, Any]] = given.get("tasks") or {}
    if "count" not in tasks:
        return tasks
    alike = {key: value for key, value in tasks.items() if key != "count"}
    return {f"{gang}-{index}": alike for index in range(given["tasks"]["count"])}


def _tasks(gang: str, given: Mapping[str, Any], first: int) -> Iterator[TaskFacts]:
    namespace = given.get("namespace", NAMESPACE)
    for index, (name, task) in enumerate(tasks_of(gang, given).items(), start=first):
        node = task.get("at", "")
        yield TaskFacts(
            name,
            namespace,
            name,
            gang,
            amounts(task.get("ask") or {}),
            _constraints(namespace, task),
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


def _constraints(namespace: str, task: Mapping[str, Any]) -> Constraints:
    return Constraints(
        selector=tuple(sorted((task.get("selector") or {}).items())),
        anti_affinity=tuple(
            PodTerm(key, PodSelection((namespace,), tuple(Requirement(k, "In", (v,)) for k, v in labels.items())))
            for key, labels in (task.get("apart") or {}).items()
        ),
    )
