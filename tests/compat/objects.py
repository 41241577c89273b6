"""The objects that stories use, as small as the API allows."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

IMAGE = "registry.example/busybox:1"
RUN_SECONDS = "podium.dev/run-seconds"
EXIT_CODE = "podium.dev/exit-code"


def container(name: str = "main", **fields: Any) -> Document:
    return {"name": name, "image": IMAGE, "command": ["sh", "-c", "echo hello"], **fields}


def pod(
    name: str, *, labels: Document | None = None, annotations: Document | None = None, **spec: Any
) -> Document:
    metadata: Document = {"name": name}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container()], **spec}}


NOWHERE = {"stories.example/nowhere": "true"}  # a selector that no node meets


def unplaced_pod(name: str, **more: Any) -> Document:
    """A pod that finds no node: it stays Pending and unbound, so that a story can act on it in peace."""
    return pod(name, schedulerName="nobody", nodeSelector=NOWHERE, **more)


def configmap(name: str, labels: Document | None = None, **data: str) -> Document:
    metadata: Document = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def template(app: str, *, annotations: Document | None = None, **spec: Any) -> Document:
    metadata: Document = {"labels": {"app": app}}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": {"containers": [container()], **spec}}


def deployment(name: str, replicas: int = 2, **spec: Any) -> Document:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name),
            **spec,
        },
    }


def job(name: str, completions: int = 1, *, run_seconds: str = "0", exit_code: str = "", **spec: Any) -> Document:
    annotations = {RUN_SECONDS: run_seconds}
    if exit_code:
        annotations[EXIT_CODE] = exit_code
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completions": completions,
            "parallelism": completions,
            "template": template(name, annotations=annotations, restartPolicy="Never"),
            **spec,
        },
    }


def crd(plural: str, kind: str, properties: Document, group: str = "stories.example", **names: Any) -> Document:
    """A namespaced definition with one version, v1, whose spec has `properties`."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, **names},
            "versions": [crd_version("v1", properties)],
        },
    }


def crd_version(name: str, properties: Document, storage: bool = True, **fields: Any) -> Document:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": properties},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **fields}
