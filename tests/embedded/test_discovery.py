"""Discovery: both styles, from the built-in kinds and from custom ones, and the cache between them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.embedded.discovery import AGGREGATED, Discovery, version_document
from podium.embedded.kinds import builtin_kinds
from podium.embedded.registry import Kind, Registry, ScalePaths
from podium.errors import ApiError
from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema.model import Schema

KUBECTL = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
WIDGETS = Kind(
    Resource("acme.dev", "v1", "widgets", "Widget"),
    Schema(type="object"),
    Resource("acme.dev", "", "widgets", "Widget"),
    "widget",
    short_names=("wd",),
    categories=("all", "acme"),
    status=True,
    scale=ScalePaths(),
    custom=True,
)


@pytest.fixture
def registry() -> Registry:
    return Registry(builtin_kinds())


def ask(registry: Registry, path: str, accept: str = "application/json") -> Any:
    answer = Discovery(registry).answer(path, accept)
    assert answer is not None
    assert answer.status == 200
    return msgspec.json.decode(answer.body)


def resources(registry: Registry, path: str) -> dict[str, Any]:
    return {each["name"]: each for each in ask(registry, path)["resources"]}


def test_api(registry: Registry) -> None:
    document = ask(registry, "/api")
    assert (document["kind"], document["versions"]) == ("APIVersions", ["v1"])
    assert document["serverAddressByClientCIDRs"][0]["clientCIDR"] == "0.0.0.0/0"


def test_groups_stand_in_the_order_of_a_real_server(registry: Registry) -> None:
    registry.add(WIDGETS)
    document = ask(registry, "/apis")
    assert document["kind"] == "APIGroupList"
    assert [group["name"] for group in document["groups"]] == [
        "apps",
        "events.k8s.io",
        "batch",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "apiextensions.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "acme.dev",
    ]


def test_one_group(registry: Registry) -> None:
    assert ask(registry, "/apis/apps") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }


def test_pods_and_their_subresources(registry: Registry) -> None:
    document = ask(registry, "/api/v1")
    assert (document["kind"], document["groupVersion"]) == ("APIResourceList", "v1")
    found = resources(registry, "/api/v1")
    assert found["pods"] == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["po"],
        "categories": ["all"],
    }
    assert found["pods/binding"]["kind"] == "Binding"
    assert found["pods/binding"]["verbs"] == ["create"]
    assert found["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert (found["pods/log"]["kind"], found["pods/log"]["verbs"]) == ("Pod", ["get"])
    assert found["pods/status"]["verbs"] == ["get", "patch", "update"]
    assert found["namespaces/finalize"]["verbs"] == ["update"]
    assert "deletecollection" not in found["namespaces"]["verbs"]
    assert "serviceaccounts/token" not in found


def test_scale(registry: Registry) -> None:
    found = resources(registry, "/apis/apps/v1")
    assert found["deployments/scale"] == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }
    assert "daemonsets/scale" not in found


@pytest.mark.parametrize(
    ("resource", "short"),
    [
        (r.PODS, ["po"]),
        (r.NODES, ["no"]),
        (r.NAMESPACES, ["ns"]),
        (r.SERVICES, ["svc"]),
        (r.ENDPOINTS, ["ep"]),
        (r.CONFIGMAPS, ["cm"]),
        (r.SERVICEACCOUNTS, ["sa"]),
        (r.EVENTS, ["ev"]),
        (r.EVENTS_V1, ["ev"]),
        (r.PERSISTENTVOLUMES, ["pv"]),
        (r.PERSISTENTVOLUMECLAIMS, ["pvc"]),
        (r.RESOURCEQUOTAS, ["quota"]),
        (r.LIMITRANGES, ["limits"]),
        (r.DEPLOYMENTS, ["deploy"]),
        (r.REPLICASETS, ["rs"]),
        (r.STATEFULSETS, ["sts"]),
        (r.DAEMONSETS, ["ds"]),
        (r.CRONJOBS, ["cj"]),
        (r.PRIORITYCLASSES, ["pc"]),
        (r.PODDISRUPTIONBUDGETS, ["pdb"]),
        (r.STORAGECLASSES, ["sc"]),
        (r.NETWORKPOLICIES, ["netpol"]),
        (r.CUSTOMRESOURCEDEFINITIONS, ["crd", "crds"]),
        (r.SECRETS, []),
        (r.JOBS, []),
    ],
)
def test_short_names(registry: Registry, resource: Resource, short: list[str]) -> None:
    path = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    assert resources(registry, path)[resource.plural].get("shortNames", []) == short


def test_all_is_what_kubectl_get_all_shows(registry: Registry) -> None:
    in_all = {kind.resource.plural for kind in registry if "all" in kind.categories}
    assert in_all == {
        "pods",
        "services",
        "replicationcontrollers",
        "deployments",
        "replicasets",
        "statefulsets",
        "daemonsets",
        "jobs",
        "cronjobs",
    }


def test_both_groups_of_events_share_their_objects() -> None:
    assert {kind.storage for kind in builtin_kinds() if kind.resource.plural == "events"} == {r.EVENTS}


def test_every_resource_that_is_named_is_served() -> None:
    named = {value for value in vars(r).values() if isinstance(value, Resource)}
    assert {kind.resource for kind in builtin_kinds()} == named


# --- the aggregated style ----------------------------------------------------------------------------------


def test_aggregated_answers_say_so_in_their_content_type(registry: Registry) -> None:
    for path in ("/api", "/apis"):
        answer = Discovery(registry).answer(path, KUBECTL)
        assert answer is not None
        assert answer.content_type == AGGREGATED
        assert answer.header("vary") == "Accept"
        assert answer.header("etag")


def test_aggregated_core(registry: Registry) -> None:
    document = ask(registry, "/api", KUBECTL)
    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    (group,) = document["items"]
    assert group["metadata"] == {}
    (version,) = group["versions"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    pods = next(each for each in version["resources"] if each["resource"] == "pods")
    assert pods["scope"] == "Namespaced"
    assert pods["singularResource"] == "pod"
    assert pods["responseKind"]["kind"] == "Pod"
    assert {each["subresource"]: each["responseKind"]["kind"] for each in pods["subresources"]} == {
        "binding": "Binding",
        "eviction": "Eviction",
        "log": "Pod",
        "status": "Pod",
    }


def test_aggregated_custom_resources(registry: Registry) -> None:
    registry.add(WIDGETS)
    document = ask(registry, "/apis", KUBECTL)
    group = document["items"][-1]
    assert group["metadata"] == {"name": "acme.dev"}
    (entry,) = group["versions"][0]["resources"]
    assert entry["responseKind"] == {"group": "acme.dev", "version": "v1", "kind": "Widget"}
    assert (entry["shortNames"], entry["categories"]) == (["wd"], ["all", "acme"])
    assert [each["subresource"] for each in entry["subresources"]] == ["scale", "status"]
    assert entry["subresources"][0]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def test_both_styles_name_the_same(registry: Registry) -> None:
    registry.add(WIDGETS)
    aggregated = {
        f"{group['metadata']['name']}/{version['version']}/{resource['resource']}{suffix}"
        for group in ask(registry, "/apis", KUBECTL)["items"]
        for version in group["versions"]
        for resource in version["resources"]
        for suffix in ("", *("/" + each["subresource"] for each in resource.get("subresources", [])))
    }
    old = {
        f"{version['groupVersion']}/{name}"
        for group in ask(registry, "/apis")["groups"]
        for version in group["versions"]
        for name in resources(registry, f"/apis/{version['groupVersion']}")
    }
    assert aggregated == old


def test_an_old_client_gets_the_old_style(registry: Registry) -> None:
    for accept in ("application/json", "*/*", "", "application/vnd.kubernetes.protobuf,application/json"):
        assert ask(registry, "/apis", accept)["kind"] == "APIGroupList"
    # Only the two roots can be aggregated.
    assert ask(registry, "/apis/apps", KUBECTL)["kind"] == "APIGroup"


def test_what_is_not_spoken_is_refused(registry: Registry) -> None:
    for accept in ("text/html", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"):
        with pytest.raises(ApiError) as refused:
            Discovery(registry).answer("/apis", accept)
        assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")


# --- changes -----------------------------------------------------------------------------------------------


def test_versions_of_a_group_are_listed_by_preference(registry: Registry) -> None:
    for version in ("v1alpha1", "v2beta1", "v1", "v1beta1"):
        registry.add(msgspec.structs.replace(WIDGETS, resource=Resource("acme.dev", version, "widgets", "Widget")))
    document = ask(registry, "/apis/acme.dev")
    assert [each["version"] for each in document["versions"]] == ["v1", "v2beta1", "v1beta1", "v1alpha1"]
    assert document["preferredVersion"] == {"groupVersion": "acme.dev/v1", "version": "v1"}


def test_answers_follow_the_registry_and_are_kept_between_changes(registry: Registry) -> None:
    discovery = Discovery(registry)
    with pytest.raises(ApiError) as refused:
        discovery.answer("/apis/acme.dev/v1")
    assert refused.value.code == 404
    before = discovery.answer("/apis", KUBECTL)
    assert discovery.answer("/apis", KUBECTL) is before
    registry.add(WIDGETS)
    after = discovery.answer("/apis", KUBECTL)
    assert before is not None
    assert after is not None
    assert before.header("etag") != after.header("etag")
    assert discovery.answer("/apis/acme.dev/v1") is not None
    registry.remove(WIDGETS.resource)
    with pytest.raises(ApiError):
        discovery.answer("/apis/acme.dev")


@pytest.mark.parametrize(
    "path", ["/", "/version", "/healthz", "/api/v1/pods", "/apis/apps/v1/deployments", "/openapi/v2"]
)
def test_other_paths_are_not_discovery(registry: Registry, path: str) -> None:
    assert Discovery(registry).answer(path) is None


@pytest.mark.parametrize("path", ["/api/v2", "/apis/nope", "/apis/apps/v9", "/apis//v1"])
def test_unknown_groups_and_versions(registry: Registry, path: str) -> None:
    with pytest.raises(ApiError) as refused:
        Discovery(registry).answer(path)
    assert refused.value.code == 404


def test_trailing_slashes_do_no_harm(registry: Registry) -> None:
    assert ask(registry, "/apis/")["kind"] == "APIGroupList"
    assert ask(registry, "/api/v1/")["kind"] == "APIResourceList"


def test_version() -> None:
    document = version_document()
    assert (document["major"], document["minor"]) == ("1", "36")
    assert document["gitVersion"].startswith("v1.36.")
