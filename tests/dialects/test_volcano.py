"""Volcano's groups and queues in the core's words, and what a turn means for their status."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.cluster.cluster import Cluster
from podium.core.cluster.nodes import NodeFacts
from podium.core.model.constraints import Requirement
from podium.core.model.facts import GangFacts, TaskFacts
from podium.core.model.model import Gang, NetworkTopology, NodeGroups, PathStep, Phase, State, SubGroupPolicy
from podium.dialects.dialect import Verdict
from podium.dialects.kubernetes.policies import Priorities
from podium.dialects.queue_report import QueueReport
from podium.dialects.volcano.status import group_patch, phase_of, queue_patch
from podium.dialects.volcano.translate import read_group, read_queue
from podium.dialects.volcano.types import PodGroup
from podium.kube.changes import Patch
from podium.kube.times import format_time
from podium.kube.wire import PriorityClass
from podium.numbers import Block, Cause, Places
from podium.queue_reasons import NO_QUEUE
from podium.reasons import GANG, NO_NODES, NO_ROOM, TOO_FEW, TOO_FEW_OF_ROLE, UNPLACEABLE, Refusal, refuse
from podium.schema.patches import merge_patch
from tests.dialects.objects import group, queue

HIGH = msgspec.convert({"metadata": {"name": "high"}, "value": 9}, PriorityClass)
NOW = 1_800_000_000.0


# --- to the core -------------------------------------------------------------------------------------------


def test_a_group_of_version_1_1() -> None:
    found, refusal = read_group(group("g", minMember=3), Priorities())
    assert refusal is None
    assert (found.id, found.namespace, found.name) == ("volcano/default/g", "default", "g")
    assert (found.queue, found.minimum, found.phase) == ("volcano/default", 3, Phase.PENDING)
    assert (found.minimum_resources, found.minimum_by_role) == (None, {})
    assert found.created > 0


def test_a_group_with_everything() -> None:
    wanted = {
        "cpu": "2",
        "requests.cpu": "2",
        "nvidia.com/gpu": 4,
        "count/pods": "2",
        "pods": 2,
        "limits.memory": 1,
    }
    marks = {"volcano.sh/sla-waiting-time": "1h", "volcano.sh/preemptable": "false"}
    found, refusal = read_group(
        group(
            "g",
            annotations=marks,
            status={"phase": "Inqueue"},
            minMember=2,
            minTaskMember={"ps": 1, "worker": 1},
            minResources=wanted,
            queue="q",
            priorityClassName="high",
        ),
        Priorities([HIGH]),
    )
    assert refusal is None
    assert found.minimum_resources == {"cpu": 2000, "nvidia.com/gpu": 4, "pods": 2}
    assert found.minimum_by_role == {"ps": 1, "worker": 1}
    assert (found.queue, found.priority, found.phase) == ("volcano/q", 9, Phase.INQUEUE)
    assert found.attributes == marks
    assert not found.preemptable


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"minMember": -1}, "spec.minMember"),
        ({"minTaskMember": {"w": -2}}, "spec.minTaskMember[w]"),
        ({"minResources": {"cpu": "x", "memory": "1Gi"}}, "spec.minResources[cpu]"),
        ({"minResources": {"cpu": "-1"}}, "spec.minResources[cpu]"),
        ({"subGroupPolicy": [{"name": "a", "subGroupSize": 0}]}, "spec.subGroupPolicy[0].subGroupSize"),
        ({"subGroupPolicy": [{"name": "a", "minSubGroups": -1}]}, "spec.subGroupPolicy[0].minSubGroups"),
        (
            {"subGroupPolicy": [{"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}]},
            "spec.subGroupPolicy[0].labelSelector.matchExpressions[0].operator",
        ),
    ],
)
def test_groups_that_no_server_should_hold(spec: dict[str, Any], field: str) -> None:
    found, refusal = read_group(group("g", **spec), Priorities())
    assert str(refusal).startswith(field)
    assert found.minimum >= 0


def test_a_group_with_groups_inside() -> None:
    policy = {
        "name": "replicas",
        "subGroupSize": 4,
        "minSubGroups": 2,
        "labelSelector": {"matchLabels": {"part": "worker"}},
        "matchLabelKeys": ["replica"],
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    found, refusal = read_group(
        group("g", networkTopology={"mode": "soft"}, subGroupPolicy=[policy, {"name": "rest"}]), Priorities()
    )
    assert refusal is None
    assert found.topology == NetworkTopology(hard=False)
    assert found.policies == (
        SubGroupPolicy(
            "replicas",
            size=4,
            minimum=2,
            selector=(Requirement("part", "In", ("worker",)),),
            keys=("replica",),
            topology=NetworkTopology(tier=1),
        ),
        SubGroupPolicy("rest"),
    )


@pytest.mark.parametrize("phase", ["Pending", "Inqueue", "Running", "Unknown", "Completed"])
def test_phases_go_both_ways(phase: str) -> None:
    found, _ = read_group(group("g", status={"phase": phase}), Priorities())
    assert found.phase.name.capitalize() == phase


def test_queues() -> None:
    plain, faults = read_queue(queue("q"))
    assert faults == ()
    assert (plain.id, plain.name, plain.parent) == ("volcano/q", "q", "volcano/root")
    assert (plain.weight, plain.reclaimable, plain.open, plain.fifo) == (1, True, True, False)
    assert (plain.capability, plain.guarantee, plain.deserved, plain.groups) == ({}, {}, {}, None)
    assert read_queue(queue("root"))[0].parent == ""
    full, _ = read_queue(
        queue(
            "q",
            annotations={"volcano.sh/hierarchy": "root/q"},
            status={"state": "Closing"},
            weight=0,
            capability={"cpu": "4"},
            guarantee={"resource": {"cpu": "1"}},
            deserved={"cpu": 2, "memory": "1Gi"},
            parent="p",
            priority=5,
            reclaimable=False,
            dequeueStrategy="fifo",
            affinity={
                "nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["a"]},
                "nodeGroupAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": ["b"]},
            },
        )
    )
    assert (full.parent, full.weight, full.priority) == ("volcano/p", 1, 5)
    assert (full.reclaimable, full.open, full.fifo) == (False, False, True)
    assert (full.capability, full.guarantee) == ({"cpu": 4000}, {"cpu": 1000})
    assert full.deserved == {"cpu": 2000, "memory": 2**30}
    assert full.groups == NodeGroups(required=("a",), anti_preferred=("b",))
    assert full.path == (PathStep("root"), PathStep("q"))


@pytest.mark.parametrize(
    ("state", "is_open"), [("", True), ("Open", True), ("Closed", False), ("Closing", False), ("Unknown", False)]
)
def test_only_an_open_queue_takes_jobs(state: str, is_open: bool) -> None:
    assert read_queue(queue("q", status={"state": state}))[0].open is is_open


def test_limits_of_a_queue_by_group_of_nodes() -> None:
    key = "volcano.sh/nodegroup-resource-limits"
    found, faults = read_queue(queue("q", annotations={key: '{"fast": {"cpu": "2", "nvidia.com/gpu": 1}}'}))
    assert (found.group_limits, faults) == ({"fast": {"cpu": 2000, "nvidia.com/gpu": 1}}, ())
    found, faults = read_queue(queue("q", annotations={key: '{"fast": {"cpu": "x", "memory": "1Gi"}}'}))
    assert found.group_limits == {"fast": {"memory": 2**30}}
    assert f"metadata.annotations[{key}][fast][cpu]" in str(faults[0])
    found, faults = read_queue(queue("q", annotations={key: "fast=2"}))
    assert found.group_limits == {}
    assert str(faults[0]).startswith(f"queue q: metadata.annotations[{key}]: ")


def test_a_broken_amount_of_a_queue_is_told_and_left_out() -> None:
    found, faults = read_queue(queue("q", capability={"cpu": "1e400", "memory": "1Gi"}))
    assert found.capability == {"memory": 2**30}
    assert "queue q: spec.capability[cpu]" in str(faults[0])


# --- from the core -----------------------------------------------------------------------------------------


def gang(
    *states: State, minimum: int = 2, phase: Phase = Phase.INQUEUE, roles: dict[str, int] | None = None
) -> Gang:
    """A gang with a task in each of the states, all on one node as far as they are on one."""
    cluster = Cluster()
    cluster.put_node(NodeFacts("n", allocatable={"cpu": 64_000, "pods": 100}))
    made = cluster.put_gang(GangFacts("g", "default", "g", "q", minimum, minimum_by_role=roles or {}, phase=phase))
    for index, state in enumerate(states):
        place = "" if state is State.PENDING else "n"
        facts = TaskFacts(
            f"t{index}", "default", f"p-{index}", "g", {"cpu": 1000}, role="w", state=state, node=place
        )
        cluster.put_task(facts)
    return made


P, B, R, L, S, F = State.PENDING, State.BOUND, State.RUNNING, State.RELEASING, State.SUCCEEDED, State.FAILED


@pytest.mark.parametrize(
    ("states", "before", "stuck", "after"),
    [
        ([], Phase.PENDING, False, Phase.PENDING),
        ([P, P], Phase.PENDING, True, Phase.PENDING),
        ([P, P], Phase.INQUEUE, True, Phase.INQUEUE),
        ([P, P], Phase.RUNNING, True, Phase.PENDING),
        ([B, B], Phase.INQUEUE, False, Phase.RUNNING),
        ([R, B], Phase.INQUEUE, False, Phase.RUNNING),
        ([R, P], Phase.RUNNING, True, Phase.UNKNOWN),
        ([S, S], Phase.RUNNING, False, Phase.COMPLETED),
        ([S, F], Phase.RUNNING, False, Phase.COMPLETED),
        ([S, R], Phase.RUNNING, False, Phase.RUNNING),
        ([L, L], Phase.RUNNING, False, Phase.RUNNING),
    ],
)
def test_the_phase_after_a_turn(states: list[State], before: Phase, stuck: bool, after: Phase) -> None:
    assert phase_of(gang(*states, phase=before), stuck) is after


def test_a_member_that_leaves_without_ever_having_had_a_node_is_not_scheduled() -> None:
    made = gang(P, P, phase=Phase.PENDING)
    for each in made.tasks.values():
        made.move(each, State.RELEASING)
    assert phase_of(made, stuck=False) is Phase.PENDING


def written(patch: Patch | None, old: PodGroup) -> PodGroup:
    """The group as a server would have it after the patch."""
    assert patch is not None
    assert (patch.resource.plural, patch.subresource, patch.uid) == ("podgroups", "", old.uid)
    document = msgspec.to_builtins(old)
    return msgspec.convert(merge_patch(document, patch.patch), PodGroup)


@pytest.mark.parametrize(("pods", "reported"), [(0, "10/10"), (3, "10/10"), (12, "10/12")])
def test_of_how_many_tasks_a_gang_lacks_some(pods: int, reported: str) -> None:
    made, old = gang(*[P] * pods, minimum=10), group("g", minMember=10)
    new = written(group_patch(old, made, Verdict(refuse(GANG, 0, 10, refuse(NO_NODES))), "c", NOW), old)
    (found,) = new.status.conditions or []
    assert found.message.startswith(f"{reported} tasks in gang unschedulable: ")


def test_a_group_whose_sub_groups_are_not_whole_is_not_ready() -> None:
    """Two pods have places, and enough in all; but two groups of two are wanted, and each has one."""
    made = gang(B, B, P, P, minimum=2)
    made.policies = (SubGroupPolicy("pair", size=2, minimum=2, keys=("half",)),)
    for index, task in enumerate(made.tasks.values()):
        task.labels = {"half": str(index % 2)}
    old = group("g", minMember=2)
    new = written(group_patch(old, made, Verdict(refuse(NO_NODES)), "c", NOW), old)
    assert [(each.type, each.status) for each in new.status.conditions or []] == [("Unschedulable", "True")]


def test_a_gang_that_does_not_fit() -> None:
    full = Places(4, 4, (Cause(refuse(NO_ROOM, "cpu"), 4),), (Block("cpu", 2000, 500, "node-3", 4000, 16_000, 4),))
    sentence = refuse(GANG, placed=1, need=3, cause=Refusal(UNPLACEABLE, full))
    made, old = gang(P, P, P, minimum=3), group("g", minMember=3)
    new = written(group_patch(old, made, Verdict(sentence, "t1"), "cycle-7", NOW), old)
    assert new.status.phase == "Inqueue"
    (found,) = new.status.conditions or []
    assert (found.type, found.status, found.reason) == ("Unschedulable", "True", "NotEnoughResources")
    assert (found.transition_id, found.last_transition_time) == ("cycle-7", format_time(NOW))
    assert found.message == (
        "2/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; "
        "Pending: 1 Schedulable, 2 Unschedulable. "
        "Origin reason is p-1: 1 of 3 members could be placed; "
        "needs 2 cpu on one node: 4 nodes match, the largest free block is 500m on node-3; "
        "0/4 nodes are available: 4 Insufficient cpu"
    )
    assert group_patch(new, made, Verdict(sentence, "t1"), "cycle-8", NOW + 1) is None, "nothing is new"


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict(refuse(TOO_FEW, need=2, have=1)), "NotEnoughTasks"),
        (Verdict(refuse(TOO_FEW_OF_ROLE, role="w", need=2, have=1)), "NotEnoughPodsOfTask"),
        (Verdict(refuse(NO_QUEUE, queue="q")), "NotEnoughResources"),
        (None, "NotEnoughResources"),
    ],
)
def test_the_reasons_are_volcanos(verdict: Verdict | None, reason: str) -> None:
    old = group("g", minMember=2)
    (found,) = written(group_patch(old, gang(P), verdict, "c", NOW), old).status.conditions or []
    assert found.reason == reason
    if verdict is not None:
        assert found.message.endswith(f"Origin reason is: {verdict.refusal}")


def test_a_gang_that_has_its_places() -> None:
    old = group("g", minMember=2)
    stuck = written(group_patch(old, gang(P, P), None, "1", NOW), old)
    new = written(group_patch(stuck, gang(R, B), None, "2", NOW + 5), stuck)
    assert (new.status.phase, new.status.running) == ("Running", 1)
    conditions = {each.type: each for each in new.status.conditions or ()}
    assert conditions["Scheduled"].status == "True"
    assert conditions["Scheduled"].reason == "tasks in gang are ready to be scheduled"
    assert conditions["Unschedulable"].status == "False"
    done = written(group_patch(new, gang(S, F), None, "3", NOW + 9), new)
    assert (done.status.phase, done.status.running) == ("Completed", 0)
    assert (done.status.succeeded, done.status.failed) == (1, 1)


def test_a_gang_whose_members_end_is_not_unschedulable() -> None:
    old = group("g", minMember=2, status={"phase": "Running"})
    patch = group_patch(old, gang(R, L, phase=Phase.RUNNING), None, "1", NOW)
    new = written(patch, old)
    assert new.status.phase == "Running"
    assert new.status.conditions is None


def test_roles_make_a_gang_incomplete() -> None:
    old = group("g", minMember=2)
    made = gang(R, R, roles={"ps": 1, "w": 1})
    assert written(group_patch(old, made, None, "1", NOW), old).status.phase == "Unknown"
    made = gang(R, R, roles={"ps": 2, "w": 1})
    assert written(group_patch(old, made, None, "1", NOW), old).status.phase == "Running", "above the minimum"


def test_a_refusal_that_was_told_with_other_numbers_is_not_written_again() -> None:
    def patch(old: PodGroup, have: int, *, repeated: bool) -> Patch | None:
        verdict = Verdict(refuse(GANG, placed=have, need=2, cause=refuse(NO_NODES)), repeated=repeated)
        return group_patch(old, gang(P, P), verdict, "c", NOW + 30)

    old = group("g", minMember=2)
    old = written(patch(old, 0, repeated=False), old)
    assert patch(old, 1, repeated=True) is None
    later = written(patch(old, 1, repeated=False), old)
    assert "1 of 2 members" in (later.status.conditions or [])[0].message


def test_what_a_queue_holds() -> None:
    old = queue("q", status={"allocated": {"cpu": "1", "nvidia.com/gpu": "2"}})
    patch = queue_patch(old, QueueReport(held={"cpu": 1500, "memory": 3 * 2**30, "pods": 2}))
    assert patch is not None
    assert (patch.subresource, patch.uid) == ("status", "uid-q")
    assert patch.patch == {
        "status": {"allocated": {"cpu": "1500m", "memory": "3Gi", "pods": "2", "nvidia.com/gpu": None}}
    }
    old = queue("q", status={"allocated": {"cpu": "1", "memory": "0", "nvidia.com/gpu": "2"}})
    assert queue_patch(old, QueueReport(held={"cpu": 1000, "nvidia.com/gpu": 2})) is None
    assert queue_patch(queue("q"), QueueReport()) is None


def test_a_queue_that_holds_nothing_any_more() -> None:
    old = queue("q", status={"allocated": {"cpu": "1", "nvidia.com/gpu": "2"}})
    patch = queue_patch(old, QueueReport(held={}))
    assert patch is not None
    assert patch.patch == {"status": {"allocated": {"cpu": "0", "memory": "0", "nvidia.com/gpu": None}}}
    assert queue_patch(queue("q", status={"allocated": {"cpu": "0", "memory": "0"}}), QueueReport()) is None
