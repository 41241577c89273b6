"""The figures a server prints of itself."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from podium.embedded.log import MemoryLog
from podium.embedded.metrics import Metrics, labels_of
from podium.embedded.registry import Kind, Registry
from podium.embedded.store import Store
from podium.kube.resources import DEPLOYMENTS, NODES, PODS
from podium.kube.transport import Request
from podium.schema.model import Schema

SCHEMA = Schema(type="object")
REGISTRY = Registry(
    [
        Kind(PODS, SCHEMA, PODS, "pod", status=True, subresources=("binding",)),
        Kind(NODES, SCHEMA, NODES, "node"),
        Kind(DEPLOYMENTS, SCHEMA, DEPLOYMENTS, "deployment"),
    ]
)


@pytest.mark.parametrize(
    ("method", "target", "labels"),
    [
        ("GET", "/api/v1/namespaces/default/pods/x", ("GET", "", "v1", "pods", "")),
        ("GET", "/api/v1/pods", ("LIST", "", "v1", "pods", "")),
        ("GET", "/api/v1/pods?watch=1", ("WATCH", "", "v1", "pods", "")),
        ("POST", "/api/v1/namespaces/default/pods", ("CREATE", "", "v1", "pods", "")),
        ("POST", "/api/v1/namespaces/default/pods/x/binding", ("CREATE", "", "v1", "pods", "binding")),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", ("PATCH", "apps", "v1", "deployments", "")),
        ("PUT", "/api/v1/nodes/n", ("UPDATE", "", "v1", "nodes", "")),
        ("DELETE", "/api/v1/nodes/n", ("DELETE", "", "v1", "nodes", "")),
        ("DELETE", "/api/v1/nodes", ("DELETECOLLECTION", "", "v1", "nodes", "")),
        ("GET", "/version", ("GET", "", "", "", "")),
        ("GET", "/api/v1/inventions/x", ("GET", "", "", "", "")),
        ("BREW", "/coffee", ("OTHER", "", "", "", "")),
    ],
)
def test_requests_are_counted_by_what_they_are_about(method: str, target: str, labels: tuple[str, ...]) -> None:
    path, _, query = target.partition("?")
    pairs = tuple((key, value) for key, _, value in (part.partition("=") for part in query.split("&")) if key)
    assert labels_of(REGISTRY, Request(method, path, pairs)) == labels


def test_the_page_can_be_read_by_prometheus() -> None:
    store = Store(MemoryLog())
    store.bucket(PODS).listeners.append(lambda: None)
    metrics = Metrics(store, REGISTRY)
    metrics.add_gauge("podium_connections", "Open connections.", lambda: 7)
    metrics.add_counter("podium_log_commits", "Commits.", lambda: 3)
    for code in (200, 200, 404):
        metrics.answered(Request("GET", "/api/v1/pods"), code)
    response = metrics.answer(Request("GET", "/metrics"))
    assert response.status == 200
    assert response.content_type.startswith("text/plain; version=0.0.4")
    samples = {
        (sample.name, sample.labels.get("code", sample.labels.get("resource", ""))): sample.value
        for family in text_string_to_metric_families(response.body.decode())
        for sample in family.samples
    }
    assert samples["apiserver_request_total", "200"] == 2
    assert samples["apiserver_request_total", "404"] == 1
    assert samples["podium_watches", "pods"] == 1
    assert samples["apiserver_storage_objects", "pods"] == 0
    assert samples["podium_store_version", ""] == 1
    assert samples["podium_connections", ""] == 7
    assert samples["podium_log_commits_total", ""] == 3
