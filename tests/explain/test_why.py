"""Ten ways to be stuck: the sentence names the cause with numbers, and the first proposal unblocks it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podium.cli.explanations import text_of
from podium.dialects.aibee.names import POOL
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.paddle.names import TRAININGJOBS
from podium.explain.answers import Explanation
from podium.explain.goal import Goal, try_out
from podium.explain.listing import list_queues
from podium.explain.queues import explain_queue
from podium.explain.search import LATE, SOON, Elapsed, Search, at_leisure
from podium.explain.targets import Target, target_of
from podium.explain.why import explain
from podium.kube.resources import NODES, PODS, Resource
from tests.explain.objects import ADMITTING, AT, GPU, NOW, PODGROUPS, POOLS, PREEMPTING, PROFILE, Objects

Make = Callable[[Objects], None]


def no_gpu_model(objects: Objects) -> None:
    objects.node("a", labels={"nvidia.com/gpu.product": "A100"})
    objects.pod("asked-0", 4, nodeSelector={"nvidia.com/gpu.product": "H100"})


def taint(objects: Objects) -> None:
    objects.node("a", taints=[{"key": "team", "value": "blue", "effect": "NoSchedule"}])
    objects.pod("asked-0", 4)


def queue_limit(objects: Objects) -> None:
    objects.node("a")
    objects.queue("small", capability={GPU: "2"})
    objects.gang("asked", 1, queue="small", gpus=4)


def gang_one_short(objects: Objects) -> None:
    objects.node("a")
    objects.gang("asked", 3, gpus=4)


def quota(objects: Objects) -> None:
    objects.node("a")
    objects.quota("team", {"requests.cpu": "2"}, {"requests.cpu": "1"})
    objects.gang("asked", 2, cpu="1")
    document = objects.documents[PODGROUPS, "default", "asked"]
    document["spec"]["minResources"] = {"cpu": "2"}
    document["status"]["phase"] = "Pending"


def affinity_to_nothing(objects: Objects) -> None:
    objects.node("a")
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z9"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    objects.pod("asked-0", 1, affinity={"nodeAffinity": required})


def budget(objects: Objects) -> None:
    objects.node("a")
    objects.pod("low-0", 8, node="a", priority=1)
    objects.budget("keep", "low", pods=1, minimum=1)
    objects.pod("asked-0", 8, priority=100)


def terminating(objects: Objects) -> None:
    objects.node("a")
    objects.pod("old-0", 8, node="a", metadata={"deletionTimestamp": AT, "deletionGracePeriodSeconds": 600})
    objects.pod("asked-0", 8)


def terminating_before_it_is_let_in(objects: Objects) -> None:
    terminating(objects)
    objects.group("asked", 1, phase="Pending", minResources={GPU: "8"})
    objects.pod("asked-0", 8, group="asked")


def three_causes(objects: Objects) -> None:
    objects.node("a", taints=[{"key": "team", "value": "blue", "effect": "NoSchedule"}])
    objects.queue("small", capability={GPU: "2"})
    objects.gang("asked", 1, queue="small", gpus=4, nodeSelector={"gen": "h200"})


def full(objects: Objects) -> None:
    objects.node("a")
    objects.pod("other-0", 6, node="a")
    objects.pod("asked-0", 4)


def closed_queue(objects: Objects) -> None:
    objects.node("a")
    objects.queue("shut", state="Closed")
    objects.gang("asked", 1, queue="shut")


def members_missing(objects: Objects) -> None:
    objects.node("a")
    objects.gang("asked", 2, 3)


def gates(objects: Objects) -> None:
    objects.node("a")
    objects.pod("asked-0", 1, schedulingGates=[{"name": "wait"}])


def no_queue(objects: Objects) -> None:
    objects.node("a")
    objects.gang("asked", 1, queue="nowhere")


def closed_for_borrowing(objects: Objects) -> None:
    objects.node("own", labels={"pool": "mine"})
    objects.node("idle", labels={"pool": "other"})
    objects.pool("mine", disableBorrowing=True)
    objects.pool("other")
    objects.pod("runs-0", 8, node="own", scheduler="ai-scheduler", metadata={"annotations": {POOL: "mine"}})
    objects.pod("asked-0", 8, scheduler="ai-scheduler", metadata={"annotations": {POOL: "mine"}})


KOORDINATOR = "gang.scheduling.koordinator.sh"
KOORDINATOR_GROUPS = Resource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup")


def annotated(objects: Objects, members: int, **marks: str) -> None:
    """Pods of a gang of Koordinator that has no object."""
    annotations = {
        f"{KOORDINATOR}/{key.replace('_', '-')}": value for key, value in {"name": "gang", **marks}.items()
    }
    for number in range(members):
        objects.pod(f"asked-{number}", 1, scheduler="koord-scheduler", metadata={"annotations": annotations})


def partner_missing(objects: Objects) -> None:
    objects.node("a")
    annotated(objects, 2, min_available="2", groups='["default/gang", "default/partner"]')


def partner_missing_of_a_group(objects: Objects) -> None:
    objects.node("a")
    annotations = {f"{KOORDINATOR}/groups": '["default/gang", "default/partner"]'}
    metadata = {"name": "gang", "namespace": "default", "annotations": annotations}
    objects.put(KOORDINATOR_GROUPS, {"metadata": metadata, "spec": {"minMember": 1}})
    label = {"pod-group.scheduling.sigs.k8s.io": "gang"}
    objects.pod("asked-0", 1, scheduler="koord-scheduler", metadata={"labels": label})


def members_missing_by_annotation(objects: Objects) -> None:
    objects.node("a")
    annotated(objects, 2, min_available="3", total_number="3")


def members_missing_of_a_group(objects: Objects) -> None:
    objects.node("a")
    objects.put(
        KOORDINATOR_GROUPS, {"metadata": {"name": "gang", "namespace": "default"}, "spec": {"minMember": 3}}
    )
    for number in range(2):
        label = {"pod-group.scheduling.sigs.k8s.io": "gang"}
        objects.pod(f"asked-{number}", 1, scheduler="koord-scheduler", metadata={"labels": label})


def no_room_to_be_let_in(objects: Objects) -> None:
    """As the group of a Job of Volcano stands before its pods are made."""
    for name in "abcd":
        objects.node(name)
    for number, node in enumerate("abc"):
        objects.pod(f"first-{number}", 8, node=node)
    objects.group("asked", 3, phase="Pending", minResources={GPU: "24"})


def too_large_to_be_let_in(objects: Objects) -> None:
    objects.node("a")
    objects.group("asked", 3, phase="Pending", minResources={GPU: "24"})


CASES = [
    (
        partner_missing,
        "it starts together with default/partner (no such gang), which cannot start yet",
        "let gang start without default/partner",
        PROFILE,
    ),
    (partner_missing_of_a_group, "default/partner (no such gang)", "let gang start without", PROFILE),
    (members_missing_by_annotation, "needs 3 members and has 2", "let gang start with 2 of 3", PROFILE),
    (members_missing_of_a_group, "needs 3 members and has 2", "let gang start with 2 of 3", PROFILE),
    (
        no_room_to_be_let_in,
        "not admitted: it needs at least 24 nvidia.com/gpu, and 8 of 32 are free",
        "wait until 2 pods on a, b have ended, or delete them: default/first-0, default/first-1",
        ADMITTING,
    ),
    (too_large_to_be_let_in, "the cluster has 8 in all: it can never start", "add 2 nodes like a", ADMITTING),
    (
        closed_for_borrowing,
        "mine does not borrow nodes of others",
        "let mine borrow idle nodes",
        PROFILE,
    ),
    (no_gpu_model, "1 of 1 nodes lack nvidia.com/gpu.product=H100", "label a with", PROFILE),
    (taint, "1 node(s) had untolerated taint {team: blue}", "remove the taint team=blue from a", PROFILE),
    (
        queue_limit,
        "queue small holds 0 of its capability of 2 nvidia.com/gpu, and 4 more",
        "to 4 nvidia.com/gpu",
        PROFILE,
    ),
    (gang_one_short, "2 of 3 members could be placed", "start with 2 of 3 members", PROFILE),
    (quota, "needs 2 of requests.cpu, and quota team of its namespace has 1 of 2", "quota team to 3", PROFILE),
    (affinity_to_nothing, "1 of 1 nodes lack zone=z9", "label a with zone=z9", PROFILE),
    (budget, "budget default/keep allows 0 disruptions", "allow 1 disruption instead of 0", PREEMPTING),
    (terminating, "default/old-0 is still ending there", "end it now", PROFILE),
    (
        terminating_before_it_is_let_in,
        "0 of 8 are free; default/old-0 is still ending on a",
        "end it now",
        ADMITTING,
    ),
    (
        three_causes,
        "1 node(s) had untolerated taint {team: blue}; queue small holds 0 of its capability of 2 nvidia.com/gpu",
        "remove the taint team=blue from a, and raise the capability of queue small to 4 nvidia.com/gpu",
        PROFILE,
    ),
    (
        full,
        "needs 4 nvidia.com/gpu on one node: 1 node matches, the largest free block is 2 on a",
        "other-0",
        PROFILE,
    ),
    (closed_queue, "queue shut is not open", "open queue shut", PROFILE),
    (members_missing, "needs 3 members and has 2", "start with 2 of 3", PROFILE),
    (gates, "held back by scheduling gates", "lift the scheduling gates of 1 pod", PROFILE),
    (no_queue, "queue nowhere does not exist", "create queue nowhere", PROFILE),
]


def asked(objects: Objects, profile: str, elapsed: Elapsed = at_leisure) -> tuple[Explanation, Target]:
    model = objects.model(profile)
    resource: Resource = PODGROUPS
    document = model.document(PODGROUPS, "default", "asked")
    if document is None:
        resource, document = PODS, model.document(PODS, "default", "asked-0")
    assert document is not None
    target = target_of(model, resource, document)
    return explain(model, target, elapsed=elapsed), target


@pytest.mark.parametrize(("make", "says", "proposes", "profile"), CASES, ids=[case[0].__name__ for case in CASES])
def test_it_names_the_cause_and_what_it_proposes_helps(make: Make, says: str, proposes: str, profile: str) -> None:
    objects = Objects()
    make(objects)
    answer, target = asked(objects, profile)
    assert answer.state == "waiting"
    assert says in answer.sentence
    assert proposes in answer.remedies[0].sentence
    model = objects.model(profile)
    gangs = [gang for gang in model.cluster.gangs.values() if gang.id in {each.id for each in target.gangs}]
    goal = Goal.of(
        model, gangs, [each for each in model.cluster.tasks.values() if target.pod and each.name == "asked-0"]
    )
    for remedy in Search(model, goal).remedies(try_out(model, goal)):
        after = objects.after(change for step in remedy.steps for change in step.changes).model(profile)
        assert try_out(after, goal).reached, remedy.sentence


@pytest.mark.parametrize(("policy", "proposed"), [("BinPack", True), ("Gang", False)])
def test_a_job_of_leader_and_workers_may_start_with_fewer(policy: str, proposed: bool) -> None:
    """Where that helps: a Gang of Arranger wants all of its workers, whatever its minimum."""
    objects = Objects()
    objects.node("a", 3)
    containers = [{"name": "main", "image": "app:1", "resources": {"limits": {GPU: "1"}}}]
    part = {"name": "part", "template": {"spec": {"containers": containers}}}
    spec = {"leader": part, "workerSets": [{**part, "counts": 4}], "minWorkersNum": 4}
    spec["schedulerPolicy"] = {"basicPolicy": policy}
    objects.put(TYJOBS, {"metadata": {"name": "asked", "namespace": "default"}, "spec": spec})
    model = objects.model()
    document = model.document(TYJOBS, "default", "asked")
    assert document is not None
    answer = explain(model, target_of(model, TYJOBS, document))
    found = [each.commands for each in answer.remedies if each.sentence == "let asked start with 3 of 5 members"]
    patch = """-n default --type=merge -p '{"spec": {"minWorkersNum": 2}}'"""
    command = f"kubectl patch tyjobs.arranger.taiyi.io asked {patch}"
    assert found == ([(command,)] if proposed else [])


def test_what_runs_does_not_wait() -> None:
    objects = Objects()
    objects.node("a")
    objects.pod("asked-0", 1, node="a")
    answer, _ = asked(objects, PROFILE)
    assert (answer.state, answer.sentence) == ("running", "it does not wait: 1 pod on a")


def test_what_fits_is_about_to_be_placed() -> None:
    objects = Objects()
    objects.node("a")
    objects.pod("asked-0", 1)
    answer, _ = asked(objects, PROFILE)
    assert answer.sentence == "there is a place for it on a: the scheduler puts it there at its next turn"
    assert answer.remedies == ()


def test_a_scheduler_that_is_not_podiums_is_named() -> None:
    objects = Objects()
    objects.node("a")
    objects.pod("asked-0", 1, scheduler="somebody-else")
    answer, _ = asked(objects, PROFILE)
    assert "its scheduler is somebody-else, which podium does not serve" in answer.sentence


def test_the_line_shows_who_is_ahead() -> None:
    objects = Objects()
    objects.node("a", 2)
    objects.gang("first", 1, gpus=4, priority=0)
    objects.documents[PODGROUPS, "default", "first"]["metadata"]["creationTimestamp"] = "2027-01-15T07:00:00Z"
    objects.gang("asked", 1, gpus=4)
    answer, _ = asked(objects, PROFILE)
    assert answer.position is not None
    assert (answer.position.position, answer.position.of) == (2, 2)
    assert [each.name for each in answer.position.ahead] == ["first"]
    assert answer.position.ahead[0].asks == {"cpu": "1", GPU: "4"}


def test_what_somebody_ahead_would_take_is_counted() -> None:
    """One node more is not enough where another gang is served first and takes it."""
    objects = Objects()
    objects.node("a", 8)
    objects.pod("other-0", 8, node="a")
    objects.gang("first", 1, gpus=8)
    objects.documents[PODGROUPS, "default", "first"]["metadata"]["creationTimestamp"] = "2027-01-15T07:00:00Z"
    objects.gang("asked", 1, gpus=8)
    answer, _ = asked(objects, PROFILE)
    assert any("add 2 nodes like a" in each.sentence for each in answer.remedies)


def test_nothing_of_a_question_stays_in_the_model() -> None:
    objects = Objects()
    for make in (taint, full):
        make(objects)
    model = objects.model()
    before = {task.id: (task.state, task.row) for task in model.cluster.tasks.values()}
    document = model.document(PODS, "default", "asked-0")
    assert document is not None
    explain(model, target_of(model, PODS, document))
    model.cluster.validate()
    assert {task.id: (task.state, task.row) for task in model.cluster.tasks.values()} == before
    assert len(model.all(NODES)) == len(model.cluster.nodes)


def test_of_gangs_that_start_together_each_has_its_own_cause() -> None:
    objects = Objects()
    objects.node("a", 8)
    for name, gpus in (("partner", 4), ("asked", 9)):
        marks = {"name": name, "min-available": "1", "groups": '["default/asked", "default/partner"]'}
        annotations = {f"gang.scheduling.koordinator.sh/{key}": value for key, value in marks.items()}
        objects.pod(f"{name}-0", gpus, scheduler="koord-scheduler", metadata={"annotations": annotations})
    answer, _ = asked(objects, PROFILE)
    assert "needs 9 nvidia.com/gpu, and the cluster has 8 in all: it can never start" in answer.sentence
    model = objects.model()
    document = model.document(PODS, "default", "partner-0")
    assert document is not None
    partner = explain(model, target_of(model, PODS, document))
    assert "it starts together with default/asked (0 of 1 have places), which cannot start yet" in partner.sentence


def test_what_a_pool_deserves_are_its_nodes() -> None:
    objects = Objects()
    for node, pool in (("own", "mine"), ("idle", "other")):
        objects.node(node, labels={"pool": pool})
        objects.pool(pool)
        objects.pod(f"{node}-0", 4, node=node, scheduler="ai-scheduler", metadata={"annotations": {POOL: "mine"}})
    model = objects.model()
    document = model.document(POOLS, "", "mine")
    assert document is not None
    answer = explain_queue(model, POOLS, document)
    assert answer.sentence == (
        "queue mine owns 1 node and holds 8 nvidia.com/gpu, 4 of it borrowed, where its nodes have 8;"
        " 2 run and 0 wait"
    )
    (row,) = [each for each in list_queues(model) if each.name == "mine"]
    assert {each.resource: (each.used, each.deserved, each.borrowed) for each in row.amounts}[GPU] == (
        "8",
        "8",
        "4",
    )


def test_sizes_are_planned_when_somebody_asks_and_not_when_a_plan_is_due() -> None:
    objects = Objects()
    objects.node("a", 2)
    trainer = {"entrypoint": "python", "min-instance": 4, "max-instance": 4}
    trainer["resources"] = {"requests": {"cpu": "1"}, "limits": {"cpu": "1", GPU: "1"}}
    small = {"requests": {"cpu": "500m"}}
    spec = {"image": "app:1", "fault_tolerant": True, "trainer": trainer, "master": {"resources": small}}
    spec["pserver"] = {"min-instance": 1, "max-instance": 1, "resources": small}
    objects.put(TRAININGJOBS, {"metadata": {"name": "asked", "namespace": "default"}, "spec": spec})
    model = objects.model()
    document = model.document(TRAININGJOBS, "default", "asked")
    assert document is not None
    model.cluster.planned["paddle"] = (NOW, model.cluster.elastic_changes)  # a turn has just planned
    answer = explain(model, target_of(model, TRAININGJOBS, document))
    assert "needs 1 nvidia.com/gpu on one node" in answer.sentence
    assert "add 1 node like a" in answer.remedies[0].sentence
    assert model.cluster.planned["paddle"] == (NOW, model.cluster.elastic_changes)


def test_a_search_that_takes_long_ends_with_what_it_has_found() -> None:
    objects = Objects()
    full(objects)
    whole, _ = asked(objects, PROFILE)
    assert len(whole.remedies) > 1
    assert not whole.cut
    soon, _ = asked(objects, PROFILE, elapsed=lambda: SOON)
    assert soon.remedies == whole.remedies[:1]
    assert not soon.cut
    late, _ = asked(objects, PROFILE, elapsed=lambda: LATE)
    assert late.remedies == ()
    assert late.cut
    assert "the search for what would help ended early" in text_of(late, NOW)


def test_more_nodes_are_one_command_with_names_that_are_free() -> None:
    objects = Objects()
    for name in ("a", "a-more-1"):
        objects.node(name)
        status = objects.documents[NODES, "", name]["status"]
        status["nodeInfo"] = {"containerRuntimeVersion": "podium://simulated"}
    objects.gang("asked", 4, gpus=8)
    answer, _ = asked(objects, PROFILE)
    remedy = next(each for each in answer.remedies if each.sentence.startswith("add 2 nodes like a"))
    (command,) = remedy.commands
    assert '"name": "a-more-2"' in command
    assert '"name": "a-more-3"' in command
    assert '"podium.dev/simulated": "true"' in command


def test_nodes_with_machines_are_not_made_by_a_command() -> None:
    objects = Objects()
    objects.node("a")
    objects.pod("asked-0", 16)
    answer, _ = asked(objects, PROFILE)
    (remedy,) = answer.remedies
    assert remedy.sentence == "add 1 node like a, with 64 cpu, 16 nvidia.com/gpu"
    assert remedy.commands == ()


def test_what_is_done_alike_to_several_objects_is_one_command() -> None:
    objects = Objects()
    members_missing_by_annotation(objects)
    answer, _ = asked(objects, PROFILE)
    (command,) = answer.remedies[0].commands
    assert command.startswith("kubectl patch pod asked-0 asked-1 -n default --type=merge -p ")


def test_of_changes_that_belong_together_those_that_make_room_come_last_and_each_is_proposed_once() -> None:
    """Typed one after the other, with somebody else waiting for the same room."""
    objects = Objects()
    objects.node("a")
    objects.pod("other-0", 8, node="a")
    both = '["default/gang", "default/partner"]'
    annotated(objects, 2, min_available="2", groups=both)
    marks = {"name": "partner", "min-available": "2", "groups": both}
    annotations = {f"{KOORDINATOR}/{key}": value for key, value in marks.items()}
    objects.pod("partner-0", 1, scheduler="koord-scheduler", metadata={"annotations": annotations})
    answer, _ = asked(objects, PROFILE)
    kinds = [[step.partition(" ")[0] for step in each.sentence.split(", and ")] for each in answer.remedies]
    assert kinds == [["let", "wait"], ["let", "add"]]
