"""Thousands of one thing: what is done about one of them is done once, and others get their turn in between."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from bench.adversaries import KINDS
from bench.population import node, node_name

from podium.core.elastic.later import Later
from podium.core.framework.session import Session
from podium.core.plugins.give_up import GiveUp
from podium.dialects import DIALECTS
from podium.dialects.aibee.translate import OWNERSHIP
from podium.dialects.aibee.types import Pool
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.dialect import Ownership
from podium.dialects.koordinator.pages import page
from podium.engine.listed_slots import ListedSlots
from podium.engine.node_owners import NodeOwners
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.resources import NODES, PERSISTENTVOLUMECLAIMS, PODS, Resource
from podium.kube.wire import Node, Object, struct_of
from podium.runtime.configuration import default_profiles, serving_all
from tests.dialects.arranger_stage import job, template
from tests.dialects.pool_stage import PoolStage

Document = dict[str, Any]

NOW = 1_800_000_000.0


class Steps:
    """A scheduler without a server: objects go in, and its turns are taken step by step."""

    def __init__(self, nodes: int) -> None:
        self.world = World(DIALECTS)
        self.scheduler = Scheduler(self.world, serving_all(default_profiles()))
        self._version = 0
        for resource in self.scheduler.resources:
            self.scheduler.synced(resource)
        for number in range(nodes):
            self.observe(NODES, node(node_name(number)))

    def observe(self, resource: Resource, document: Document) -> Object:
        self._version += 1
        metadata = {"uid": f"u-{self._version}", "creationTimestamp": "2026-01-01T00:00:00Z"} | document[
            "metadata"
        ]
        metadata["resourceVersion"] = str(self._version)
        if resource.namespaced:
            metadata.setdefault("namespace", "default")
        view = self.world.views.get(resource) or struct_of(resource)
        obj = msgspec.json.decode(msgspec.json.encode(document | {"metadata": metadata}), type=view)
        self.scheduler.observe(resource, obj)
        return obj

    def run(self, seconds: float = 20.0) -> list[int]:
        """How many tickets each step has brought."""
        now, tickets = NOW, []
        while True:
            tickets.append(len(self.scheduler.run(now, 1)))
            wake = self.scheduler.next_wake(now)
            if wake is None or wake > NOW + seconds:
                return tickets
            now = max(now, wake)


def counting(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Counter[str]:
    """How often a method is called."""
    calls: Counter[str] = Counter()
    original = getattr(owner, name)

    def counted(*given: Any, **named: Any) -> Any:
        calls[name] += 1
        return original(*given, **named)

    monkeypatch.setattr(owner, name, counted)
    return calls


# --- pools ----------------------------------------------------------------------------------------------------


def test_a_pool_is_asked_about_each_node_once() -> None:
    asked = 0

    def claims(pool: Any) -> Any:
        claim = OWNERSHIP.claims(pool)

        def counted(each: Node) -> bool:
            nonlocal asked
            asked += 1
            return claim is not None and claim(each)

        return counted

    owners = NodeOwners(Ownership(claims, OWNERSHIP.judge))
    views = {each.resource: each for dialect in DIALECTS for each in dialect.queues}
    pools = next(resource for resource, kind in views.items() if kind.ownership is OWNERSHIP)
    view = World(DIALECTS).views[pools]
    nodes = [msgspec.convert(node(node_name(number)), Node) for number in range(10)]
    for each in nodes:
        assert owners.owner(each) == ("", None)
    documents = [document for resource, document in KINDS["pools"](250) if resource == pools]
    moved = [owners.put(msgspec.convert(document, view)) for document in documents]
    assert asked == len(nodes) * len(documents)
    assert [len(each) for each in moved[:3]] == [10, 10, 0], "owned, then contested, and so it stays"
    for each in nodes:
        owners.owner(each)  # as it was: nobody is asked again
    assert asked == len(nodes) * len(documents)
    for number in range(1, len(documents)):
        owners.drop(f"pool-{number}")
    assert owners.owner(nodes[0]) == ("aibee/pool-0", None)


def test_a_node_is_asked_about_by_the_pools_whose_label_it_has() -> None:
    asked: list[str] = []

    def claims(pool: Any) -> Any:
        claim = OWNERSHIP.claims(pool)

        def noted(each: Node) -> bool:
            asked.append(pool.name)
            return claim is not None and claim(each)

        return noted

    def pool(name: str, **spec: Any) -> Pool:
        return msgspec.convert({"metadata": {"name": name}, "spec": spec}, Pool)

    owners = NodeOwners(Ownership(claims, OWNERSHIP.judge, OWNERSHIP.label))
    for number in range(100):
        owners.put(pool(f"p{number}", nodeSelector={"matchLabels": {"pool": f"p{number}", "x": "1"}}))
    owners.put(pool("gpus", supportResources=["nvidia.com/gpu"]))
    one = msgspec.convert({"metadata": {"name": "n", "labels": {"pool": "p7", "x": "1"}}}, Node)
    assert owners.owner(one) == ("aibee/p7", None)
    assert sorted(asked) == ["gpus", "p7"]
    assert owners.put(pool("p7", nodeSelector={"matchLabels": {"pool": "p8"}})) == ["n"]
    owners.drop("p8")
    two = msgspec.convert({"metadata": {"name": "m", "labels": {"pool": "p8", "x": "1"}}}, Node)
    assert owners.owner(two) == ("aibee/p7", None), "by the label that it has now"


def test_a_selector_that_contests_every_node_is_told_of_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = PoolStage()
    stage.pool("a", {"x": "1"})
    for number in range(250):
        stage.add_node(f"n{number}", labels={"x": "1", "y": "1"})
    stage.settle()
    stage.pool("b", {"y": "1"})
    stage.tell()
    taken: list[int] = []
    take = stage.world.take_faults
    monkeypatch.setattr(stage.world, "take_faults", lambda most: _counted(take(most), taken))
    stage.settle()
    assert max(taken) == 100
    assert sum(taken) >= 250
    assert stage.members()["Default"] == sorted(f"n{number}" for number in range(250))


def _counted(found: list[Any], counts: list[int]) -> list[Any]:
    counts.append(len(found))
    return found


# --- gangs that start together --------------------------------------------------------------------------------


def test_a_circle_of_gangs_is_tried_in_many_steps_and_starts_as_one() -> None:
    steps = Steps(4)
    for resource, document in KINDS["circle"](60):
        steps.observe(resource, document)
    taken = steps.run()
    assert max(taken) == sum(taken) == 60, "all are bound in one step"
    assert taken.index(60) > 60, "after each of them was tried in one of its own"


def test_a_chain_of_gangs_that_ends_in_one_which_is_not_there_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = Steps(4)
    for _, document in list(KINDS["circle"](60))[:-1]:
        steps.observe(PODS, document)
    calls = counting(monkeypatch, Session, "ready")
    assert sum(taken for taken in steps.run(1.0) if taken >= 59) == 0
    assert calls["ready"] <= 10 * 59


def test_the_page_of_gangs_names_some_of_those_that_start_together() -> None:
    steps = Steps(1)
    for resource, document in KINDS["circle"](300):
        steps.observe(resource, document)
    whole = page("/gangs", steps.world.cluster.gangs)
    assert whole is not None
    assert len(whole) == 300
    info = whole["default/link-7"]["gangGroupInfo"]
    assert len(info["gangGroupId"].split(",")) == 100
    assert len(msgspec.json.encode(whole)) < 300 * 10_000


# --- slots ----------------------------------------------------------------------------------------------------


def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return counting(monkeypatch, ListedSlots, "_facts")


def test_a_claim_makes_those_slots_be_read_again_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(2)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    steps.observe(TYJOBS, job("other", workers={"w": (500, template())}))
    steps.observe(TYJOBS, job("j", workers={"w": (500, template(volumes=[volume]))}))
    calls = reads(monkeypatch)
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {}}
    steps.observe(PERSISTENTVOLUMECLAIMS, claim | {"metadata": {"name": "somebody-elses"}})
    assert calls["_facts"] == 0
    steps.observe(PERSISTENTVOLUMECLAIMS, claim | {"metadata": {"name": "data"}})
    assert calls["_facts"] == 1 + 501, "one of them says that it makes a difference"
    steps.observe(PERSISTENTVOLUMECLAIMS, claim | {"metadata": {"name": "data"}})
    assert calls["_facts"] == 1 + 501 + 1


def test_a_pod_that_is_gone_gives_one_slot_back(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(2)
    document = job("j", workers={"w": (500, template())})
    document["metadata"]["uid"] = "the-job"
    steps.observe(TYJOBS, document)
    owner = {"apiVersion": TYJOBS.api_version, "kind": "TYJob", "name": "j", "uid": "the-job", "controller": True}
    slots = steps.world.groups[TYJOBS].slots
    assert slots is not None
    listed = {each.name: each for each in slots(steps.world.cache.get(TYJOBS, "default", "j"))}
    labels = {**listed["j-w-7"].pod.labels, "arranger.taiyi.io/index": "7"}
    metadata = {"name": "j-w-7", "labels": labels, "ownerReferences": [owner]}
    pod = steps.observe(PODS, {"metadata": metadata, "spec": {"schedulerName": "arranger", "containers": []}})
    task = steps.world.cluster.tasks[pod.uid]
    assert task.slot == listed["j-w-7"].id, "the pod fills its slot"
    calls = reads(monkeypatch)
    steps.scheduler.forget(PODS, pod)
    assert calls["_facts"] == 1
    assert listed["j-w-7"].id in steps.world.cluster.tasks
    steps.world.cluster.validate()


# --- refusals -------------------------------------------------------------------------------------------------


def test_plugins_are_asked_once_about_the_refusal_of_equal_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(2)
    nowhere = template(cpu=0, nodeSelector={"no": "such-node"})
    steps.observe(TYJOBS, job("j", leader=nowhere, workers={"w": (300, nowhere)}, minWorkersNum=300))
    calls = counting(monkeypatch, GiveUp, "job_refused")
    steps.run(1.0)
    assert 0 < calls["job_refused"] < 20


# --- elastic jobs ---------------------------------------------------------------------------------------------


def test_jobs_that_wait_are_started_in_many_steps() -> None:
    steps = Steps(2)
    for resource, document in KINDS["training_jobs"](100):
        steps.observe(resource, document)
    taken = steps.run(6.0)
    assert len(taken) > 40, "one for each job at least"
    started = [each for each in steps.world.cluster.gangs.values() if each.size is not None and each.size.wanted]
    assert len(started) == 40


def test_nobody_makes_room_for_a_job_that_never_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(2)
    documents = [document for _, document in KINDS["training_jobs"](10)]
    documents[0]["spec"]["trainer"] |= {"min-instance": 2000, "max-instance": 2000}
    resource = next(resource for resource, _ in KINDS["training_jobs"](10))
    for document in documents:
        steps.observe(resource, document)
    calls = counting(monkeypatch, Later, "place_wanted")
    steps.run(12.0)
    assert calls["place_wanted"] < 100
