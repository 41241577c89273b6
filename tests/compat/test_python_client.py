"""The official Python client: typed objects, watches, its informer, custom objects."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import SharedInformer

from tests.compat.client import Server, eventually
from tests.compat.objects import RUN_SECONDS, crd, job, pod


@pytest.fixture
def api(server: Server) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as made:
        yield made


def test_typed_objects(server: Server, ns: str, api: Any) -> None:
    core = client.CoreV1Api(api)
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="c"), data={"a": "1"})
    made = core.create_namespaced_config_map(ns, body)
    assert made.metadata.uid
    made.data["b"] = "2"
    updated = core.replace_namespaced_config_map("c", ns, made)
    assert updated.data == {"a": "1", "b": "2"}
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("c", ns, made)
    assert stale.value.status == 409
    patched = core.patch_namespaced_config_map("c", ns, {"data": {"a": None}})
    assert patched.data == {"b": "2"}
    assert [
        item.metadata.name for item in core.list_namespaced_config_map(ns, field_selector="metadata.name=c").items
    ]
    core.delete_namespaced_config_map("c", ns)
    with pytest.raises(ApiException) as gone:
        core.read_namespaced_config_map("c", ns)
    assert gone.value.status == 404


def test_a_job_and_its_logs(server: Server, ns: str, api: Any) -> None:
    batch, core = client.BatchV1Api(api), client.CoreV1Api(api)
    batch.create_namespaced_job(ns, job("work", 2))
    eventually(
        lambda: (batch.read_namespaced_job_status("work", ns).status.succeeded or 0) == 2, "the job is done"
    )
    pods = core.list_namespaced_pod(ns, label_selector="batch.kubernetes.io/job-name=work").items
    assert {found.status.phase for found in pods} == {"Succeeded"}
    assert "exit code 0" in core.read_namespaced_pod_log(pods[0].metadata.name, ns)


def test_every_listed_kind_can_be_read(server: Server, api: Any) -> None:
    assert client.CoreV1Api(api).list_node().items[0].status.node_info.kubelet_version
    assert client.VersionApi(api).get_code().git_version.startswith("v1.")
    assert client.AppsV1Api(api).list_deployment_for_all_namespaces().items is not None
    assert client.StorageV1Api(api).list_storage_class().items is not None
    assert client.PolicyV1Api(api).list_pod_disruption_budget_for_all_namespaces().items is not None
    assert client.SchedulingV1Api(api).list_priority_class().items
    assert client.CoordinationV1Api(api).list_lease_for_all_namespaces().items is not None
    assert client.RbacAuthorizationV1Api(api).list_cluster_role().items is not None
    assert client.ApisApi(api).get_api_versions().groups


def test_watch(server: Server, ns: str, api: Any) -> None:
    core = client.CoreV1Api(api)
    start = core.list_namespaced_pod(ns).metadata.resource_version
    core.create_namespaced_pod(ns, pod("p", annotations={RUN_SECONDS: "0"}, restartPolicy="Never"))
    seen = []
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_pod, ns, resource_version=start, timeout_seconds=30):
        seen.append((event["type"], event["object"].status.phase))
        if event["object"].status.phase == "Succeeded":
            watcher.stop()
    assert seen[0] == ("ADDED", "Pending")
    assert seen[-1] == ("MODIFIED", "Succeeded")


def test_its_informer(server: Server, ns: str, api: Any) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_pod(ns, pod("before"))
    reported: list[tuple[str, str]] = []
    lock = threading.Lock()

    def note(kind: str) -> Any:
        def handler(obj: Any) -> None:
            with lock:
                reported.append((kind, obj.metadata.name))

        return handler

    informer = SharedInformer(list_func=core.list_namespaced_pod, namespace=ns)
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, note(kind))
    informer.start()
    try:
        eventually(lambda: ("ADDED", "before") in reported, "what was there")
        core.create_namespaced_pod(ns, pod("after"))
        eventually(lambda: ("MODIFIED", "after") in reported, "what came and changed")
        core.delete_namespaced_pod("before", ns, grace_period_seconds=0)
        eventually(lambda: ("DELETED", "before") in reported, "what went")
        eventually(lambda: [found.metadata.name for found in informer.cache.list()] == ["after"], "the cache")
    finally:
        informer.stop()


def test_custom_objects(server: Server, ns: str, api: Any) -> None:
    group = "python.example"
    definition = crd("gizmos", "Gizmo", {"n": {"type": "integer", "default": 1}}, group)
    definitions = client.ApiextensionsV1Api(api)
    definitions.create_custom_resource_definition(definition)
    custom = client.CustomObjectsApi(api)
    server.established(f"crd/gizmos.{group}")
    body = {"apiVersion": f"{group}/v1", "kind": "Gizmo", "metadata": {"name": "g"}, "spec": {}}

    def create() -> Any:
        try:
            return custom.create_namespaced_custom_object(group, "v1", ns, "gizmos", body)
        except ApiException as error:
            if error.status == 404:  # established a moment before it is served
                return None
            raise

    made = eventually(create, "the object is created")
    assert made["spec"] == {"n": 1}
    assert len(custom.list_namespaced_custom_object(group, "v1", ns, "gizmos")["items"]) == 1
    definitions.delete_custom_resource_definition(f"gizmos.{group}")
