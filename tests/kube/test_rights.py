"""What writes need, and the rules that grant it."""

from __future__ import annotations

import pytest

from podium.kube.changes import Change, Create, Delete, Patch, Read, Replace
from podium.kube.resources import DEPLOYMENTS, NAMESPACES, PODS, SECRETS
from podium.kube.rights import Need, Right, need_of, needs_of, reading, rules_of


@pytest.mark.parametrize(
    ("change", "need"),
    [
        (Create(PODS, "ns", {}), Need("", "pods", "create")),
        (Create(PODS, "ns", {}, name="p", subresource="binding"), Need("", "pods/binding", "create")),
        (Patch(DEPLOYMENTS, "ns", "d", {}), Need("apps", "deployments", "patch")),
        (Patch(PODS, "ns", "p", {}, subresource="status"), Need("", "pods/status", "patch")),
        (Replace(NAMESPACES, "", "ns", {}, "finalize"), Need("", "namespaces/finalize", "update")),
        (Delete(PODS, "ns", "p"), Need("", "pods", "delete")),
        (Delete(PODS, "ns", ""), Need("", "pods", "deletecollection")),
        (Read(PODS, "ns", "p", "uid"), Need("", "pods", "get")),
    ],
)
def test_what_a_write_needs(change: Change, need: Need) -> None:
    assert need_of(change) == need


def test_rights_allow_their_verbs_and_nothing_else() -> None:
    granted = needs_of([Right(PODS, ("create",), "binding"), *reading([SECRETS])])
    assert granted == {
        Need("", "pods/binding", "create"),
        Need("", "secrets", "list"),
        Need("", "secrets", "watch"),
    }


def test_rules_join_what_is_allowed_alike() -> None:
    rights = [Right(PODS, ("patch",)), Right(PODS, ("get",)), *reading([DEPLOYMENTS]), Right(SECRETS, ("create",))]
    assert rules_of(rights) == rules_of(reversed(rights))
    assert rules_of(rights) == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch"]},
    ]


def test_rules_for_names_stand_apart() -> None:
    rules = rules_of([Right(PODS, ("create",)), Right(PODS, ("get",), names=("a", "b"))])
    assert rules == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a", "b"]},
    ]


def test_what_others_have_granted_is_left_out() -> None:
    assert rules_of([Right(PODS, ("get", "patch"))], without=[Right(PODS, ("get",))]) == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}
    ]
