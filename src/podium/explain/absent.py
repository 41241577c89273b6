"""Why a workload has fewer pods than it asks for, as far as its fields and the quotas of its namespace tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.amounts import shown
from podium.dialects.kubernetes.quantities import read_amounts
from podium.explain.documents import Document
from podium.explain.model import Model


def absent_pods(model: Model, document: Document, pods: int) -> str:
    """A sentence, or nothing if it has pods or there is nothing to be seen."""
    spec = document.get("spec") or {}
    name = document["metadata"]["name"]
    if spec.get("suspend"):
        return f"{name} is suspended: `podium release` lets it go on"
    if pods:
        return ""
    if spec.get("replicas", 1) == 0 or spec.get("parallelism", 1) == 0:
        return f"{name} asks for no pods"
    for template in _templates(spec):
        sentence = over_quota(model, document["metadata"].get("namespace", ""), template)
        if sentence:
            return sentence
    return "it has no pods yet: see whether its controller runs, and its events"


def over_quota(model: Model, namespace: str, template: Document) -> str:
    """Which quota keeps one more pod of a template from being created."""
    wanted = _requests(template)
    for quota in model.cluster.quotas.values():
        if quota.namespace != namespace:
            continue
        for key, hard in quota.hard.items():
            plain = key.removeprefix("requests.").removeprefix("count/")
            amount, used = wanted.get(plain, 0), quota.used.get(key, 0)
            if amount and used + amount > hard:
                name = quota.id.rpartition("/")[2]
                texts = (shown(plain, each) for each in (amount, used, hard))
                need, use, limit = texts
                return (
                    f"no pod can be created: each needs {need} {key}, and quota {name} has {use} of {limit} in use"
                )
    return ""


def _requests(template: Document) -> dict[str, int]:
    sums = {"pods": 1}
    for container in (template.get("spec") or {}).get("containers") or ():
        resources = container.get("resources") or {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        good, _ = read_amounts(asked, "")
        for name, amount in good.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def _templates(value: Any) -> Iterator[Document]:
    """Everything inside that is a pod's template."""
    if isinstance(value, dict):
        template = value.get("template")
        if isinstance(template, dict) and isinstance(template.get("spec"), dict):
            yield template
        for key, each in value.items():
            if key != "template":
                yield from _templates(each)
    elif isinstance(value, list):
        for each in value:
            yield from _templates(each)
