"""Refusals of the built-in kinds, word for word as a kube-apiserver 1.36.3 gave them.

`refusals.jsonl` holds what was sent (with `old`: over which object) and the causes that came back; no causes
means that the object was taken.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.kube import resources as r
from podium.kube.resources import Resource
from podium.schema import defaults
from podium.schema.pod_defaults import add_default_tolerations
from tests.schema.served import default_object, validate_create, validate_update

Document = dict[str, Any]

CASES = [
    msgspec.json.decode(line) for line in (Path(__file__).parent / "refusals.jsonl").read_bytes().splitlines()
]
BY_NAME = {each.group_resource: each for each in vars(r).values() if isinstance(each, Resource)}


def prepared(resource: Resource, document: Document) -> Document:
    """What a server has made of the document when it comes to validation."""
    metadata = document["metadata"]
    if resource.namespaced:
        metadata["namespace"] = "default"
    metadata["uid"] = "u"
    default_object(resource, document)
    spec = document.get("spec", {})
    if resource == r.PODS:
        spec.setdefault("priority", 0)
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
        add_default_tolerations(document)
    elif resource == r.JOBS:
        defaults.job_selector(document, "u")
    elif resource == r.SERVICES and spec.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    return document


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_same_words_as_a_real_server(number: int) -> None:
    case = msgspec.json.decode(msgspec.json.encode(CASES[number]))
    resource, document = BY_NAME[case["resource"]], case["document"]
    if "old" in case:
        default_object(resource, document)
        errors = validate_update(resource, document, case["old"])
    else:
        errors = validate_create(resource, prepared(resource, document))
    # A real server goes on with a difference in Go's notation; ours is its own.
    reported = {(error.path, error.reason, error.detail.split("\n")[0]) for error in errors}
    assert reported == {(path, reason, detail.split("\n")[0]) for path, reason, detail in case["causes"]}


def test_the_recorded_cases_cover_every_kind_with_rules() -> None:
    recorded = {case["resource"] for case in CASES}
    unruled = {
        "bindings",
        "serviceaccounts",
        "replicationcontrollers",
        "csidrivers.storage.k8s.io",
        "events.events.k8s.io",
    }
    assert set(BY_NAME) - recorded <= unruled
