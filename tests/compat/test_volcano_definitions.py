"""The definitions that `podium crds` prints, on both servers: without any webhook they refuse what is wrong."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest

from tests.compat.client import Document, Server, eventually

_numbers = itertools.count(1)

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


@pytest.fixture(scope="module")
def volcano(server: Server) -> Server:
    printed = subprocess.run(
        [sys.executable, "-m", "podium.cli.main", "crds"], check=True, capture_output=True, text=True
    ).stdout
    server.kubectl("apply", "-f", "-", input=printed)
    for name in ("podgroups.scheduling", "queues.scheduling", "commands.bus"):
        server.established(f"crd/{name}.volcano.sh")
    eventually(lambda: server.http("GET", QUEUES).status == 200, "queues are served")
    return server


def queue(**spec: Any) -> Document:
    name = f"q{next(_numbers)}"
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def group(name: str, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"weight": 5, "capability": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": "8"}},
        {"guarantee": {"resource": {"cpu": 2}}, "deserved": {"cpu": "2000m"}, "capability": {"cpu": "2"}},
        {"guarantee": {"resource": {"cpu": 2}}},
        {"deserved": {"cpu": 2}, "capability": {"memory": "1Gi"}},
        {"capability": {"cpu": "1e3"}, "reclaimable": False, "dequeueStrategy": "fifo"},
    ],
)
def test_good_queues(volcano: Server, spec: Document) -> None:
    made = volcano.create(QUEUES, queue(**spec))
    assert made["spec"] == {"weight": 1, "reclaimable": True, "dequeueStrategy": "traverse"} | spec


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"weight": -1}, "spec.weight"),
        ({"weight": "much"}, "spec.weight"),
        ({"extendClusters": [None]}, "spec.extendClusters[0]"),
        ({"capability": {"cpu": -1}}, "spec.capability.cpu"),
        ({"capability": {"cpu": "-1"}}, "spec.capability.cpu"),
        ({"capability": {"cpu": "0x"}}, "spec.capability.cpu"),
        ({"guarantee": {"resource": {"cpu": 1}}, "deserved": {"memory": "1Gi"}}, "spec"),
        ({"guarantee": {"resource": {"cpu": 1}}, "deserved": {"cpu": "500m"}}, "spec"),
        ({"deserved": {"cpu": 2}, "capability": {"cpu": "1500m"}}, "spec"),
        ({"dequeueStrategy": "lifo"}, "spec.dequeueStrategy"),
    ],
)
def test_bad_queues(volcano: Server, spec: Document, field: str) -> None:
    answer = volcano.http("POST", QUEUES, queue(**spec))
    assert answer.status == 422
    assert field in {where for where, _ in answer.causes}


def test_a_spec_that_is_none(volcano: Server, ns: str) -> None:
    documents = {QUEUES: queue()}
    documents[f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{ns}/podgroups"] = group("bad")
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "bad"}}
    documents[f"/apis/batch.volcano.sh/v1alpha1/namespaces/{ns}/jobs"] = job
    for path, document in documents.items():
        answer = volcano.http("POST", path, {**document, "spec": "..."})
        assert answer.status == 422
        assert ("spec", "FieldValueTypeInvalid") in answer.causes


# --- what the definition of Jobs knows about pods ----------------------------------------------------------


def job(name: str, volumes: list[Document] | None = None, **template: Any) -> Document:
    """A Job with one task; `template` is what its template has beside one container."""
    container = {"name": "main", "image": "app", **template.pop("container", {})}
    spec = {"containers": [container], "restartPolicy": "Never", **template.pop("spec", {})}
    task = {"name": "main", "replicas": 1, "template": {"spec": spec, **template}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"tasks": [task], **({"volumes": volumes} if volumes is not None else {})},
    }


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TYPOS = [
    (
        {"container": {"resources": {"limit": {"nvidia.com/gpu": 8}}}},
        "spec.tasks[0].template.spec.containers[0].resources.limit",
    ),
    ({"spec": {"nodeSelectors": {"a": "b"}}}, "spec.tasks[0].template.spec.nodeSelectors"),
    ({"metadata": {"lables": {"a": "b"}}}, "spec.tasks[0].template.metadata.lables"),
    (
        {"volumes": [{"mountPath": "/a", "volumeClaim": {**CLAIM, "storageClass": "fast"}}]},
        "spec.volumes[0].volumeClaim.storageClass",
    ),
]


@pytest.mark.parametrize(("given", "path"), TYPOS, ids=[path.rsplit(".", 1)[1] for _, path in TYPOS])
def test_a_field_that_nobody_reads_in_a_template(volcano: Server, ns: str, given: Document, path: str) -> None:
    jobs = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{ns}/jobs"
    strict = volcano.http("POST", jobs, job("strict", **given), query={"fieldValidation": "Strict"})
    assert strict.status == 400
    assert f'strict decoding error: unknown field "{path}"' in strict.json["message"]
    warned = volcano.http("POST", jobs, job("warned", **given), query={"fieldValidation": "Warn"})
    assert (warned.status, warned.headers.get("Warning")) == (201, f'299 - "unknown field \\"{path}\\""')
    silent = volcano.http("POST", jobs, job("silent", **given), query={"fieldValidation": "Ignore"})
    assert (silent.status, silent.headers.get("Warning")) == (201, None)
    reported = volcano.kubectl("apply", "-n", ns, "-f", "-", input=job("applied", **given), check=False).err
    assert f'unknown field "{path}"' in reported


def test_a_template_is_stored_as_it_was_written(volcano: Server, ns: str) -> None:
    """No default and no check of values: amounts in any spelling, nulls as programs leave them."""
    container: Document = {
        "command": ["sh", None],
        "env": None,
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
        "readinessProbe": {"tcpSocket": {"port": 80}},
        "resources": {"requests": {"cpu": 0.5, "memory": "1Gi"}, "limits": {"nvidia.com/gpu": 1}},
    }
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "creationTimestamp": None}
    template = {"container": container, "metadata": metadata, "spec": {"tolerations": None}}
    given = job("kept", [{"mountPath": "/a", "volumeClaim": CLAIM}], **template)
    jobs = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{ns}/jobs"
    answer = volcano.http("POST", jobs, given, query={"fieldValidation": "Strict"})
    (made,) = answer.expect(201)["spec"]["tasks"]
    del container["env"], metadata["creationTimestamp"]
    container["command"] = (
        ["sh", ""] if volcano.kind == "embedded" else ["sh", None]
    )  # its admission means the same
    spec = {"containers": [{"name": "main", "image": "app", **container}], "restartPolicy": "Never"}
    assert made["template"] == {"metadata": metadata, "spec": spec}
    assert answer.json["spec"]["volumes"] == [{"mountPath": "/a", "volumeClaim": CLAIM}]


def test_kubectl_explains_templates_of_jobs(volcano: Server) -> None:
    reported = volcano.kubectl("explain", "vcjob.spec.tasks.template.spec.containers.resources").out
    assert "limits" in reported
    assert "requests" in reported


@pytest.mark.parametrize(
    "metadata", [5, {"name": 5}, {"name": "x", "labels": {"a": 1}}, {"name": "x", "finalizers": "a"}]
)
def test_metadata_that_is_none(volcano: Server, metadata: Any) -> None:
    answer = volcano.http("POST", QUEUES, {**queue(), "metadata": metadata})
    assert answer.status == 400
    assert answer.json["message"].startswith(
        'Queue in version "v1beta1" cannot be handled as a Queue: json: cannot unmarshal '
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"minMember": -1},
        {"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}},
        {"queue": "Not A Name"},
        {"minResources": {"cpu": "NaN"}},
    ],
)
def test_bad_groups(volcano: Server, ns: str, spec: Document) -> None:
    path = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{ns}/podgroups"
    assert volcano.http("POST", path, group("bad", **spec)).status == 422


def test_a_group_as_kubectl_shows_it(volcano: Server, ns: str) -> None:
    volcano.kubectl("apply", "-n", ns, "-f", "-", input=group("g", minMember=3))
    patch = '{"status": {"phase": "Running", "running": 3}}'
    volcano.kubectl("patch", "pg", "g", "-n", ns, "--type=merge", "-p", patch)
    kind = "podgroups.scheduling.volcano.sh"  # others have the kind as well
    head, row = volcano.kubectl("get", kind, "-n", ns, "-o", "wide").lines
    assert head.split() == ["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE", "QUEUE"]
    cells = row.split()
    assert (cells[:4], cells[-1]) == (["g", "Running", "3", "3"], "default")


def test_the_status_of_a_queue_is_a_subresource(volcano: Server) -> None:
    made = volcano.create(QUEUES, {**queue(), "status": {"state": "Open"}})
    assert "status" not in made
    path = f"{QUEUES}/{made['metadata']['name']}"
    patched = volcano.http(
        "PATCH",
        f"{path}/status",
        {"status": {"state": "Closing", "allocated": {"cpu": "1500m", "pods": "3"}}},
        content_type="application/merge-patch+json",
    ).expect(200)
    assert patched["status"] == {"state": "Closing", "allocated": {"cpu": "1500m", "pods": "3"}}


def test_fields_are_explained(volcano: Server) -> None:
    reported = volcano.kubectl("explain", "podgroups.scheduling.volcano.sh.spec.minMember").out
    assert "Pods that start together or not at all." in reported
