"""Thousands at once: no step looks at more than some of them, and what did not move is not looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from bench.adversaries import KINDS

from podium.core.cluster.accounts import Account
from podium.core.model.decisions import Bind, Decision, Evict, Failure, QueueFault, Refuse, by_gang
from podium.core.plugins.gang import GangPlugin
from podium.core.plugins.priority import Priority
from podium.dialects.dialect import QueueKind
from podium.dialects.paddle import admission
from podium.dialects.volcano.names import PODGROUPS, QUEUES
from podium.engine.queue_reports import QueueReports
from podium.engine.status_writer import StatusWriter
from podium.engine.world import World
from podium.kube.resources import PERSISTENTVOLUMECLAIMS, PODS
from podium.reasons import NO_NODES, refuse
from tests.core.world import World as Small
from tests.engine.test_many import NOW, Document, Steps, counting

MANY = 450
SOME = 210  # a portion of a hundred, and what else a step may do


def most_in_a_step(steps: Steps, calls: Counter[str], seconds: float = 6.0) -> int:
    """The largest number of calls in one step, until there is nothing to do for a while."""
    now, most = NOW, 0
    while True:
        before = calls.total()
        steps.scheduler.run(now, 1)
        most = max(most, calls.total() - before)
        wake = steps.scheduler.next_wake(now)
        if wake is None or wake > NOW + seconds:
            return most
        now = max(now, wake)


# --- turns ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("owner", "method"), [(GangPlugin, "job_valid"), (Priority, "job_key")])
def test_gangs_are_looked_at_in_portions(owner: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one turn, all of them: room for ten, and everybody else waits."""
    steps = Steps(1)
    for resource, document in KINDS["annotated"](MANY // 2):
        steps.observe(resource, document)
    calls = counting(monkeypatch, owner, method)
    assert most_in_a_step(steps, calls) <= SOME
    assert calls[method] >= MANY, "all of them were looked at"


def test_what_is_only_being_tried_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn pauses with statements open: what the model has meanwhile must not be taken for places."""
    steps = Steps(20)
    for resource, document in KINDS["training_jobs"](50):
        steps.observe(resource, document)
    progress, within = StatusWriter.progress, []

    def noted(writer: StatusWriter, now: float) -> None:
        within.append(steps.scheduler._turn is not None)
        progress(writer, now)

    monkeypatch.setattr(StatusWriter, "progress", noted)
    most_in_a_step(steps, Counter())
    assert within
    assert not any(within)


def test_reports_of_a_step_are_written_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan decides on all elastic jobs in one step."""
    steps = Steps(20)
    for resource, document in KINDS["training_jobs"](MANY):
        steps.observe(resource, document)
    calls = counting(monkeypatch, StatusWriter, "_report_group")
    assert most_in_a_step(steps, calls) <= 110
    assert calls["_report_group"] >= MANY // 3


def test_decisions_of_a_gang_stay_together() -> None:
    world = Small()
    world.node("n")
    for name in ("a", "b", "c"):
        world.task(name, gang=world.gang(name))
    (victim_id,) = (each for each, task in world.cluster.tasks.items() if task.name == "b")
    victim: Decision = Evict(victim_id, "why")
    one, two = Bind("a", "n", "ns/a", 2), Bind("c", "n", "ns/c", 1)
    other, last = Refuse("ns/a", refuse(NO_NODES)), Failure("who", "error", "trace")
    step = [one, victim, two, other, last]
    assert list(by_gang(step, world.cluster.tasks, 5)) == [step]
    assert list(by_gang(step, world.cluster.tasks, 2)) == [[one, other], [victim, two], [last]]


# --- queues ---------------------------------------------------------------------------------------------------


def queue(name: str, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def asked_of_queues(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The queues of which somebody wanted to know how they stand, each time."""
    asked: list[list[str]] = []
    original = QueueReports.of

    def of(self: QueueReports, queues: Any, now: float) -> Mapping[str, Any]:
        asked.append(list(queues))
        return original(self, asked[-1], now)

    monkeypatch.setattr(QueueReports, "of", of)
    return asked


def test_queues_are_counted_in_portions_and_when_they_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(2)
    asked = asked_of_queues(monkeypatch)
    for number in range(MANY):
        steps.observe(QUEUES, queue(f"queue-{number}"))
    resource, first = next(iter(KINDS["plain"](1)))
    steps.observe(resource, first)
    steps.run(2.0)
    assert max(map(len, asked)) <= 100
    assert sum(map(len, asked)) == MANY, "all of them, once"
    asked.clear()
    for resource, document in KINDS["queues"](1):  # queue-0, its group and its pod
        if resource != QUEUES:
            steps.observe(resource, document)
    steps.run(4.0)
    assert {id for each in asked for id in each} == {"volcano/queue-0"}


def test_all_queues_may_be_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is found by going through them once."""
    steps = Steps(1)
    for number in range(100):
        steps.observe(QUEUES, queue(f"queue-{number}", guarantee={"resource": {"cpu": "-1"}}))
    world = steps.world
    kind = world.queues[QUEUES]
    named = 0

    def id(name: str) -> str:
        nonlocal named
        named += 1
        return kind.id(name)

    counted = QueueKind(QUEUES, id, kind.read, kind.patch)
    monkeypatch.setitem(world.queues, QUEUES, counted)
    for resource, document in KINDS["queues"](1):
        steps.observe(resource, document)
    writer, named = StatusWriter(world), 0
    faults = [QueueFault(f"volcano/queue-{number}", refuse(NO_NODES)) for number in range(100)]
    writer.decided(faults, NOW)
    assert named <= 2 * 101
    assert writer.waiting == 100


def test_sums_of_a_queue_are_read_again_when_they_changed() -> None:
    account, more = Account(), Account(gangs=1)
    more.allocated[0] = 5
    account.add(more, 1)
    first = account.vector("allocated", 3)
    assert first.tolist() == [5, 0, 0]
    assert account.vector("allocated", 3) is first
    assert account.vector("allocated", 4).tolist() == [5, 0, 0, 0], "a resource has come"
    account.add(more, 1)
    assert account.vector("allocated", 3).tolist() == [10, 0, 0]
    assert account.vector("waiting", 3).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


# --- between turns --------------------------------------------------------------------------------------------


def test_pods_that_hang_on_one_claim_are_read_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(1)
    for _, document in KINDS["plain"](MANY):
        source = {"name": "data", "persistentVolumeClaim": {"claimName": "all"}}
        document["spec"]["volumes"] = [source]
        steps.observe(PODS, document)
    steps.run(1.0)
    calls = counting(monkeypatch, World, "_read_pod")
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {}, "metadata": {"name": "all"}}
    steps.observe(PERSISTENTVOLUMECLAIMS, claim)
    assert most_in_a_step(steps, calls) <= 110
    assert calls["_read_pod"] >= MANY


def test_bad_pods_are_reported_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(1)
    for _, document in KINDS["plain"](MANY):
        document["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "much"
        steps.observe(PODS, document)
    calls = counting(monkeypatch, StatusWriter, "_report_pod")
    assert most_in_a_step(steps, calls) <= 110
    assert calls["_report_pod"] >= MANY


def test_groups_that_came_further_are_reported_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(20)
    for resource, document in KINDS["gangs"](MANY // 2):
        if resource == PODGROUPS:
            document["status"] = {"phase": "Running"}
            steps.observe(resource, document)
            continue
        document["spec"]["nodeName"] = "node-00000"
        document["status"] = {"phase": "Running"}
        steps.observe(PODS, document)
    calls = counting(monkeypatch, StatusWriter, "_report_group")
    assert most_in_a_step(steps, calls) <= 110
    assert calls["_report_group"] >= MANY


# --- jobs -----------------------------------------------------------------------------------------------------


def test_a_job_is_checked_again_when_its_spec_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status moves all the time."""
    calls = counting(monkeypatch, admission, "_template_errors")
    steps = Steps(2)
    ((resource, document),) = list(KINDS["training_jobs"](3))
    document["metadata"] |= {"name": "often", "uid": "often"}
    for seconds in range(20):
        steps.observe(resource, document | {"status": {"podSeconds": seconds}})
        steps.run(0.0)
    assert calls["_template_errors"] == 1
    document["spec"]["trainer"]["min-instance"] = 2
    document["spec"]["volumes"] = [{"name": "NO NAME"}]
    steps.observe(resource, document)
    steps.run(0.0)
    assert calls["_template_errors"] == 2
