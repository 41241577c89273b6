"""Objects made from flags or from a file: jobs, queues, and orders to both."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import COMMANDS, QUEUES
from podium.errors import UsageError, why_unreadable
from podium.kube.conditions import owner_reference
from podium.kube.quantity import QuantityError, canonical
from podium.kube.resources import Resource
from podium.kube.yaml_files import YamlText

Document = dict[str, Any]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """A job of equal pods, as the flags of `job run` and `vsub` describe it."""

    name: str
    image: str
    minimum: int
    replicas: int
    requests: str
    limits: str
    scheduler: str
    command: str = ""


def job_document(wish: Wish) -> Document:
    container: Document = {
        "name": wish.name,
        "image": wish.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {
            "requests": amounts(wish.requests, "--requests"),
            "limits": amounts(wish.limits, "--limits"),
        },
    }
    if wish.command:
        try:
            container["command"] = shlex.split(wish.command)
        except ValueError as error:
            raise UsageError(f"--command {wish.command!r} is no command line: {error}") from None
    template = {
        "metadata": {"name": wish.name, "labels": {"job.volcano.sh": wish.name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": wish.name},
        "spec": {
            "minAvailable": wish.minimum,
            "schedulerName": wish.scheduler,
            "tasks": [{"replicas": wish.replicas, "template": template}],
        },
    }


def amounts(text: str, flag: str) -> dict[str, str]:
    """`cpu=1000m,memory=100Mi` as a resource list."""
    found = {}
    for each in filter(None, text.split(",")):
        name, separator, amount = each.partition("=")
        if not (name and separator and amount):
            raise UsageError(f"{flag} {text}: {each!r} is not of the form resource=amount")
        try:
            found[name] = canonical(amount)
        except QuantityError as error:
            raise UsageError(f"{flag} {text}: {error}") from None
    return found


def job_in(path: Path) -> Document:
    """The one job of a YAML file."""
    try:
        documents = YamlText(path.read_text("utf-8-sig"), str(path), objects=True).documents
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no YAML: it is not UTF-8 text") from None
    wanted = f"{JOBS.kind} of {JOBS.api_version}"
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise UsageError(f"{path} must hold one object, a {wanted}, and holds {len(documents)}")
    document: Document = documents[0]
    if (document.get("apiVersion"), document.get("kind")) != (JOBS.api_version, JOBS.kind):
        raise UsageError(f"{path} must hold a {wanted}")
    return document


def namespace_in(document: Document) -> str:
    """The namespace that a job says it is of."""
    metadata = document.get("metadata")
    given = metadata.get("namespace") if isinstance(metadata, dict) else None
    return given if isinstance(given, str) and given else "default"


def queue_document(name: str, weight: int) -> Document:
    return {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "spec": {"weight": weight},
    }


def order_document(resource: Resource, target: Document, action: str) -> Document:
    """A Command to a job or a queue.  It is the target's own, so that it goes when the target does."""
    reference = owner_reference(target, resource)
    return {
        "apiVersion": COMMANDS.api_version,
        "kind": COMMANDS.kind,
        "metadata": {
            "generateName": f"{target['metadata']['name']}-{action.lower()}-",
            "ownerReferences": [reference],
        },
        "target": reference,
        "action": action,
    }
