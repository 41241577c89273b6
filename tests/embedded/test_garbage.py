"""Owner references, the three ways to delete, and the end of namespaces."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.kube.changes import Delete, Read
from podium.kube.resources import (
    CONFIGMAPS,
    CUSTOMRESOURCEDEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICASETS,
    SECRETS,
    SERVICEACCOUNTS,
    Resource,
)
from podium.kube.transport import MERGE_PATCH, Request
from podium.kube.wire import ConfigMap
from tests.embedded.cluster import CA, Cluster, Document, template_of

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def owned(cluster: Cluster, name: str, *owners: Document, **more: Any) -> Document:
    """A ConfigMap with these owners."""
    return cluster.make(CONFIGMAPS, name, metadata={"ownerReferences": list(owners), **more})


def reference(owner: Document, resource: Resource = CONFIGMAPS, block: bool = False) -> Document:
    found = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return {**found, "blockOwnerDeletion": True} if block else found


def mine(cluster: Cluster) -> list[str]:
    return [name for name in cluster.names(CONFIGMAPS) if name != "kube-root-ca.crt"]


def test_background_deletion_follows_the_chain(cluster: Cluster) -> None:
    top = owned(cluster, "top")
    middle = owned(cluster, "middle", reference(top))
    owned(cluster, "bottom", reference(middle))
    cluster.settle()
    assert mine(cluster) == ["bottom", "middle", "top"]
    cluster.remove(CONFIGMAPS, "top")
    cluster.settle()
    assert mine(cluster) == []


def test_an_object_lives_while_one_owner_does_and_forgets_the_other(cluster: Cluster) -> None:
    one, two = owned(cluster, "one"), owned(cluster, "two")
    owned(cluster, "child", reference(one), reference(two))
    cluster.settle()
    cluster.remove(CONFIGMAPS, "one")
    cluster.settle()
    (left,) = cluster.get(CONFIGMAPS, "child")["metadata"]["ownerReferences"]
    assert left["name"] == "two"
    cluster.remove(CONFIGMAPS, "two")
    cluster.settle()
    assert mine(cluster) == []


def test_foreground_deletion_waits_for_dependents_that_block(cluster: Cluster) -> None:
    top = owned(cluster, "top")
    owned(cluster, "held", reference(top, block=True), finalizers=["example.com/hold"])
    owned(cluster, "loose", reference(top), finalizers=["example.com/hold"])
    cluster.settle()
    cluster.remove(CONFIGMAPS, "top", "Foreground")
    cluster.settle()
    assert mine(cluster) == ["held", "loose", "top"]
    assert "deletionTimestamp" in cluster.get(CONFIGMAPS, "loose")["metadata"]
    cluster.patch(CONFIGMAPS, "held", {"metadata": {"finalizers": None}})
    cluster.settle()
    assert mine(cluster) == ["loose"], "what does not block may still be on its way out"


def test_foreground_deletion_goes_down_the_tree(cluster: Cluster) -> None:
    template = template_of({"app": "web"})
    content = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    cluster.make(DEPLOYMENTS, "web", spec=content)
    cluster.settle()
    cluster.remove(DEPLOYMENTS, "web", "Foreground")
    cluster.turn()
    assert cluster.has(DEPLOYMENTS, "web")
    cluster.pass_seconds(60)
    assert not cluster.has(DEPLOYMENTS, "web")
    assert cluster.names(REPLICASETS) == []
    assert cluster.names(PODS) == []


def test_orphans_lose_the_reference_and_nothing_else(cluster: Cluster) -> None:
    top, other = owned(cluster, "top"), owned(cluster, "other")
    owned(cluster, "child", reference(top), reference(other))
    cluster.settle()
    cluster.remove(CONFIGMAPS, "top", "Orphan")
    cluster.settle()
    assert mine(cluster) == ["child", "other"]
    (left,) = cluster.get(CONFIGMAPS, "child")["metadata"]["ownerReferences"]
    assert left["name"] == "other"


def test_an_owner_that_never_was_is_asked_for_once_and_its_dependents_deleted(cluster: Cluster) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "no-such-uid"}
    owned(cluster, "child", ghost)
    cluster.settle()
    assert mine(cluster) == []
    assert sum(isinstance(change, Read) for change in cluster.writes) == 1


def test_another_object_of_the_owners_name_is_not_the_owner(cluster: Cluster) -> None:
    owner = owned(cluster, "owner")
    owned(cluster, "child", {**reference(owner), "uid": "the-uid-before"})
    cluster.settle()
    assert mine(cluster) == ["owner"]


def test_owners_of_unknown_kinds_are_left_alone(cluster: Cluster) -> None:
    owned(cluster, "child", {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u"})
    cluster.pass_seconds(100)
    assert mine(cluster) == ["child"]


def test_cluster_scoped_owners_count(cluster: Cluster) -> None:
    node = cluster.get(NODES, "node-0")
    owned(cluster, "child", reference(node, NODES))
    cluster.settle()
    assert mine(cluster) == ["child"]
    cluster.remove(NODES, "node-0")
    cluster.pass_seconds(60)
    assert mine(cluster) == []


def test_a_dependent_that_is_seen_before_its_owner_is_not_deleted(cluster: Cluster) -> None:
    """Two watches may be of different age: the question to the server decides."""
    owner = cluster.make(SECRETS, "owner")
    owned(cluster, "child", reference(owner, SECRETS))
    child = cluster.get(CONFIGMAPS, "child")
    cluster.manager.observe(CONFIGMAPS, msgspec.convert(child, ConfigMap))
    for ticket in cluster.manager.run(cluster.now):
        assert not isinstance(ticket.change, Delete)
        cluster.carry_out(ticket)
    cluster.settle()
    assert mine(cluster) == ["child"]


def test_after_a_restart_garbage_is_still_found(cluster: Cluster) -> None:
    owner = owned(cluster, "owner")
    owned(cluster, "child", reference(owner))
    cluster.settle()
    cluster.remove(CONFIGMAPS, "owner")
    cluster.restart()
    cluster.settle()
    assert mine(cluster) == []


def test_custom_resources_own_and_are_owned(cluster: Cluster) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    cluster.make(
        CUSTOMRESOURCEDEFINITIONS,
        "widgets.example.com",
        spec={
            "group": "example.com",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )
    cluster.settle()
    cluster.serve(WIDGETS)
    widget = cluster.make(WIDGETS, "w")
    owned(cluster, "child", reference(widget, WIDGETS))
    cluster.make(WIDGETS, "part", metadata={"ownerReferences": [reference(widget, WIDGETS)]})
    cluster.settle()
    assert mine(cluster) == ["child"]
    cluster.remove(WIDGETS, "w", "Orphan")
    cluster.settle()
    assert cluster.names(WIDGETS) == ["part"]
    widget = cluster.make(WIDGETS, "w2")
    cluster.patch(CONFIGMAPS, "child", {"metadata": {"ownerReferences": [reference(widget, WIDGETS)]}})
    cluster.settle()
    cluster.remove(WIDGETS, "w2")
    cluster.settle()
    assert mine(cluster) == []


# --- namespaces --------------------------------------------------------------------------------------------------


def test_every_namespace_gets_its_account_and_the_certificate(cluster: Cluster) -> None:
    cluster.make(NAMESPACES, "team")
    cluster.settle()
    assert cluster.names(SERVICEACCOUNTS, "team") == ["default"]
    (found,) = cluster.objects(CONFIGMAPS, "team")
    assert found["metadata"]["name"] == "kube-root-ca.crt"
    assert found["data"] == {"ca.crt": CA}


def test_account_and_certificate_come_back_as_they_were(cluster: Cluster) -> None:
    cluster.remove(SERVICEACCOUNTS, "default")
    cluster.patch(CONFIGMAPS, "kube-root-ca.crt", {"data": {"ca.crt": "forged", "more": "x"}})
    cluster.settle()
    assert cluster.names(SERVICEACCOUNTS) == ["default"]
    assert cluster.get(CONFIGMAPS, "kube-root-ca.crt")["data"] == {"ca.crt": CA}


def test_a_deleted_namespace_takes_everything_with_it(cluster: Cluster) -> None:
    cluster.make(NAMESPACES, "team")
    template = template_of({"app": "web"})
    content = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    cluster.make(DEPLOYMENTS, "web", "team", spec=content)
    cluster.make(SECRETS, "held", "team", metadata={"finalizers": ["example.com/hold"]})
    cluster.settle()
    cluster.remove(NAMESPACES, "team")
    cluster.pass_seconds(60)
    team = cluster.get(NAMESPACES, "team")
    assert team["status"]["phase"] == "Terminating"
    assert cluster.names(PODS, "team") == []
    assert cluster.names(CONFIGMAPS, "team") == []
    cluster.restart()
    freed = b'{"metadata":{"finalizers":null}}'
    cluster.request(Request("PATCH", SECRETS.path("team", "held"), body=freed, content_type=MERGE_PATCH))
    cluster.pass_seconds(10)
    assert "team" not in cluster.names(NAMESPACES)


def test_waiting_for_a_namespace_costs_nothing(cluster: Cluster) -> None:
    cluster.make(NAMESPACES, "team")
    cluster.make(SECRETS, "held", "team", metadata={"finalizers": ["example.com/hold"]})
    cluster.settle()
    deletes = [change for change in cluster.writes if isinstance(change, Delete)]
    assert deletes == []
    cluster.remove(NAMESPACES, "team")
    cluster.settle()
    writes = len(cluster.writes)
    cluster.pass_seconds(600)
    assert cluster.writes[writes:] == [], "it waits without asking again and again"
