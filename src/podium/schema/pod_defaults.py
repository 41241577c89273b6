"""What an API server fills into pods and pod templates, and what it derives from them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from podium.kube import wire
from podium.kube.pod_resources import pod_requests
from podium.kube.quantity import QuantityError, format_bytes, format_milli, parse_milli, parse_units

Document = dict[str, Any]

_NODE_TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TROUBLE_SECONDS = 300


def default_pod(document: Document) -> None:
    """What depends on other fields of a pod.  The static defaults must be there already."""
    spec = document["spec"]
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        resources = container["resources"]
        limits = resources.get("limits")
        if limits:
            requests = resources.setdefault("requests", {})
            for name, value in limits.items():
                requests.setdefault(name, value)
    whole = spec.get("resources")
    if whole and whole.get("limits"):
        _default_pod_requests(spec, whole)
    if spec.get("hostNetwork"):
        for container in _containers(spec):
            for port in container.get("ports") or ():
                if not port.get("hostPort") and "containerPort" in port:
                    port["hostPort"] = port["containerPort"]


def _default_pod_requests(spec: Document, whole: Document) -> None:
    """A pod limited as a whole requests what its containers do, and its limits where they request nothing."""
    parts = {field: spec[field] for field in ("containers", "initContainers") if spec.get(field)}
    try:
        asked = pod_requests(msgspec.convert(parts, wire.PodSpec))
    except (QuantityError, msgspec.ValidationError):
        return  # validation names the field
    requests = whole.get("requests") or {}
    if asked.get("cpu"):
        requests.setdefault("cpu", format_milli(asked["cpu"]))
    if asked.get("memory"):
        requests.setdefault("memory", format_bytes(asked["memory"]))
    for name, value in whole["limits"].items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            requests.setdefault(name, value)
    whole["requests"] = requests


def default_pod_spec(spec: Document) -> None:
    """What depends on other fields of a pod's spec, wherever the spec stands."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            if not container.get("imagePullPolicy"):
                container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    for volume in spec.get("volumes") or ():
        default_volume(volume)


def default_volume(volume: Document) -> None:
    if len(volume) == ("name" in volume):
        volume["emptyDir"] = {}
    elif "image" in volume and not volume["image"].get("pullPolicy"):
        volume["image"]["pullPolicy"] = pull_policy(volume["image"].get("reference") or "")


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """Images that move (`latest`, or no tag, which means the same) are pulled always, others when missing."""
    if not image:
        return "IfNotPresent"
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if not tag and not digest:
        tag = "latest"
    return "Always" if tag == "latest" else "IfNotPresent"


def add_default_tolerations(document: Document) -> None:
    """Lets a pod stay on a node in trouble for five minutes, unless it says itself how long."""
    spec = document["spec"]
    tolerations = spec.get("tolerations") or []
    missing = [key for key in _NODE_TROUBLES if not _tolerates(tolerations, key)]
    if missing:
        spec["tolerations"] = tolerations + [
            {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": _TROUBLE_SECONDS,
            }
            for key in missing
        ]


def _tolerates(tolerations: list[Document], key: str) -> bool:
    return any(
        toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
        for toleration in tolerations
    )


def qos_class(document: Document) -> str:
    """Guaranteed when every container is limited in CPU and memory to what it requests, BestEffort without any."""
    spec = document["spec"]
    whole = spec.get("resources")
    parts = [whole] if whole else [container.get("resources") or {} for container in _containers(spec)]
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for resources in parts:
        _sum(requests, resources.get("requests"))
        if _sum(limits, resources.get("limits")) < 2:
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _sum(total: dict[str, int], amounts: Document | None) -> int:
    """Adds CPU and memory; returns how many of the two were there: others do not matter for the class."""
    found = 0
    if amounts:
        for name, parse in (("cpu", parse_milli), ("memory", parse_units)):
            if name in amounts:
                try:
                    value = parse(amounts[name])
                except QuantityError:
                    continue
                if value > 0:
                    found += 1
                    total[name] = total.get(name, 0) + value
    return found


def _containers(spec: Document) -> Iterable[Document]:
    containers: list[Document] = spec.get("containers") or []
    first: list[Document] | None = spec.get("initContainers")
    return containers if not first else [*containers, *first]
