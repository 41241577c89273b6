"""What an API server fills in when a user leaves it out.

The static part stands in the tables of `schema.kinds`; here is what depends on other fields.  All functions
work in place on documents whose types have been checked.  Pods get most of it, also inside the templates that
other kinds carry; but a few things (requests from limits, host ports, service links) are decided for pods only, so
that a template stays as its author wrote it.
"""

from __future__ import annotations

import base64
from typing import Any

from podium.schema.pod_defaults import default_pod_spec

Document = dict[str, Any]

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"
# The labels before they got their prefix; Jobs still carry both.
_OLD_CONTROLLER_UID = "controller-uid"
_OLD_JOB_NAME = "job-name"

_RBAC_GROUP = "rbac.authorization.k8s.io"


def job_selector(document: Document, uid: str) -> None:
    """Gives a Job the selector and the labels that distinguish its pods from those of other Jobs.

    With `manualSelector` the user has chosen them, and only a real API server's checks apply.
    """
    spec = document["spec"]
    if spec.get("manualSelector"):
        return
    metadata = document["metadata"]
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    labels = template.get("labels") or {}
    template["labels"] = labels
    # A Job without labels of its own shows those of its pods, and goes on doing so.
    inherits = not metadata.get("labels") or metadata["labels"] == labels
    name = metadata["name"]
    for key, value in (
        (CONTROLLER_UID, uid),
        (JOB_NAME, name),
        (_OLD_CONTROLLER_UID, uid),
        (_OLD_JOB_NAME, name),
    ):
        labels.setdefault(key, value)
    if inherits:
        metadata["labels"] = dict(labels)
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, uid)


def default_namespace(document: Document) -> None:
    metadata = document["metadata"]
    if metadata.get("name"):
        labels = metadata.get("labels") or {}
        labels["kubernetes.io/metadata.name"] = metadata["name"]
        metadata["labels"] = labels
    finalizers = document["spec"].setdefault("finalizers", [])
    if "kubernetes" not in finalizers and not metadata.get("deletionTimestamp"):
        finalizers.append("kubernetes")


def default_node(document: Document) -> None:
    status = document["status"]
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def default_service(document: Document) -> None:
    spec = document["spec"]
    kind = spec["type"]
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        timeout = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if timeout.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    for port in spec.get("ports") or ():
        if not port.get("targetPort") and "port" in port:
            port["targetPort"] = port["port"]
    reachable = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if reachable and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in document["status"]["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def default_secret(document: Document) -> None:
    plain = document.pop("stringData", None)
    if plain:
        data = document.get("data") or {}
        for key, text in plain.items():
            data[key] = base64.b64encode(text.encode()).decode()
        document["data"] = data


def default_limit_range(document: Document) -> None:
    for item in document["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        default = _merged(item.get("default"), item.get("max"))
        requested = _merged(item.get("defaultRequest"), default, item.get("min"))
        if default:
            item["default"] = default
        if requested:
            item["defaultRequest"] = requested


def _merged(*maps: Document | None) -> Document:
    """All entries; what an earlier map says wins."""
    merged: Document = {}
    for each in maps:
        for key, value in (each or {}).items():
            merged.setdefault(key, value)
    return merged


def default_network_policy(document: Document) -> None:
    spec = document["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def default_csi_driver(document: Document) -> None:
    if not document["spec"].get("volumeLifecycleModes"):
        document["spec"]["volumeLifecycleModes"] = ["Persistent"]


def default_role_binding(document: Document) -> None:
    for subject in document.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _RBAC_GROUP


def default_template(document: Document) -> None:
    default_pod_spec(document["spec"]["template"]["spec"])


def default_deployment(document: Document) -> None:
    default_template(document)
    strategy = document["spec"]["strategy"]
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def default_daemon_set(document: Document) -> None:
    default_template(document)
    strategy = document["spec"]["updateStrategy"]
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)


def default_stateful_set(document: Document) -> None:
    default_template(document)
    spec = document["spec"]
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def default_replication_controller(document: Document) -> None:
    spec = document["spec"]
    template = spec.get("template")
    if template is None:
        return
    default_pod_spec(template["spec"])
    labels = template["metadata"].get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not document["metadata"].get("labels"):
            document["metadata"]["labels"] = dict(labels)


def default_job(document: Document) -> None:
    default_template(document)
    spec = document["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    labels = spec["template"]["metadata"].get("labels")
    if labels and not document["metadata"].get("labels"):
        document["metadata"]["labels"] = dict(labels)


def default_cron_job(document: Document) -> None:
    default_pod_spec(document["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def default_definition(document: Document) -> None:
    spec = document["spec"]
    names = spec.get("names") or {}
    kind = names.get("kind")
    if kind:
        if not names.get("singular"):
            names["singular"] = kind.lower()
        if not names.get("listKind"):
            names["listKind"] = kind + "List"
    status = document["status"]
    if not status.get("storedVersions"):
        stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
        status["storedVersions"] = stored[:1]
