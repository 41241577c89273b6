"""A dialect that is not asked about a pod would have had nothing to say of it."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import dialects
from podium.dialects import REGISTERED
from podium.dialects.arranger.names import TYJOBS
from podium.dialects.dialect import Setting
from podium.dialects.kubernetes.membership import MarkReader, Marks, membership_of, queue_of, slot_of
from podium.kube.wire import Pod
from tests.dialects.toy import toy

MARKS = [
    marks
    for make in (*REGISTERED, toy)
    for grouped in (True, False)
    if (marks := make(Setting(with_controllers=grouped)).marks) is not None
]
KEYS = [
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "scheduling.volcano.sh/queue-name",
    "scheduling.volcano.sh/group-min-member",
    "volcano.sh/task-spec",
    "volcano.sh/task-priority",
    "volcano.sh/preemptable",
    "pod-group.scheduling.sigs.k8s.io",
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io/name",
    "gang.scheduling.koordinator.sh/name",
    "koordinator.sh/priority",
    "resource.aibee.cn/pool",
]


def _known_keys() -> list[str]:
    """Every text that the modules of marks and names know and that may be a key: so none is forgotten here."""
    found = set(KEYS)
    for module in pkgutil.walk_packages(dialects.__path__, "podium.dialects."):
        if module.name.rpartition(".")[2] in ("names", "marks", "groups", "pods", "translate"):
            values = vars(importlib.import_module(module.name)).values()
            found |= {value for value in values if isinstance(value, str) and "/" in value and " " not in value}
    return sorted(each for each in found if len(each) < 80)


ALL_KEYS = _known_keys()
values = st.sampled_from(["g", "h", "true", "false", "3", "worker", "leader", "0", ""])
some = st.dictionaries(st.sampled_from(ALL_KEYS), values, max_size=4)
owners = st.sampled_from(
    [
        None,
        {"apiVersion": "batch/v1", "kind": "Job"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet"},
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"},
        {"apiVersion": TYJOBS.api_version, "kind": TYJOBS.kind},
    ]
)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    metadata: dict[str, Any] = {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "labels": draw(some),
        "annotations": draw(some),
    }
    owner = draw(owners)
    if owner is not None:
        controller = draw(st.booleans())
        metadata["ownerReferences"] = [owner | {"name": "o", "uid": "uid-o", "controller": controller}]
    spec: dict[str, Any] = {"schedulerName": draw(st.sampled_from(["volcano", "default-scheduler"]))}
    group = draw(st.sampled_from([None, {}, {"podGroupName": "g"}]))
    if group is not None:
        spec["schedulingGroup"] = group
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


@pytest.mark.parametrize("marks", MARKS)
@given(pod=pods())
def test_who_is_not_asked_has_nothing_to_say(marks: Marks, pod: Pod) -> None:
    asked = MarkReader([marks]).asked_about(pod)
    assert membership_of(pod, asked.members) == membership_of(pod, [marks])
    assert queue_of(pod, asked.queues) == queue_of(pod, [marks])
    assert slot_of(pod, asked.slots) == slot_of(pod, [marks])
    for chosen, own in (
        (asked.priorities, marks.priority),
        (asked.sub_priorities, marks.sub_priority),
        (asked.preemptable, marks.preemptable),
    ):
        assert chosen in ((own,), ())
        assert chosen or not own(pod)


def test_pods_of_one_template_are_looked_at_once() -> None:
    looked: list[frozenset[str]] = []

    def concerns(signs: object) -> bool:
        looked.append(signs.keys)  # type: ignore[attr-defined]
        return True

    reader = MarkReader([Marks(concerns=concerns)])

    def asked(labels: dict[str, str], scheduler: str = "volcano") -> None:
        document = {"metadata": {"name": "p", "labels": labels}, "spec": {"schedulerName": scheduler}}
        reader.asked_about(msgspec.convert(document, Pod))

    asked({"index": "1"})
    asked({"index": "2"})
    assert looked == [{"index"}]
    asked({"index": "2", "more": ""})
    asked({"index": "2"}, "other")
    assert len(looked) == 3
