"""Invalid objects: each is refused with the same code, and for the same fields for the same reasons."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compat.client import Server
from tests.compat.objects import container, crd, template

Causes = list[tuple[str, str]]

INVALID, REQUIRED, DUPLICATE = "FieldValueInvalid", "FieldValueRequired", "FieldValueDuplicate"
UNSUPPORTED, FORBIDDEN, ABSENT = "FieldValueNotSupported", "FieldValueForbidden", "FieldValueNotFound"


def one(**fields: Any) -> dict[str, Any]:
    """The spec of a pod with one container."""
    return {"containers": [container(**fields)]}


def resources(requests: dict[str, str], limits: dict[str, str] | None = None) -> dict[str, Any]:
    return one(resources={"requests": requests, "limits": limits or {}})


def required_affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions)}] if expressions else []
    wish = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {**one(), "affinity": {"nodeAffinity": wish}}


TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
MAIN = "spec.containers[0]"

PODS: list[tuple[str, dict[str, Any], Causes]] = [
    ("no containers", {"containers": []}, [("spec.containers", REQUIRED)]),
    ("no list of containers", {}, [("spec.containers", REQUIRED)]),
    ("no image", {"containers": [{"name": "a"}]}, [(f"{MAIN}.image", REQUIRED)]),
    ("an image with a space", one(image=" x"), [(f"{MAIN}.image", INVALID)]),
    ("no container name", {"containers": [{"image": "a"}]}, [(f"{MAIN}.name", REQUIRED)]),
    (
        "a container that is null",
        {"containers": [None]},
        [(f"{MAIN}.name", REQUIRED), (f"{MAIN}.image", REQUIRED)],
    ),
    ("a variable that is null", one(env=[None]), [(f"{MAIN}.env[0].name", REQUIRED)]),
    ("a toleration that is null", {**one(), "tolerations": [None]}, [("spec.tolerations[0].operator", INVALID)]),
    ("a bad container name", one(name="A_b"), [(f"{MAIN}.name", INVALID)]),
    ("two of one name", {"containers": [container(), container()]}, [("spec.containers[1].name", DUPLICATE)]),
    (
        "an init container of the same name",
        {**one(), "initContainers": [container()]},
        [("spec.initContainers[0].name", DUPLICATE)],
    ),
    ("a bad restart policy", {**one(), "restartPolicy": "X"}, [("spec.restartPolicy", UNSUPPORTED)]),
    ("a bad DNS policy", {**one(), "dnsPolicy": "X"}, [("spec.dnsPolicy", UNSUPPORTED)]),
    ("a bad pull policy", one(imagePullPolicy="Often"), [(f"{MAIN}.imagePullPolicy", UNSUPPORTED)]),
    ("a request over its limit", resources({"cpu": "2"}, {"cpu": "1"}), [(f"{MAIN}.resources.requests", INVALID)]),
    ("a negative request", resources({"cpu": "-1"}), [(f"{MAIN}.resources.requests[cpu]", INVALID)]),
    ("GPUs without a limit", resources({"nvidia.com/gpu": "1"}), [(f"{MAIN}.resources.limits", REQUIRED)]),
    (
        "half a GPU",
        resources({}, {"nvidia.com/gpu": "500m"}),
        [
            (f"{MAIN}.resources.limits[nvidia.com/gpu]", INVALID),
            (f"{MAIN}.resources.requests[nvidia.com/gpu]", INVALID),
        ],
    ),
    (
        "fewer GPUs than the limit",
        resources({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"}),
        [(f"{MAIN}.resources.requests", INVALID)],
    ),
    (
        "an unknown resource",
        resources({}, {"bogus": "1"}),
        [(f"{MAIN}.resources.limits[bogus]", INVALID), (f"{MAIN}.resources.requests[bogus]", INVALID)],
    ),
    ("huge pages alone", resources({}, {"hugepages-2Mi": "2Mi"}), [(f"{MAIN}.resources", FORBIDDEN)]),
    ("a port out of range", one(ports=[{"containerPort": 70000}]), [(f"{MAIN}.ports[0].containerPort", INVALID)]),
    (
        "a protocol in small letters",
        one(ports=[{"containerPort": 80, "protocol": "tcp"}]),
        [(f"{MAIN}.ports[0].protocol", UNSUPPORTED)],
    ),
    (
        "two ports of one name",
        one(ports=[{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]),
        [(f"{MAIN}.ports[1].name", DUPLICATE)],
    ),
    (
        "one host port twice",
        one(ports=[{"containerPort": 80, "hostPort": 5}, {"containerPort": 81, "hostPort": 5}]),
        [(f"{MAIN}.ports[1].hostPort", DUPLICATE)],
    ),
    ("a variable without a name", one(env=[{"name": ""}]), [(f"{MAIN}.env[0].name", REQUIRED)]),
    ("a variable with =", one(env=[{"name": "a=b"}]), [(f"{MAIN}.env[0].name", INVALID)]),
    (
        "a variable with two values",
        one(env=[{"name": "a", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        [(f"{MAIN}.env[0].valueFrom", INVALID)],
    ),
    (
        "a variable from an unknown field",
        one(env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nope"}}}]),
        [(f"{MAIN}.env[0].valueFrom.fieldRef.fieldPath", INVALID)],
    ),
    (
        "a mount of an unknown volume",
        one(volumeMounts=[{"name": "v", "mountPath": "/x"}]),
        [(f"{MAIN}.volumeMounts[0].name", ABSENT)],
    ),
    (
        "a mount without a path",
        {**one(volumeMounts=[{"name": "v"}]), "volumes": [{"name": "v"}]},
        [(f"{MAIN}.volumeMounts[0].mountPath", REQUIRED)],
    ),
    (
        "two mounts at one path",
        {**one(volumeMounts=[{"name": "v", "mountPath": "/x"}] * 2), "volumes": [{"name": "v"}]},
        [(f"{MAIN}.volumeMounts[1].mountPath", INVALID)],
    ),
    (
        "a volume with two sources",
        {**one(), "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]},
        [("spec.volumes[0].hostPath", FORBIDDEN)],
    ),
    ("a volume without a name", {**one(), "volumes": [{"emptyDir": {}}]}, [("spec.volumes[0].name", REQUIRED)]),
    ("a volume twice", {**one(), "volumes": [{"name": "v"}] * 2}, [("spec.volumes[1].name", DUPLICATE)]),
    (
        "a claim without a name",
        {**one(), "volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
        [("spec.volumes[0].persistentVolumeClaim.claimName", REQUIRED)],
    ),
    (
        "a toleration with a bad operator",
        {**one(), "tolerations": [{"key": "a", "operator": "Is"}]},
        [("spec.tolerations[0].operator", UNSUPPORTED)],
    ),
    (
        "a toleration that exists with a value",
        {**one(), "tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
        [("spec.tolerations[0].operator", INVALID)],
    ),
    (
        "a toleration with a bad effect",
        {**one(), "tolerations": [{"key": "a", "effect": "X"}]},
        [("spec.tolerations[0].effect", UNSUPPORTED)],
    ),
    (
        "seconds for an effect that does not evict",
        {**one(), "tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]},
        [("spec.tolerations[0].effect", INVALID)],
    ),
    (
        "a toleration of an empty key",
        {**one(), "tolerations": [{"operator": "Equal"}]},
        [("spec.tolerations[0].operator", INVALID)],
    ),
    ("a bad node selector", {**one(), "nodeSelector": {"a b": "c"}}, [("spec.nodeSelector", INVALID)]),
    ("affinity without terms", required_affinity(), [(TERMS, REQUIRED)]),
    (
        "affinity with a bad operator",
        required_affinity({"key": "a", "operator": "Is"}),
        [(f"{TERMS}[0].matchExpressions[0].operator", INVALID)],
    ),
    (
        "affinity without values",
        required_affinity({"key": "a", "operator": "In"}),
        [(f"{TERMS}[0].matchExpressions[0].values", REQUIRED)],
    ),
    (
        "affinity without a weight",
        {
            **one(),
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]
                }
            },
        },
        [("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", INVALID)],
    ),
    (
        "anti-affinity with too much weight",
        {
            **one(),
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 200, "podAffinityTerm": {"topologyKey": "a"}}
                    ]
                }
            },
        },
        [("spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", INVALID)],
    ),
    (
        "a spread that says nothing",
        {**one(), "topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "X"}]},
        [
            ("spec.topologySpreadConstraints[0].maxSkew", INVALID),
            ("spec.topologySpreadConstraints[0].topologyKey", REQUIRED),
            ("spec.topologySpreadConstraints[0].whenUnsatisfiable", UNSUPPORTED),
        ],
    ),
    ("a deadline of 0", {**one(), "activeDeadlineSeconds": 0}, [("spec.activeDeadlineSeconds", INVALID)]),
    ("a bad host name", {**one(), "hostname": "A_"}, [("spec.hostname", INVALID)]),
    ("a bad node name", {**one(), "nodeName": "A_"}, [("spec.nodeName", INVALID)]),
    ("a bad gate", {**one(), "schedulingGates": [{"name": "a b"}]}, [("spec.schedulingGates[0]", INVALID)]),
    (
        "a gate and a node",
        {**one(), "schedulingGates": [{"name": "a/b"}], "nodeName": "x"},
        [("spec.nodeName", FORBIDDEN)],
    ),
    (
        "one gate twice",
        {**one(), "schedulingGates": [{"name": "a/b"}] * 2},
        [("spec.schedulingGates[1]", DUPLICATE)],
    ),
    ("a probe of nothing", one(livenessProbe={}), [(f"{MAIN}.livenessProbe", REQUIRED)]),
    (
        "a probe of two things",
        one(livenessProbe={"tcpSocket": {"port": 1}, "exec": {"command": ["a"]}}),
        [(f"{MAIN}.livenessProbe.tcpSocket", FORBIDDEN)],
    ),
    (
        "a probe with a negative period",
        one(readinessProbe={"tcpSocket": {"port": 1}, "periodSeconds": -1}),
        [(f"{MAIN}.readinessProbe.periodSeconds", INVALID)],
    ),
    (
        "a liveness probe with two successes",
        one(livenessProbe={"tcpSocket": {"port": 1}, "successThreshold": 2}),
        [(f"{MAIN}.livenessProbe.successThreshold", INVALID)],
    ),
    ("a hook of nothing", one(lifecycle={"preStop": {}}), [(f"{MAIN}.lifecycle.preStop", REQUIRED)]),
    ("a bad service account", {**one(), "serviceAccountName": "A_"}, [("spec.serviceAccountName", INVALID)]),
    ("an alias of no address", {**one(), "hostAliases": [{"ip": "x"}]}, [("spec.hostAliases[0].ip", INVALID)]),
    ("a negative user", one(securityContext={"runAsUser": -1}), [(f"{MAIN}.securityContext.runAsUser", INVALID)]),
    (
        "a bad message policy",
        one(terminationMessagePolicy="X"),
        [(f"{MAIN}.terminationMessagePolicy", UNSUPPORTED)],
    ),
    (
        "an ephemeral container from the start",
        {**one(), "ephemeralContainers": [container("e")]},
        [("spec.ephemeralContainers", FORBIDDEN)],
    ),
]


@pytest.mark.parametrize(("title", "spec", "causes"), PODS, ids=[row[0] for row in PODS])
def test_an_invalid_pod(server: Server, title: str, spec: dict[str, Any], causes: Causes) -> None:
    body = {"metadata": {"name": "p"}, "spec": spec}
    answer = server.http("POST", "/api/v1/namespaces/default/pods", body, query={"dryRun": "All"})
    assert (answer.status, answer.reason) == (422, "Invalid"), answer.body[:500]
    assert answer.causes == set(causes)
    assert answer.json["message"].startswith('Pod "p" is invalid: ')


@pytest.mark.parametrize("name", ["a" * 254, "Abc", "-a", "a..b"])
def test_a_bad_pod_name(server: Server, name: str) -> None:
    body = {"metadata": {"name": name}, "spec": one()}
    answer = server.http("POST", "/api/v1/namespaces/default/pods", body, query={"dryRun": "All"})
    assert (answer.status, answer.causes) == (422, {("metadata.name", INVALID)})


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"priority": 5}, "the integer value of priority (5) must not be provided in pod spec"),
        ({"priorityClassName": "absent"}, "no PriorityClass with name absent was found"),
    ],
)
def test_a_pod_whose_priority_is_not_to_be_had(server: Server, fields: dict[str, Any], part: str) -> None:
    body = {"metadata": {"name": "p"}, "spec": {**one(), **fields}}
    answer = server.http("POST", "/api/v1/namespaces/default/pods", body, query={"dryRun": "All"})
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert part in answer.json["message"]


NEVER = template("a", restartPolicy="Never")
APPS, BATCH, CORE = "/apis/apps/v1", "/apis/batch/v1", "/api/v1"
SELECTOR = {"matchLabels": {"app": "a"}}
LABELS = ("spec.template.metadata.labels", INVALID)

SPECS: list[tuple[str, str, str, dict[str, Any], Causes]] = [
    ("no selector", APPS, "deployments", {"template": template("a")}, [("spec.selector", REQUIRED), LABELS]),
    (
        "a selector of others",
        APPS,
        "deployments",
        {"selector": {"matchLabels": {"app": "b"}}, "template": template("a")},
        [LABELS],
    ),
    (
        "less than no replicas",
        APPS,
        "deployments",
        {"replicas": -1, "selector": SELECTOR, "template": template("a")},
        [("spec.replicas", INVALID)],
    ),
    (
        "pods that never restart",
        APPS,
        "deployments",
        {"selector": SELECTOR, "template": NEVER},
        [("spec.template.spec.restartPolicy", UNSUPPORTED)],
    ),
    (
        "nothing",
        APPS,
        "deployments",
        {},
        [("spec.selector", REQUIRED), LABELS, ("spec.template.spec.containers", REQUIRED)],
    ),
    (
        "two strategies",
        APPS,
        "deployments",
        {
            "selector": SELECTOR,
            "template": template("a"),
            "strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
        },
        [("spec.strategy.rollingUpdate", FORBIDDEN)],
    ),
    (
        "a selector of others",
        APPS,
        "replicasets",
        {"selector": {"matchLabels": {"app": "b"}}, "template": template("a")},
        [LABELS],
    ),
    (
        "no selector",
        APPS,
        "statefulsets",
        {"template": template("a"), "serviceName": "x"},
        [("spec.selector", REQUIRED), LABELS],
    ),
    (
        "pods that restart",
        BATCH,
        "jobs",
        {"template": template("a")},
        [("spec.template.spec.restartPolicy", REQUIRED)],
    ),
    (
        "negative numbers",
        BATCH,
        "jobs",
        {"completions": -1, "parallelism": -1, "backoffLimit": -1, "template": NEVER},
        [("spec.backoffLimit", INVALID), ("spec.completions", INVALID), ("spec.parallelism", INVALID)],
    ),
    (
        "a bad mode",
        BATCH,
        "jobs",
        {"completionMode": "X", "template": NEVER},
        [("spec.completionMode", UNSUPPORTED)],
    ),
    (
        "a selector of one's own",
        BATCH,
        "jobs",
        {"selector": {"matchLabels": {"a": "b"}}, "template": NEVER},
        [("spec.selector", INVALID), LABELS],
    ),
    ("no ports", CORE, "services", {"selector": {"a": "b"}}, [("spec.ports", REQUIRED)]),
    (
        "port 0",
        CORE,
        "services",
        {"ports": [{"port": 0}]},
        [("spec.ports[0].port", INVALID), ("spec.ports[0].targetPort", INVALID)],
    ),
    (
        "ports without names",
        CORE,
        "services",
        {"ports": [{"port": 1}, {"port": 2}]},
        [("spec.ports[0].name", REQUIRED), ("spec.ports[1].name", REQUIRED)],
    ),
    ("a bad type", CORE, "services", {"type": "X", "ports": [{"port": 1}]}, [("spec.type", UNSUPPORTED)]),
    (
        "nothing",
        CORE,
        "persistentvolumeclaims",
        {},
        [("spec.accessModes", REQUIRED), ("spec.resources[storage]", REQUIRED)],
    ),
    (
        "a bad mode",
        CORE,
        "persistentvolumeclaims",
        {"accessModes": ["X"], "resources": {"requests": {"storage": "1Gi"}}},
        [("spec.accessModes", UNSUPPORTED)],
    ),
    (
        "no room",
        CORE,
        "persistentvolumeclaims",
        {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}},
        [("spec.resources[storage]", INVALID)],
    ),
    (
        "two bounds",
        "/apis/policy/v1",
        "poddisruptionbudgets",
        {"minAvailable": 1, "maxUnavailable": 1, "selector": {}},
        [("spec", INVALID)],
    ),
    (
        "no number",
        "/apis/policy/v1",
        "poddisruptionbudgets",
        {"minAvailable": "lots", "selector": {}},
        [("spec.minAvailable", INVALID)],
    ),
    ("a negative bound", CORE, "resourcequotas", {"hard": {"pods": "-1"}}, [("spec.hard[pods]", INVALID)]),
    (
        "a bad direction",
        "/apis/networking.k8s.io/v1",
        "networkpolicies",
        {"podSelector": {}, "policyTypes": ["X"]},
        [("spec.policyTypes[0]", UNSUPPORTED)],
    ),
    (
        "no duration",
        "/apis/coordination.k8s.io/v1",
        "leases",
        {"leaseDurationSeconds": 0},
        [("spec.leaseDurationSeconds", INVALID)],
    ),
]


@pytest.mark.parametrize(
    ("title", "group", "plural", "spec", "causes"), SPECS, ids=[f"{row[2]}: {row[0]}" for row in SPECS]
)
def test_an_invalid_spec(
    server: Server, title: str, group: str, plural: str, spec: dict[str, Any], causes: Causes
) -> None:
    path = f"{group}/namespaces/default/{plural}"
    answer = server.http("POST", path, {"metadata": {"name": "x"}, "spec": spec}, query={"dryRun": "All"})
    assert (answer.status, answer.reason) == (422, "Invalid"), answer.body[:500]
    assert answer.causes == set(causes)


TAINT = {"key": "a", "effect": "NoSchedule"}
CLUSTER_WIDE: list[tuple[str, str, dict[str, Any], Causes]] = [
    (
        "a node with a bad taint",
        "/api/v1/nodes",
        {"spec": {"taints": [{"key": "a", "effect": "X"}]}},
        [("metadata.taints[0].effect", UNSUPPORTED)],
    ),
    (
        "a node with a taint twice",
        "/api/v1/nodes",
        {"spec": {"taints": [TAINT, TAINT]}},
        [("metadata.taints[1]", DUPLICATE)],
    ),
    (
        "a priority of the system",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"value": 2_000_000_000},
        [("value", FORBIDDEN)],
    ),
    (
        "a bad preemption policy",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"value": 2, "preemptionPolicy": "X"},
        [("preemptionPolicy", UNSUPPORTED)],
    ),
    ("no provisioner", "/apis/storage.k8s.io/v1/storageclasses", {}, [("provisioner", REQUIRED)]),
    (
        "a bad binding mode",
        "/apis/storage.k8s.io/v1/storageclasses",
        {"provisioner": "x", "volumeBindingMode": "X"},
        [("volumeBindingMode", UNSUPPORTED)],
    ),
]


@pytest.mark.parametrize(("title", "path", "body", "causes"), CLUSTER_WIDE, ids=[row[0] for row in CLUSTER_WIDE])
def test_an_invalid_cluster_wide_object(
    server: Server, title: str, path: str, body: dict[str, Any], causes: Causes
) -> None:
    answer = server.http("POST", path, {"metadata": {"name": "x"}, **body}, query={"dryRun": "All"})
    assert (answer.status, answer.reason) == (422, "Invalid"), answer.body[:500]
    assert answer.causes == set(causes)


def test_a_namespace_is_a_label(server: Server) -> None:
    answer = server.http("POST", "/api/v1/namespaces", {"metadata": {"name": "a.b"}})
    assert (answer.status, answer.causes) == (422, {("metadata.name", INVALID)})


def test_a_definition_is_named_after_its_plural_and_group(server: Server) -> None:
    body = {**crd("foos", "Foo", {}), "metadata": {"name": "bars.stories.example"}}
    answer = server.http("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert (answer.status, answer.causes) == (422, {("metadata.name", INVALID)})
