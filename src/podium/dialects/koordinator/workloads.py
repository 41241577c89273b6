"""Gangs as Koordinator's users write them: by annotations, by a PodGroup, alone or in a group, strict or not."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec.structs import replace

from podium.dialects.koordinator.names import (
    GROUPS,
    MATCH_POLICY,
    MIN_AVAILABLE,
    MODE,
    NAME,
    POD_GROUP,
    PODGROUPS,
    SCHEDULER,
    TOTAL_NUMBER,
    WAITING_TIME,
)
from podium.dialects.workloads import NAMESPACE, Ask, Document, Rng, Workload, pod


def pod_group(name: str, minimum: int, **annotations: str) -> Document:
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
        "spec": {"minMember": minimum},
    }


def gang(name: str, members: int, ask: Ask, minimum: int | None = None, **annotations: str) -> list[Document]:
    """The pods of a gang of annotations."""
    least = str(members if minimum is None else minimum)
    said = {NAME: name, MIN_AVAILABLE: least, **annotations}
    return [pod(f"{name}-{number}", ask, **said) for number in range(members)]


def _some_gang(rng: Rng, name: str) -> list[Document]:
    ask, members = _ask(rng), rng.whole(2, 5)
    minimum = rng.whole(1, members) if rng.chance(0.3) else members
    said = _manner(rng)
    said[WAITING_TIME] = rng.pick(("10s", "30s", "600s"))
    if rng.chance(0.2):
        said[TOTAL_NUMBER] = str(members)
    return gang(name, members, ask, minimum, **said)


def _some_group(rng: Rng, name: str) -> list[Document]:
    """Two gangs that start together; the second one's list may leave the first one out."""
    both = json.dumps([f"{NAMESPACE}/{name}", f"{NAMESPACE}/{name}-too"])
    ask, said = _ask(rng), {**_manner(rng), WAITING_TIME: rng.pick(("10s", "30s", "600s"))}
    first = gang(name, rng.whole(1, 3), ask, None, **{**said, GROUPS: both})
    other = {**said, GROUPS: both if rng.chance(0.8) else ""}
    return [*first, *gang(f"{name}-too", rng.whole(1, 3), ask, None, **other)]


def _some_labelled(rng: Rng, name: str) -> list[Document]:
    """Pods of a PodGroup, which may come before it."""
    ask, members = _ask(rng), rng.whole(2, 4)
    labelled = replace(ask, labels={**ask.labels, POD_GROUP: name})
    pods = [pod(f"{name}-{number}", labelled) for number in range(members)]
    made = pod_group(name, rng.whole(1, members), **_manner(rng))
    return [made, *pods] if rng.chance(0.7) else [*pods, made]


def _ask(rng: Rng) -> Ask:
    """Their pods name queues of any dialect, as those of others do."""
    ask = rng.ask()
    scheduler = rng.pick((SCHEDULER, ask.scheduler))
    return replace(ask, scheduler=scheduler, annotations={**ask.annotations, **ask.naming})


def _manner(rng: Rng) -> dict[str, str]:
    said = {MODE: rng.pick(("Strict", "NonStrict", "NonStrict"))}
    if rng.chance(0.3):
        said[MATCH_POLICY] = rng.pick(("only-waiting", "waiting-and-running"))
    return said


WORKLOADS: Mapping[str, Workload] = {
    "koordgang": Workload(_some_gang, gang=True),
    "koordgroup": Workload(_some_group, gang=True),
    "koordpodgroup": Workload(_some_labelled, gang=True),
}
