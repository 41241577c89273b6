"""Another scheduler for the same names: what counts as one, and how often it is said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.engine.clashes import REPEAT_SECONDS, SETTLING_SECONDS, Clashes, foreign_binds
from podium.engine.effects import GANG_PLAN
from podium.kube.wire import Pod

SERVED = ("volcano", "podium")
NOW = 1000.0


def pod(node: str = "", plan: str = "", scheduler: str = "volcano", name: str = "p", bound: str = "") -> Pod:
    document: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"schedulerName": scheduler, "nodeName": node, "containers": []},
    }
    if plan:
        document["metadata"]["annotations"] = {GANG_PLAN: plan}
    if bound:
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": bound}
        document["status"] = {"conditions": [condition]}
    return msgspec.convert(document, Pod)


@pytest.fixture
def clashes() -> Clashes:
    found = Clashes()
    assert not list(found.take(NOW))
    return found


def test_a_binding_that_nobody_here_has_sent(clashes: Clashes) -> None:
    clashes.observed(pod(), pod("n1"), SERVED)
    (clash,) = clashes.take(NOW)
    assert str(clash) == (
        "another scheduler serves the scheduler name volcano: the pod p was bound by it (to n1); both count the "
        "same room as free: stop one of the two, or give them different names"
    )
    assert clashes.counts == {"volcano": 1}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, pod("n1")),  # somebody made it so
        (pod("n1"), pod("n1")),  # it was bound before
        (pod(), pod()),
        (pod(scheduler="other"), pod("n1", scheduler="other")),  # none of ours
        (pod(name="q"), pod("n1")),  # another pod of the name
    ],
)
def test_what_is_no_clash(clashes: Clashes, before: Pod | None, after: Pod) -> None:
    clashes.observed(before, after, SERVED)
    assert not list(clashes.take(NOW))


def test_ones_own_binding_also_when_it_arrives_late(clashes: Clashes) -> None:
    clashes.sent("gang/1.1/2")
    clashes.observed(pod(), pod("n1", "gang/1.1/2"), SERVED)
    assert not list(clashes.take(NOW + SETTLING_SECONDS))


def test_another_podium_is_said_once_the_leader_before_is_forgotten(clashes: Clashes) -> None:
    clashes.observed(pod(), pod("n1", "gang/9.1/2"), SERVED)
    assert not list(clashes.take(NOW + SETTLING_SECONDS - 1))
    clashes.observed(pod(name="q"), pod("n1", "gang/9.2/2", name="q"), SERVED)
    (clash,) = clashes.take(NOW + SETTLING_SECONDS)
    assert "another podium serves the scheduler name volcano" in str(clash)
    assert "share the lease" in str(clash)


def test_it_is_said_once_a_minute(clashes: Clashes) -> None:
    for number in range(100):
        clashes.observed(pod(name=f"p{number}"), pod("n1", name=f"p{number}"), SERVED)
        said = list(clashes.take(NOW + 0.1 * number))
        assert len(said) == (number == 0)
    (later,) = clashes.take(NOW + REPEAT_SECONDS)
    assert later.count == 99
    assert "99 pods, the last one p99, were bound" in str(later)
    assert clashes.counts == {"volcano": 100}
    assert not list(clashes.take(NOW + 3 * REPEAT_SECONDS))


def test_what_a_doctor_finds_later() -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
    pods = [
        pod("n1", name="old", bound=early),
        pod("n1", name="foreign", bound=late),
        pod("n1", "g/1.1/1", name="own", bound=late),
        pod(name="waits"),
        pod("n1", scheduler="other", name="others", bound=late),
    ]
    since = 1767229200.0 - 60  # a minute before `late`
    assert [each.name for each in foreign_binds(pods, SERVED, since)] == ["foreign"]
