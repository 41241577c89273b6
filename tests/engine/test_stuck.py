"""What can be stuck, and what its users read: the causes as data, and a sentence with the right numbers.

Each situation is built on the API, by whatever its users write: a Job of Volcano, a PodGroup with pods, or a lone
pod.  The scheduler's refusal is looked at as data, and its sentence must stand in the condition of every pod that
waits, in that of the group, and in an event of the Job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from podium.core.model.decisions import Decision, Refuse
from podium.core.model.model import Task
from podium.dialects.volcano.job.controller import JobController
from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.errors import ApiError
from podium.kube.resources import PODS, RESOURCEQUOTAS
from podium.kube.transport import MERGE_PATCH
from podium.numbers import Incomplete, Members, Places
from podium.queue_numbers import Bound, QueueUse
from podium.reasons import Refusal, WakeOn
from tests.embedded.server import Document
from tests.engine.stage import Stage

GPU = "nvidia.com/gpu"

PROFILE = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: PLUGIN}, {name: resourcequota}, {name: nodeorder}]
"""


class Scene(Stage):
    """A stage with the controller of Jobs, on which every refusal is kept."""

    def __init__(self, plugin: str = "proportion") -> None:
        self.refusals: dict[str, Refusal] = {}  # by gang's name: the last one
        super().__init__(PROFILE.replace("PLUGIN", plugin), lambda: [JobController()])

    def restart(self) -> None:
        super().restart()
        status_writer = self.scheduler._status_writer
        decided = status_writer.decided

        def listen(decisions: Iterable[Decision], now: float) -> None:
            decisions = list(decisions)
            for each in decisions:
                if isinstance(each, Refuse):
                    gang = self.world.cluster.gangs[each.gang]
                    self.refusals[gang.name] = each.refusal
            decided(decisions, now)

        status_writer.decided = listen  # type: ignore[method-assign]

    def machine_named(self, name: str, *, gpus: int = 8, ready: bool = True, **more: Any) -> None:
        room = {"cpu": "64", "memory": "256Gi", "pods": "110", **({GPU: str(gpus)} if gpus else {})}
        labels, annotations = more.pop("labels", {}), more.pop("annotations", {})
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}, "annotations": annotations}
        status = {"capacity": room, "allocatable": room}
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        document = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": more}
        self.apply({**document, "status": {**status, "conditions": conditions}})

    def queue(self, name: str, **spec: Any) -> None:
        kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
        self.apply({**kind, "metadata": {"name": name}, "spec": spec})

    def job(
        self, *tasks: Document, minimum: int = 0, queue: str = "default", name: str = "job", **spec: Any
    ) -> None:
        body = {"schedulerName": "volcano", "queue": queue, "tasks": list(tasks), **spec}
        if minimum:
            body["minAvailable"] = minimum
        kind = {"apiVersion": JOBS.api_version, "kind": JOBS.kind}
        self.apply({**kind, "metadata": {"name": name, "namespace": "default"}, "spec": body})


def task(name: str = "w", replicas: int = 1, *, ask: dict[str, str] | None = None, **spec: Any) -> Document:
    amounts = ask if ask is not None else {"cpu": "1", GPU: "8"}
    labels, more = spec.pop("labels", {}), spec.pop("task", {})
    resources = {"requests": amounts, "limits": {key: value for key, value in amounts.items() if "/" in key}}
    container = {"name": "main", "image": "app:1", "resources": resources, **spec.pop("container", {})}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    return {"name": name, "replicas": replicas, "template": template, **more}


def busy(scene: Scene, node: str, gpus: int, name: str = "") -> None:
    """Somebody else's pod holds so many GPUs of a node."""
    amounts = {"cpu": "1", GPU: str(gpus)}
    container = {"name": "main", "image": "app:1", "resources": {"requests": amounts, "limits": amounts}}
    metadata = {"name": name or f"busy-{node}", "namespace": "default", "labels": {"app": "busy"}}
    spec = {"schedulerName": "other", "nodeName": node, "containers": [container]}
    scene.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


class Situation(msgspec.Struct, frozen=True):
    """How it comes about, and what is expected; `group` is the name of the gang, whatever it was made by."""

    about: str
    build: Callable[[Scene], None]
    codes: tuple[str, ...]  # of the refusal and its cause
    says: str
    wake_on: set[WakeOn]
    causes: dict[str, int] = {}
    group: str = "job"
    plugin: str = "proportion"


def _pods_of(scene: Scene) -> list[Document]:
    items = scene.server.ok("GET", PODS.path("default"))["items"]
    return [pod for pod in items if pod["spec"]["schedulerName"] != "other" and "nodeName" not in pod["spec"]]


# --- the situations --------------------------------------------------------------------------------------------


def nowhere(scene: Scene) -> None:
    for number in range(3):
        scene.machine_named(f"n{number}")
    scene.job(task(nodeSelector={"disk": "ssd"}))


def tainted(scene: Scene) -> None:
    scene.machine_named("n0", taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}])
    scene.machine_named("n1", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}])
    scene.job(task())


def one_short(scene: Scene) -> None:
    for number in range(5):
        scene.machine_named(f"node-01{number}")
        busy(scene, f"node-01{number}", 2 if number == 2 else 4)
    scene.job(task())


def too_large_for_a_node(scene: Scene) -> None:
    for number in range(5):
        scene.machine_named(f"n{number}")
    scene.job(task(ask={"cpu": "1", GPU: "16"}))


def too_large_for_the_cluster(scene: Scene) -> None:
    for number in range(8):
        scene.machine_named(f"n{number}")
    scene.job(task(replicas=10), minimum=10)


def gang_without_minimum_resources(scene: Scene) -> None:
    for number in range(8):
        scene.machine_named(f"n{number}")
    scene.group("g", 10)
    for number in range(10):
        member(scene, f"g-{number}", "g", {"cpu": "1", GPU: "8"})


def member(scene: Scene, name: str, group: str, amounts: dict[str, str], **spec: Any) -> None:
    document = task(ask=amounts, **spec)["template"]
    annotations = {"scheduling.k8s.io/group-name": group} if group else {}
    metadata = {"name": name, "namespace": "default", "annotations": annotations, **document["metadata"]}
    body = {"schedulerName": "volcano" if group else "default-scheduler", **document["spec"]}
    scene.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body})


def share_used_up(scene: Scene) -> None:
    """Two queues want everything: research has its quarter."""
    for number in range(8):
        scene.machine_named(f"n{number}", gpus=24)
    scene.queue("research", weight=1)
    scene.queue("production", weight=3)
    scene.job(task(replicas=6, task={"minAvailable": 1}), queue="research", minimum=1, name="first")
    scene.settle()
    scene.job(task(replicas=40, task={"minAvailable": 1}), queue="production", minimum=1, name="many")
    scene.settle()
    scene.job(task(), queue="research")


def capability_used_up(scene: Scene) -> None:
    for number in range(2):
        scene.machine_named(f"n{number}")
    scene.queue("small", capability={GPU: "8"})
    scene.group("first", 1, queue="small")
    member(scene, "first-0", "first", {"cpu": "1", GPU: "8"})
    scene.settle()
    scene.group("g", 1, queue="small")
    member(scene, "g-0", "g", {"cpu": "1", GPU: "4"})


def gang_one_short(scene: Scene) -> None:
    for number in range(2):
        scene.machine_named(f"n{number}")
    busy(scene, "n1", 8)
    scene.job(task(replicas=2), minimum=2)


def member_missing(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.group("g", 3)
    for number in range(2):
        member(scene, f"g-{number}", "g", {"cpu": "1"})


def role_missing(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.group("g", 3, minTaskMember={"ps": 1, "w": 2})
    for name, role in (("g-0", "ps"), ("g-1", "w"), ("g-2", "other")):
        document = task(ask={"cpu": "1"})["template"]
        annotations = {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": role}
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        body = {"schedulerName": "volcano", **document["spec"]}
        scene.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body})


def subgroup_missing(scene: Scene) -> None:
    scene.machine_named("n0")
    policy = {"name": "rings", "subGroupSize": 2, "minSubGroups": 2, "matchLabelKeys": ["ring"]}
    scene.group("g", 2, subGroupPolicy=[policy])
    for number in range(2):
        member(scene, f"g-{number}", "g", {"cpu": "1"}, labels={"ring": "a"})


def volume_unknown(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.job(
        task(
            ask={"cpu": "1"},
            volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        )
    )


def port_taken(scene: Scene) -> None:
    scene.machine_named("n0")
    ports = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
    member(scene, "first", "", {"cpu": "1"}, container=ports)
    scene.settle()
    scene.job(task(ask={"cpu": "1"}, container=ports))


def near(key: str, app: str) -> Document:
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
        ]
    }


def lonely(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.job(task(ask={"cpu": "1"}, affinity={"podAffinity": near("kubernetes.io/hostname", "database")}))


def shunned(scene: Scene) -> None:
    for number in range(2):
        scene.machine_named(f"n{number}")
        busy(scene, f"n{number}", 1)
    scene.job(task(ask={"cpu": "1"}, affinity={"podAntiAffinity": near("kubernetes.io/hostname", "busy")}))


def uneven(scene: Scene) -> None:
    scene.machine_named("n0", labels={"zone": "a"})
    scene.machine_named("n1", labels={"zone": "b"}, gpus=0)
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    labels = {"app": "spread"}
    member(scene, "first", "", {"cpu": "1", GPU: "1"}, labels=labels, topologySpreadConstraints=[spread])
    scene.settle()
    scene.job(task(ask={"cpu": "1", GPU: "1"}, labels=labels, topologySpreadConstraints=[spread]))


def gated(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.queue("small", capability={"cpu": "1"})
    scene.group("g", 1, queue="small")
    gate = {"schedulingGates": [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]}
    marks = {"scheduling.k8s.io/group-name": "g", "scheduling.volcano.sh/queue-allocation-gate": "true"}
    document = task(ask={"cpu": "2"})["template"]
    body = {"schedulerName": "volcano", **gate, **document["spec"]}
    metadata = {"name": "g-0", "namespace": "default", "annotations": marks}
    scene.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body})


def quota(scene: Scene) -> None:
    scene.machine_named("n0")
    hard = {"requests.cpu": "3"}
    document = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    scene.apply({**document, "spec": {"hard": hard}})
    used = {"status": {"hard": hard, "used": {"requests.cpu": "2"}}}
    scene.server.ok("PATCH", RESOURCEQUOTAS.path("default", "q", "status"), used, media=MERGE_PATCH)
    scene.job(task(replicas=2, ask={"cpu": "1"}), minimum=2)


def not_admitted(scene: Scene) -> None:
    scene.machine_named("n0")
    busy(scene, "n0", 6)
    scene.job(task())


def guaranteed_to_others(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.queue("other", guarantee={"resource": {GPU: "4"}})
    scene.job(task())


def not_ready(scene: Scene) -> None:
    scene.machine_named("n0", ready=False)
    scene.machine_named("n1", unschedulable=True)
    member(scene, "lone", "", {"cpu": "1"})


def model(scene: Scene) -> None:
    annotations = {"podium.dev/gpu-model": "T4", "podium.dev/gpu-count": "2"}
    scene.machine_named("n0", annotations=annotations, labels=annotations)
    metadata = {
        "name": "lone",
        "namespace": "default",
        "annotations": {"podium.dev/gpu-milli": "500", "podium.dev/gpu-model": "H100"},
    }
    body = {"schedulerName": "default-scheduler", **task(ask={"cpu": "1"})["template"]["spec"]}
    scene.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body})


def closed(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.queue("shut")
    scene.group("g", 1, queue="shut")
    scene.server.ok("PATCH", QUEUES.path("", "shut", "status"), {"status": {"state": "Closed"}}, media=MERGE_PATCH)
    member(scene, "g-0", "g", {"cpu": "1"})


def no_queue(scene: Scene) -> None:
    scene.machine_named("n0")
    scene.group("g", 1, queue="nobody")
    member(scene, "g-0", "g", {"cpu": "1"})


def without_a_queue(scene: Scene) -> None:
    """Nobody has heard of queues here."""
    for number in range(2):
        scene.machine_named(f"n{number}")
        member(scene, f"old-{number}", "", {"cpu": "1", GPU: "6"})
    scene.settle()
    member(scene, "lone", "", {"cpu": "1", GPU: "8"})


R, N, Q, M = WakeOn.ROOM, WakeOn.NODES, WakeOn.QUEUE, WakeOn.MEMBERS

SITUATIONS = [
    Situation(
        "no node matches",
        nowhere,
        ("Unschedulable",),
        "no node matches; 0/3 nodes are available: 3 node(s) didn't match the node selector or affinity",
        {N},
        {"NodeSelectorMismatch": 3},
    ),
    Situation(
        "every node is tainted",
        tainted,
        ("Unschedulable",),
        "no node matches; 0/2 nodes are available: 1 node(s) had untolerated taint {team: a}, "
        "1 node(s) had untolerated taint {team: b}",
        {N},
        {"UntoleratedTaint": 2},
    ),
    Situation(
        "GPUs are free, but not enough on one node",
        one_short,
        ("Unschedulable",),
        f"needs 8 {GPU} on one node: 5 nodes match, the largest free block is 6 on node-012; "
        f"0/5 nodes are available: 5 Insufficient {GPU}",
        {R},
        {"InsufficientRoom": 5},
    ),
    Situation(
        "more than any node has",
        too_large_for_a_node,
        ("Unschedulable",),
        f"needs 16 {GPU} on one node: 5 nodes match, the largest has 8: it can never start; "
        f"0/5 nodes are available: 5 Insufficient {GPU}",
        {N},
        {"NodeTooSmall": 5},
    ),
    Situation(
        "more than the cluster has, and it says so beforehand",
        too_large_for_the_cluster,
        ("NotAdmitted",),
        f"not admitted: it needs at least 80 {GPU}, and the cluster has 64 in all: it can never start",
        {R, Q},
    ),
    Situation(
        "more than the cluster has",
        gang_without_minimum_resources,
        ("GangIncomplete", "Unschedulable"),
        f"10 members need 80 {GPU}, and the cluster has 64 in all: it can never start; "
        "8 of 10 members could be placed",
        {N},
        group="g",
    ),
    Situation(
        "the queue has its share",
        share_used_up,
        ("QueueOverShare",),
        f"queue research holds 48 of its share of 48 {GPU} (weight 1 of 4), and 8 more would be too much",
        {Q},
    ),
    Situation(
        "the queue has all it may",
        capability_used_up,
        ("QueueLimit",),
        f"queue small holds 8 of its capability of 8 {GPU}, and 4 more would be too much",
        {Q},
        group="g",
        plugin="capacity",
    ),
    Situation(
        "a gang lacks one place",
        gang_one_short,
        ("GangIncomplete", "Unschedulable"),
        f"1 of 2 members could be placed; needs 8 {GPU} on one node: 2 nodes match, "
        f"the largest free block is 0 on n0; 0/2 nodes are available: 2 Insufficient {GPU}",
        {R},
        {"InsufficientRoom": 2},
        plugin="capacity",
    ),
    Situation(
        "a gang lacks a member",
        member_missing,
        ("NotEnoughMembers",),
        "the gang needs 3 members and has 2",
        {M},
        group="g",
    ),
    Situation(
        "a gang lacks a member of a role",
        role_missing,
        ("NotEnoughMembersOfRole",),
        "the gang needs 2 members of role w and has 1",
        {M},
        group="g",
    ),
    Situation(
        "a gang lacks a sub-group",
        subgroup_missing,
        ("NotEnoughSubGroups",),
        "the gang needs 2 sub-groups of policy rings and has 1",
        {M},
        group="g",
    ),
    Situation(
        "a claim does not exist",
        volume_unknown,
        ("VolumeNotBound",),
        "volume claims cannot be used: ",
        {WakeOn.SPEC},
    ),
    Situation(
        "a port is taken",
        port_taken,
        ("Unschedulable",),
        "1 node matches, and has no place for it now; 0/1 nodes are available: 1 node(s) had host port 8080 taken",
        {R},
        {"PortTaken": 1},
    ),
    Situation(
        "nobody to be near to",
        lonely,
        ("Unschedulable",),
        "0/1 nodes are available: 1 node(s) weren't near the pods that the pod affinity asks for",
        {R},
        {"PodAffinityMismatch": 1},
    ),
    Situation(
        "somebody to shun on every node",
        shunned,
        ("Unschedulable",),
        "0/2 nodes are available: 2 node(s) were near pods that the pod anti-affinity shuns",
        {R},
        {"PodAntiAffinityMismatch": 2},
    ),
    Situation(
        "spread too unevenly",
        uneven,
        ("Unschedulable",),
        f"0/2 nodes are available: 1 Insufficient {GPU}, 1 node(s) would have made the topology spread too uneven",
        {R, N},
        {"NodeTooSmall": 1, "TopologySpreadMismatch": 1},
    ),
    Situation(
        "behind a gate for the queue's quota",
        gated,
        ("QueueLimit",),
        "queue small holds 0 of its capability of 1 cpu, and 2 more would be too much",
        {Q},
        group="g",
    ),
    Situation(
        "the namespace has a quota",
        quota,
        ("NamespaceQuota",),
        "not admitted: it needs 2 of requests.cpu, and quota q of its namespace has 2 of 3 in use",
        {R, Q},
    ),
    Situation(
        "not let in",
        not_admitted,
        ("NotAdmitted",),
        f"not admitted: it needs at least 8 {GPU}, and 2 of 8 are free",
        {R, Q},
        plugin="overcommit",
    ),
    Situation(
        "guarantees of others leave too little",
        guaranteed_to_others,
        ("AdmissionFull",),
        f"not admitted: queue default holds 0 of its limit of 4 {GPU}, with what was admitted before, "
        "and 8 more would be too much",
        {R, Q},
    ),
    Situation(
        "nodes are away or closed",
        not_ready,
        ("Unschedulable",),
        "no node matches; 0/2 nodes are available: 1 node(s) were not ready, 1 node(s) were unschedulable",
        {N},
        {"NodeNotReady": 1, "NodeUnschedulable": 1},
        group="lone",
    ),
    Situation(
        "no device of the model",
        model,
        ("Unschedulable",),
        "no node matches; 0/1 nodes are available: 1 node(s) had no 500/1000 of one device (H100)",
        {N},
        {"DeviceModelMismatch": 1},
        group="lone",
    ),
    Situation("the queue is closed", closed, ("QueueClosed",), "queue shut is not open", {Q}, group="g"),
    Situation(
        "there is no such queue", no_queue, ("QueueMissing",), "queue nobody does not exist", {Q}, group="g"
    ),
    Situation(
        "nobody has a queue",
        without_a_queue,
        ("Unschedulable",),
        f"needs 8 {GPU} on one node: 2 nodes match, the largest free block is 2 on n0; "
        f"0/2 nodes are available: 2 Insufficient {GPU}",
        {R},
        {"InsufficientRoom": 2},
        group="lone",
    ),
]


@pytest.mark.parametrize("situation", SITUATIONS, ids=[each.about for each in SITUATIONS])
def test_what_is_stuck_says_why(situation: Situation) -> None:
    scene = Scene(situation.plugin)
    situation.build(scene)
    scene.settle()
    scene.settle()
    (refusal,) = [each for name, each in scene.refusals.items() if name.startswith(situation.group)]
    assert (refusal.code, *_causes_of(refusal)) == situation.codes
    assert refusal.wake_on == situation.wake_on
    found: dict[str, int] = {}
    leaf = refusal.numbers.cause.numbers if isinstance(refusal.numbers, Incomplete) else refusal.numbers
    if isinstance(leaf, Places):
        for cause in leaf.causes:
            found[cause.refusal.code] = found.get(cause.refusal.code, 0) + cause.nodes
    if situation.causes:
        assert found == situation.causes
    # Pods may be made only once their group is let in.
    for pod in _pods_of(scene):
        if pod["metadata"]["name"].startswith(situation.group):
            assert situation.says in scene.message(pod["metadata"]["name"])
    for group in scene.server.ok("GET", PODGROUPS.path("default"))["items"]:
        if group["metadata"]["name"].startswith(situation.group):
            assert situation.says in _condition(group)
    jobs = [job["metadata"]["name"] for job in scene.server.ok("GET", JOBS.path("default"))["items"]]
    if situation.group in jobs:
        reported = [event["message"] for event in scene.events(situation.group)]
        assert any(situation.says in each for each in reported), reported


def _causes_of(refusal: Refusal) -> list[str]:
    return [refusal.numbers.cause.code] if isinstance(refusal.numbers, Incomplete) else []


def _condition(group: Document) -> str:
    return " ".join(each.get("message", "") for each in group["status"].get("conditions", ()))


def test_the_numbers_are_there_for_whoever_asks() -> None:
    scene = Scene()
    one_short(scene)
    scene.settle()
    (refusal,) = scene.refusals.values()
    places = refusal.numbers
    assert isinstance(places, Places)
    (block,) = places.short
    assert (places.nodes, places.matching) == (5, 5)
    assert (block.resource, block.need, block.free, block.node) == (GPU, 8, 6, "node-012")
    assert (block.largest, block.total, block.nodes, block.never) == (8, 40, 5, False)

    scene = Scene()
    share_used_up(scene)
    scene.settle()
    use = next(each.numbers for name, each in scene.refusals.items() if name.startswith("job"))
    assert use == QueueUse("research", GPU, 8, 48, 48, Bound.SHARE, 1, 4)

    scene = Scene()
    role_missing(scene)
    scene.settle()
    assert scene.refusals["g"].numbers == Members(need=2, have=1, role="w")


def test_numbers_alone_are_told_once_a_minute_on_pods_and_groups() -> None:
    scene = Scene("capacity")
    gang_one_short(scene)
    scene.settle()
    group = scene.server.ok("GET", PODGROUPS.path("default"))["items"][0]["metadata"]["name"]

    def reported() -> tuple[str, str]:
        pod = next(pod["metadata"]["name"] for pod in _pods_of(scene))
        return scene.message(pod), _condition(scene.get(PODGROUPS, group))

    first = reported()
    assert "the largest free block is 0 on n0" in first[0]
    scene.server.ok("DELETE", PODS.path("default", "busy-n1"), {"gracePeriodSeconds": 0})
    busy(scene, "n1", 5, "other")
    scene.settle(10)
    assert reported() == first, "only numbers have moved"
    scene.settle(60)
    scene.settle(60)
    second = reported()
    assert all("the largest free block is 3 on n1" in each for each in second)
    for name in ("n0", "n1"):
        scene.cordon(name, True)
    scene.settle(1)
    assert all("no node matches" in each for each in reported()), "another cause is told at once"


def test_a_pod_whose_bind_was_refused_says_so_and_waits_for_time() -> None:
    scene = Scene()
    scene.machine_named("n0")
    member(scene, "lone", "", {"cpu": "1"})
    failed: list[Refusal] = []
    status_writer = scene.scheduler._status_writer
    tell = status_writer.bind_failed

    def listen(task: Task, refusal: Refusal, now: float) -> None:
        failed.append(refusal)
        tell(task, refusal, now)

    status_writer.bind_failed = listen  # type: ignore[method-assign]
    scene.trouble = lambda ticket: ApiError(403, "Forbidden", "no") if ticket.change.resource == PODS else None
    scene.settle(2)
    assert {each.code for each in failed} == {"BindFailed"}
    assert failed[0].wake_on == {WakeOn.TIME}
    assert "lone could not be bound to n0: no" in str(failed[0])
    assert any("lone could not be bound to n0" in event["message"] for event in scene.events("lone"))
