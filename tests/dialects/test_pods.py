"""Pods in the core's words: states, amounts, gates, and everything that may be wrong with them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.model.model import Phase, State
from podium.dialects.kubernetes.translate import PodFacts
from tests.dialects.objects import Document, container, decode, pod, read, reader, task

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("document", "state"),
    [
        (pod(), State.PENDING),
        (pod(nodeName="n"), State.BOUND),
        (pod(nodeName="n", status={"phase": "Running"}), State.RUNNING),
        (pod(nodeName="n", status={"phase": "Unknown"}), State.UNKNOWN),
        (pod(nodeName="n", status={"phase": "Succeeded"}), State.SUCCEEDED),
        (pod(nodeName="n", status={"phase": "Failed"}), State.FAILED),
        (pod(nodeName="n", status={"phase": "Running"}, deleted=True), State.RELEASING),
        (pod(nodeName="n", status={"phase": "Failed"}, deleted=True), State.FAILED),
        (pod(deleted=True), State.RELEASING),
    ],
)
def test_states(document: Document, state: State) -> None:
    assert task(document).state is state


def test_what_is_read_of_a_pod() -> None:
    facts = read(
        pod(
            "w-3",
            annotations={"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "worker"},
            labels={"a": "b"},
            containers=[container(cpu="500m", memory="1Gi"), container("d", **{GPU: "2"})],
            overhead={"cpu": "100m"},
            priority=7,
            preemptionPolicy="Never",
            schedulingGates=[{"name": "wait"}],
            status={"nominatedNodeName": "n", "startTime": "2026-01-01T00:00:10Z"},
        )
    )
    one = facts.task
    assert (facts.profile, facts.gang, facts.refusal) == ("volcano", None, None)
    assert (one.id, one.namespace, one.name) == ("uid-w-3", "default", "w-3")
    assert (one.gang, one.role) == ("volcano/default/g", "worker")
    assert one.amounts == {"cpu": 600, "memory": 2**30, GPU: 2}
    assert (one.priority, one.preempts, one.gated, one.nominated) == (7, False, True, "n")
    assert one.labels == {"a": "b"}
    assert one.started - one.created == 10


def test_init_containers_and_sidecars_count_as_kubernetes_counts_them() -> None:
    sidecar = {**container("s", cpu="1"), "restartPolicy": "Always"}
    wanted = task(pod(containers=[container(cpu="1")], initContainers=[sidecar, container("i", cpu="4")]))
    assert wanted.amounts == {"cpu": 5000}


def test_a_pod_that_is_being_resized_takes_the_larger_amount() -> None:
    seen = {
        "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "3"}}
        ]
    }
    document = pod(containers=[container(cpu="1")], nodeName="n", status={"phase": "Running", **seen})
    assert task(document).amounts == {"cpu": 3000}
    document["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "5"
    assert task(document).amounts == {"cpu": 5000}


@pytest.mark.parametrize(
    ("more", "protected"),
    [
        ({}, False),
        ({"namespace": "kube-system"}, True),
        ({"priorityClassName": "system-node-critical"}, True),
        ({"priorityClassName": "high"}, False),
    ],
)
def test_what_belongs_to_the_system(more: dict[str, Any], protected: bool) -> None:
    assert task(pod(**more)).protected is protected


def test_a_pod_without_a_group_is_a_gang_of_one() -> None:
    facts = read(pod("a", uid="u", priority=3))
    assert facts.task.gang == "pod/u"
    assert facts.gang is not None
    assert (facts.gang.id, facts.gang.minimum, facts.gang.priority) == ("pod/u", 1, 3)
    assert (facts.gang.queue, facts.gang.phase) == ("volcano/default", Phase.INQUEUE)
    named = read(pod(annotations={"scheduling.volcano.sh/queue-name": "q"})).gang
    assert named is not None
    assert named.queue == "volcano/q"
    foreign = read(pod(schedulerName="somebody-else"))
    assert foreign.gang is not None
    assert (foreign.profile, foreign.gang.queue) == ("somebody-else", "")


def test_volcano_marks_on_pods() -> None:
    assert task(pod(annotations={"volcano.sh/task-priority": "9"}, priority=1)).priority == 9
    assert task(pod(annotations={"volcano.sh/task-priority": "much"}, priority=1)).priority == 1
    assert task(pod()).preemptable
    assert not task(pod(annotations={"volcano.sh/preemptable": "false"})).preemptable
    assert not task(pod(labels={"volcano.sh/preemptable": "false"})).preemptable
    both = pod(annotations={"volcano.sh/preemptable": "true"}, labels={"volcano.sh/preemptable": "false"})
    assert task(both).preemptable, "the annotation goes first"


# --- poison ------------------------------------------------------------------------------------------------


def required(*terms: Document) -> Document:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(operator: str, *values: str, key: str = "a") -> Document:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


NODE_TERM = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
REQUESTS = "spec.containers[0].resources.requests[cpu]"

POISON: list[tuple[Document, str]] = [
    *((pod(containers=[container(cpu=bad)]), REQUESTS) for bad in ("1e400", "-1", "0x", "NaN", "", "1Q", "--1")),
    (pod(initContainers=[container("i", memory="-1Gi")]), "spec.initContainers[0].resources.requests[memory]"),
    (pod(overhead={"cpu": "much"}), "spec.overhead[cpu]"),
    (pod(resources={"requests": {"cpu": "-1"}}), "spec.resources.requests[cpu]"),
    (pod(affinity=required(expression("Is", "b"))), f"{NODE_TERM}[0].matchExpressions[0].operator"),
    (pod(affinity=required(expression("In"))), f"{NODE_TERM}[0].matchExpressions[0].values"),
    (pod(affinity=required(expression("Gt", "x"))), f"{NODE_TERM}[0].matchExpressions[0].values"),
    (pod(affinity=required(expression("Lt", "1", "2"))), f"{NODE_TERM}[0].matchExpressions[0].values"),
    (
        pod(affinity=required({"matchFields": [{"key": "spec.x", "operator": "In", "values": ["n"]}]})),
        f"{NODE_TERM}[0].matchFields[0].key",
    ),
    (pod(affinity=required(*(expression("In", "b") for _ in range(10_000)))), "conditions on where it may go"),
    (pod(affinity=required(expression("In", *map(str, range(10_000))))), "conditions on where it may go"),
    (
        pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}}),
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
    ),
    (
        pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "z"}]),
        "spec.topologySpreadConstraints[0].maxSkew",
    ),
    (
        pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "Perhaps"}]),
        "spec.topologySpreadConstraints[0].whenUnsatisfiable",
    ),
]


@pytest.mark.parametrize(
    ("document", "reported"), POISON, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_cannot_be_understood_is_gated_with_a_reason(document: Document, reported: str) -> None:
    facts = read(document)
    assert facts.refusal is not None
    assert facts.refusal.code == "InvalidSpec"
    assert reported in str(facts.refusal)
    assert facts.task.gated


def test_the_good_part_of_a_broken_pod_still_takes_room() -> None:
    facts = read(pod(containers=[container(cpu="NaN", memory="1Gi"), container("d", cpu="1")], nodeName="n"))
    assert facts.refusal is not None
    assert facts.task.amounts == {"memory": 2**30, "cpu": 1000}


@pytest.mark.parametrize("amount", ["999Ei", "9223372036854775808", "9e18", "1e99"])
def test_an_amount_beyond_all_bounds_fits_nowhere_and_breaks_nothing(amount: str) -> None:
    document = pod(containers=[container(memory=amount), container("d", memory=amount)])
    cluster = Cluster()
    cluster.put_node(NodeFacts("n", allocatable={"cpu": 1000, "memory": 2**40, "pods": 10}))
    put(cluster, read(document))
    request = next(iter(cluster.tasks.values())).cls.request
    assert request.amount(1) > 2**40
    document["spec"]["nodeName"] = "n"
    document["metadata"]["uid"] = "other"
    put(cluster, read(document))
    cluster.validate()


def put(cluster: Cluster, facts: PodFacts) -> None:
    assert facts.gang is not None
    cluster.put_gang(facts.gang)
    cluster.put_task(facts.task)


def test_impossible_wishes_are_wishes_all_the_same() -> None:
    missing = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
    assert task(pod(affinity=required(missing))).constraints.required
    contradiction = {
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["b"]},
            {"key": "a", "operator": "NotIn", "values": ["b"]},
        ]
    }
    assert task(pod(affinity=required(contradiction))).constraints.required
    assert task(pod(affinity=required())).constraints.required == (), "no term can hold"


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    quantities=st.dictionaries(
        st.text(max_size=12), st.text(max_size=12) | st.integers() | st.floats(), max_size=4
    ),
    operator=st.text(max_size=12),
    values=st.lists(st.text(max_size=5), max_size=3),
    weight=st.integers(-(2**40), 2**40),
    annotations=st.dictionaries(
        st.sampled_from(["scheduling.k8s.io/group-name", "volcano.sh/task-priority", "volcano.sh/preemptable"]),
        st.text(max_size=12),
    ),
    claims=st.lists(_json, max_size=3),
)
def test_no_pod_breaks_the_reader(
    quantities: Document,
    operator: str,
    values: list[str],
    weight: int,
    annotations: Document,
    claims: list[Any],
) -> None:
    try:
        json.dumps(quantities, allow_nan=False)
    except ValueError:
        quantities = {}
    term = {"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}
    preferred = [{"weight": weight, "preference": term}]
    document = pod(
        annotations=annotations,
        containers=[{"name": "c", "resources": {"requests": quantities}}],
        affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
        resourceClaims=claims,
    )
    facts = read(document)
    assert facts.task.gated is (facts.refusal is not None)
    assert all(amount >= 0 for amount in facts.task.amounts.values())


# --- speed -------------------------------------------------------------------------------------------------


def test_equal_specs_share_their_constraints() -> None:
    reading = reader()
    tolerations = [{"key": "a", "operator": "Exists"}]
    env = [{"name": "INDEX", "value": "1"}]
    first = reading.read(decode(pod("a", tolerations=tolerations)))
    second = reading.read(decode(pod("b", tolerations=tolerations, containers=[{**container(), "env": env}])))
    assert first.task.constraints is second.task.constraints
    assert first.task.amounts is second.task.amounts
    third = reading.read(decode(pod("c", tolerations=tolerations, nodeSelector={"x": "y"})))
    assert third.task.constraints is not first.task.constraints


def test_a_pod_like_one_seen_before_costs_little() -> None:
    reading = reader()
    pods = [decode(pod(f"a-{index}", containers=[container(cpu="1", memory="1Gi")])) for index in range(2000)]
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        for each in pods:
            reading.read(each)
        best = min(best, time.perf_counter() - begun)
    assert best / len(pods) < 60e-6, "about 11 microseconds on an idle machine"
