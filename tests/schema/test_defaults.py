"""What the server fills in, compared with what a kube-apiserver 1.36.3 printed for the same objects."""

from __future__ import annotations

from typing import Any

import pytest

from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema.defaults import job_selector
from podium.schema.pod_defaults import add_default_tolerations, pull_policy, qos_class
from tests.schema.served import default_object

Document = dict[str, Any]


def defaulted(resource: Resource, **parts: Any) -> Document:
    document: Document = {"metadata": {"name": "x"}, **parts}
    default_object(resource, document)
    return document


def pod(**spec: Any) -> Document:
    return defaulted(r.PODS, spec={"containers": [{"name": "c", "image": "x"}], **spec})


CONTAINER = {
    "name": "c",
    "image": "x",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
POD_SPEC = {
    "containers": [CONTAINER],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
SELECTOR = {"matchLabels": {"a": "b"}}


def template() -> Document:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


def test_a_bare_pod() -> None:
    assert pod()["spec"] == {**POD_SPEC, "enableServiceLinks": True}


def test_a_template_gets_less_than_a_pod() -> None:
    spec = template()
    spec["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    spec["spec"]["hostNetwork"] = True
    spec["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    document = defaulted(r.DEPLOYMENTS, spec={"selector": SELECTOR, "template": spec})
    filled = document["spec"]["template"]["spec"]
    assert "enableServiceLinks" not in filled
    assert filled["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert filled["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("registry:5000/team/nginx", "Always"),
        ("registry:5000/team/nginx:v1", "IfNotPresent"),
        ("nginx@sha256:" + "a" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "a" * 64, "Always"),
        ("", "IfNotPresent"),
    ],
)
def test_images_that_move_are_pulled_always(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_null_and_empty_are_the_same_as_absent() -> None:
    document = defaulted(
        r.PODS,
        spec={
            "restartPolicy": "",
            "dnsPolicy": None,
            "nodeSelector": None,
            "containers": [
                {"name": "c", "image": "x", "imagePullPolicy": "", "ports": None, "resources": None, "env": None}
            ],
        },
    )
    assert document["spec"] == {**POD_SPEC, "enableServiceLinks": True}


def test_explicit_zeros_stay_where_they_mean_something() -> None:
    document = pod(terminationGracePeriodSeconds=0, enableServiceLinks=False)
    assert document["spec"]["terminationGracePeriodSeconds"] == 0
    assert document["spec"]["enableServiceLinks"] is False
    assert defaulted(r.DEPLOYMENTS, spec={"replicas": 0, "template": template()})["spec"]["replicas"] == 0
    assert defaulted(r.JOBS, spec={"backoffLimit": 0, "template": template()})["spec"]["backoffLimit"] == 0


def test_probes_take_a_zero_as_unset() -> None:
    probe = {"httpGet": {"port": 80}, "timeoutSeconds": 0, "periodSeconds": 5}
    spec = pod(containers=[{"name": "c", "image": "x", "livenessProbe": probe}])["spec"]
    assert spec["containers"][0]["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 5,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_limits_are_requested_and_quantities_are_canonical() -> None:
    resources = {
        "limits": {"cpu": "1000m", "memory": "1024Mi", "nvidia.com/gpu": 1},
        "requests": {"memory": "0.5Gi"},
    }
    spec = pod(containers=[{"name": "c", "image": "x", "resources": resources}])["spec"]
    assert spec["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
        "requests": {"cpu": "1", "memory": "512Mi", "nvidia.com/gpu": "1"},
    }


def test_a_pod_limited_as_a_whole_requests_what_its_containers_do() -> None:
    document = pod(
        resources={"limits": {"cpu": 1, "memory": "1Gi"}},
        containers=[{"name": "c", "image": "x", "resources": {"requests": {"cpu": "200m"}}}],
    )
    assert document["spec"]["resources"]["requests"] == {"cpu": "200m", "memory": "1Gi"}


def test_host_network_pods_take_the_hosts_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8181}]
    spec = pod(hostNetwork=True, containers=[{"name": "c", "image": "x:1", "ports": ports}])["spec"]
    assert [port["hostPort"] for port in spec["containers"][0]["ports"]] == [80, 8181]


def test_volume_sources() -> None:
    spec = pod(
        volumes=[
            {"name": "empty"},
            {"name": "map", "configMap": {"name": "m"}},
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "host", "hostPath": {"path": "/x"}},
            {"name": "all", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "image", "image": {"reference": "a/b:1"}},
            {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
        ]
    )["spec"]
    empty, config, secret, host, projected, image, own = spec["volumes"]
    assert empty == {"name": "empty", "emptyDir": {}}
    assert config["configMap"]["defaultMode"] == secret["secret"]["defaultMode"] == 420
    assert host["hostPath"]["type"] == ""
    assert projected["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3600
    assert image["image"]["pullPolicy"] == "IfNotPresent"
    assert own["ephemeral"]["volumeClaimTemplate"] == {
        "metadata": {},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {}, "volumeMode": "Filesystem"},
    }


def test_both_names_of_the_service_account_are_kept_equal() -> None:
    assert pod(serviceAccount="builder")["spec"]["serviceAccountName"] == "builder"
    assert pod(serviceAccountName="builder")["spec"]["serviceAccount"] == "builder"


def test_filling_in_twice_changes_nothing() -> None:
    document = pod(volumes=[{"name": "v"}], hostNetwork=True)
    again = {"metadata": dict(document["metadata"]), "spec": dict(document["spec"]), "status": document["status"]}
    default_object(r.PODS, again)
    assert again == document


def test_defaults_are_not_shared_between_objects() -> None:
    first, second = pod(), pod()
    first["spec"]["securityContext"]["runAsUser"] = 1
    assert second["spec"]["securityContext"] == {}


# --- controllers ---------------------------------------------------------------------------------------------


def test_deployments() -> None:
    spec = defaulted(r.DEPLOYMENTS, spec={"selector": SELECTOR, "template": template()})["spec"]
    assert spec == {
        "replicas": 1,
        "selector": SELECTOR,
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    recreate = defaulted(r.DEPLOYMENTS, spec={"strategy": {"type": "Recreate"}, "template": template()})
    assert recreate["spec"]["strategy"] == {"type": "Recreate"}


def test_stateful_sets() -> None:
    claim = {"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    spec = defaulted(r.STATEFULSETS, spec={"template": template(), "volumeClaimTemplates": [claim]})["spec"]
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert (spec["podManagementPolicy"], spec["serviceName"], spec["replicas"]) == ("OrderedReady", "", 1)
    assert spec["volumeClaimTemplates"][0]["kind"] == "PersistentVolumeClaim"
    assert spec["volumeClaimTemplates"][0]["status"] == {"phase": "Pending"}
    chosen = defaulted(r.STATEFULSETS, spec={"template": template(), "updateStrategy": {"type": "RollingUpdate"}})
    assert chosen["spec"]["updateStrategy"] == {"type": "RollingUpdate"}


def test_daemon_sets() -> None:
    spec = defaulted(r.DAEMONSETS, spec={"template": template()})["spec"]
    assert spec["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }


def test_jobs() -> None:
    document = defaulted(r.JOBS, spec={"template": template()})
    spec = {key: value for key, value in document["spec"].items() if key != "template"}
    assert spec == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    assert "completions" not in defaulted(r.JOBS, spec={"parallelism": 2, "template": template()})["spec"]
    per_index = defaulted(r.JOBS, spec={"backoffLimitPerIndex": 1, "podFailurePolicy": {"rules": []}})
    assert per_index["spec"]["backoffLimit"] == 2**31 - 1
    assert per_index["spec"]["podReplacementPolicy"] == "Failed"


def test_a_jobs_selector_and_labels_are_made_from_its_uid() -> None:
    document = defaulted(r.JOBS, spec={"template": {"spec": template()["spec"]}})
    job_selector(document, "1234")
    labels = {
        "batch.kubernetes.io/controller-uid": "1234",
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": "1234",
        "job-name": "x",
    }
    assert document["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "1234"}}
    assert document["spec"]["template"]["metadata"]["labels"] == labels
    assert document["metadata"]["labels"] == labels


def test_a_jobs_own_labels_stay_its_own() -> None:
    document: Document = {"metadata": {"name": "x", "labels": {"z": "z"}}, "spec": {"template": template()}}
    default_object(r.JOBS, document)
    job_selector(document, "1234")
    assert document["metadata"]["labels"] == {"z": "z"}


def test_a_manual_selector_is_left_alone() -> None:
    document = defaulted(r.JOBS, spec={"manualSelector": True, "selector": SELECTOR, "template": template()})
    job_selector(document, "1234")
    assert document["spec"]["selector"] == SELECTOR
    assert document["spec"]["template"]["metadata"]["labels"] == {"a": "b"}


def test_the_job_inside_a_cron_job_waits_for_its_own_defaults() -> None:
    spec = defaulted(
        r.CRONJOBS, spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template()}}}
    )["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert set(spec["jobTemplate"]["spec"]) == {"template"}
    assert spec["jobTemplate"]["spec"]["template"]["spec"] == POD_SPEC


# --- other kinds ---------------------------------------------------------------------------------------------


def test_services() -> None:
    spec = defaulted(r.SERVICES, spec={"ports": [{"port": 80}]})["spec"]
    assert spec == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }
    node_port = defaulted(r.SERVICES, spec={"type": "NodePort", "sessionAffinity": "ClientIP", "ports": []})[
        "spec"
    ]
    assert node_port["externalTrafficPolicy"] == "Cluster"
    assert node_port["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    balancer = defaulted(r.SERVICES, spec={"type": "LoadBalancer"})
    assert balancer["spec"]["allocateLoadBalancerNodePorts"] is True
    assert balancer["status"] == {"loadBalancer": {}}
    assert "internalTrafficPolicy" not in defaulted(r.SERVICES, spec={"type": "ExternalName"})["spec"]


def test_secrets_take_plain_text() -> None:
    document = defaulted(r.SECRETS, data={"a": "eA=="}, stringData={"b": "ü"})
    assert document["data"] == {"a": "eA==", "b": "w7w="}
    assert "stringData" not in document
    assert document["type"] == "Opaque"


def test_namespaces() -> None:
    document = defaulted(r.NAMESPACES)
    assert document["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert document["spec"] == {"finalizers": ["kubernetes"]}
    assert document["status"] == {"phase": "Active"}
    ending: Document = {"metadata": {"name": "x", "deletionTimestamp": "t"}, "spec": {"finalizers": []}}
    default_object(r.NAMESPACES, ending)
    assert ending["spec"]["finalizers"] == []


def test_nodes_can_give_what_they_have() -> None:
    status = defaulted(r.NODES, status={"capacity": {"cpu": "4000m"}})["status"]
    assert status["capacity"] == status["allocatable"] == {"cpu": "4"}
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}


@pytest.mark.parametrize(
    ("resource", "parts", "expected"),
    [
        (r.PERSISTENTVOLUMECLAIMS, {"spec": {}}, {"spec": {"resources": {}, "volumeMode": "Filesystem"}}),
        (
            r.PERSISTENTVOLUMES,
            {"spec": {}},
            {"spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}},
        ),
        (r.STORAGECLASSES, {}, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
        (r.PRIORITYCLASSES, {"value": 1}, {"value": 1, "preemptionPolicy": "PreemptLowerPriority"}),
        (r.NETWORKPOLICIES, {"spec": {}}, {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}),
        (
            r.NETWORKPOLICIES,
            {"spec": {"egress": [{}]}},
            {"spec": {"podSelector": {}, "egress": [{}], "policyTypes": ["Ingress", "Egress"]}},
        ),
        (r.CSIDRIVERS, {}, {"spec": None}),
        (r.LEASES, {}, {"spec": {}}),
        (r.CONFIGMAPS, {"data": {"a": "b"}}, {"data": {"a": "b"}}),
        (r.ENDPOINTSLICES, {"ports": [{}]}, {"ports": [{"name": "", "protocol": "TCP"}]}),
        (
            r.ROLEBINDINGS,
            {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]},
            {
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u"}],
            },
        ),
        (
            r.LIMITRANGES,
            {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}}]}},
            {
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "1"},
                            "min": {"memory": "1Mi"},
                            "default": {"cpu": "1"},
                            "defaultRequest": {"cpu": "1", "memory": "1Mi"},
                        }
                    ]
                }
            },
        ),
    ],
)
def test_small_kinds(resource: Resource, parts: Document, expected: Document) -> None:
    document = defaulted(resource, **parts)
    for field, value in expected.items():
        if value is not None:
            assert document[field] == value


def test_custom_resource_definitions() -> None:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"default": {"a": None}}},
    }
    document = defaulted(
        r.CUSTOMRESOURCEDEFINITIONS,
        spec={"names": {"plural": "foos", "kind": "Foo"}, "versions": [version]},
        status={"conditions": None},
    )
    assert document["spec"]["names"] == {"plural": "foos", "kind": "Foo", "singular": "foo", "listKind": "FooList"}
    assert document["spec"]["conversion"] == {"strategy": "None"}
    assert document["spec"]["versions"][0]["schema"] == {"openAPIV3Schema": {"default": {"a": None}}}
    assert document["status"] == {"storedVersions": ["v1"]}


def test_null_inside_other_peoples_json_is_kept() -> None:
    assert defaulted(r.CONTROLLERREVISIONS, data={"a": None}, revision=1)["data"] == {"a": None}


# --- what is derived from a pod --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"limits": {"nvidia.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
    ],
)
def test_quality_of_service(containers: list[Document], expected: str) -> None:
    spec = [{"name": f"c{n}", "image": "x", "resources": part} for n, part in enumerate(containers)]
    assert qos_class(pod(containers=spec)) == expected


def test_quality_of_service_counts_init_containers_and_whole_pods() -> None:
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    full = {"name": "c", "image": "x", "resources": limits}
    assert qos_class(pod(containers=[full], initContainers=[{"name": "i", "image": "x"}])) == "Burstable"
    assert qos_class(pod(resources=limits)) == "Guaranteed"


def test_nodes_in_trouble_are_tolerated_for_five_minutes() -> None:
    document = pod()
    add_default_tolerations(document)
    assert [each["key"] for each in document["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert {each["tolerationSeconds"] for each in document["spec"]["tolerations"]} == {300}
    add_default_tolerations(document)
    assert len(document["spec"]["tolerations"]) == 2


@pytest.mark.parametrize(
    ("toleration", "added"),
    [
        ({"operator": "Exists"}, 0),
        ({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}, 1),
        ({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}, 2),
        ({"key": "other", "operator": "Exists"}, 2),
    ],
)
def test_own_tolerations_count(toleration: Document, added: int) -> None:
    document = pod(tolerations=[toleration])
    add_default_tolerations(document)
    assert len(document["spec"]["tolerations"]) == 1 + added
