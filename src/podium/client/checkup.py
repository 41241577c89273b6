"""What is wrong between podium and a cluster, found by asking the cluster."""

from __future__ import annotations

import asyncio
import enum
import time
from collections import Counter
from typing import Any

import msgspec

from podium import __version__
from podium.dialects import built_in_profiles, speaking
from podium.dialects.dialect import rights_of
from podium.engine.clashes import ANOTHER_SCHEDULER
from podium.engine.rights import base_rights
from podium.errors import ApiError, PodiumError
from podium.kube.client import Client
from podium.kube.lease import HELD_INSIDE
from podium.kube.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    Resource,
)
from podium.kube.rights import Need, needs_of
from podium.kube.times import parse_time
from podium.kube.transport import Request

_OLDEST = (1, 34)  # older servers refuse the definition of Queues, whose rules they take for too costly
_FRESH_SECONDS = 60.0
_RECENT_SECONDS = 600.0
_NOT_BOUND = " could not be bound to "  # as in the reason BindFailed
_NAMED = 6  # rights that are missing, in one sentence
_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False)
_OWN = ("podium-scheduler", "podium-controllers")


class Level(enum.Enum):
    GOOD = "good"
    WARNING = "warning"
    BROKEN = "broken"


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    what: str
    level: Level
    sentence: str
    todo: str = ""


async def check_up(client: Client) -> list[Finding]:
    """Everything, as far as the server lets one look."""
    try:
        response = await client.transport.request(Request("GET", "/version"))
        version = msgspec.json.decode(response.body, type=dict[str, Any])
    except (PodiumError, msgspec.DecodeError) as error:
        return [Finding("server", Level.BROKEN, f"no answer: {error}", "see the kubeconfig, and whether it runs")]
    findings = [_version(version)]
    findings += await _definitions(client)
    findings += await _rights(client)
    findings += await _at_work(client)
    findings += await _clashes(client)
    findings += await _waiting(client)
    return findings


def _version(version: dict[str, Any]) -> Finding:
    text = version.get("gitVersion", "?")
    try:
        number = int(version["major"]), int("".join(c for c in version["minor"] if c.isdigit()))
    except (KeyError, ValueError):
        return Finding("server", Level.WARNING, f"its version cannot be read: {text}")
    if number < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        return Finding("server", Level.WARNING, f"Kubernetes {text} is older than {wanted}", "upgrade the cluster")
    return Finding("server", Level.GOOD, f"Kubernetes {text}, podium {__version__}")


async def _definitions(client: Client) -> list[Finding]:
    """Whether the server has podium's kinds, in the versions that podium speaks."""
    try:
        listed = await client.list(CUSTOMRESOURCEDEFINITIONS)
    except ApiError as error:
        return [Finding("definitions", Level.WARNING, f"they may not be read: {error}")]
    served = {
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["plural"]): crd
        for crd in listed
        for version in crd["spec"]["versions"]
        if version.get("served")
    }
    findings = []
    for dialect in speaking():
        wanted = [each.resource for each in dialect.definitions]
        missing = [each.group_resource for each in wanted if (each.group, each.version, each.plural) not in served]
        if missing:
            todo = f"podium crds --dialect {dialect.name} | kubectl apply --server-side -f -"
            findings.append(
                Finding(f"definitions of {dialect.name}", Level.WARNING, f"not there: {', '.join(missing)}", todo)
            )
        elif wanted:
            findings.append(
                Finding(
                    f"definitions of {dialect.name}",
                    Level.GOOD,
                    "it is there" if len(wanted) == 1 else f"all {len(wanted)} are there",
                )
            )
    return findings


async def _rights(client: Client) -> list[Finding]:
    """Whether this user may do what podium's parts declare that they do."""
    declared = [*base_rights(), *(right for dialect in speaking() for right in rights_of(dialect))]
    wanted = sorted(needs_of(declared))
    answers = await asyncio.gather(*(_allowed(client, need) for need in wanted), return_exceptions=True)
    for error in answers:
        if isinstance(error, ApiError) and error.code == 404:
            sentence = "the server knows no rules: who has its token may do everything"
            return [Finding("rights", Level.GOOD, sentence)]
        if isinstance(error, PodiumError):
            return [Finding("rights", Level.WARNING, f"they cannot be asked for: {error}")]
        if isinstance(error, BaseException):
            raise error
    refused = [_called(need) for need, allowed in zip(wanted, answers, strict=True) if not allowed]
    if not refused:
        return [Finding("rights", Level.GOOD, f"all {len(wanted)} that podium needs")]
    more = f" and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
    return [
        Finding(
            "rights",
            Level.WARNING,
            f"this user may not: {', '.join(refused[:_NAMED])}{more}",
            "a scheduler that runs as this user needs them; to look at things it is enough to list",
        )
    ]


async def _allowed(client: Client, need: Need) -> bool:
    plural, _, subresource = need.resource.partition("/")
    attributes = {"verb": need.verb, "group": need.group, "resource": plural, "subresource": subresource}
    review = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(_REVIEWS, "", review)
    return bool(answer.get("status", {}).get("allowed"))


def _called(need: Need) -> str:
    plural, slash, subresource = need.resource.partition("/")
    return f"{need.verb} {plural}{'.' + need.group if need.group else ''}{slash}{subresource}"


async def _at_work(client: Client) -> list[Finding]:
    """Who schedules here, by the leases that are renewed."""
    try:
        leases = await client.list(LEASES)
    except ApiError as error:
        return [Finding("scheduler", Level.WARNING, f"leases may not be read: {error}")]
    now = time.time()
    fresh: dict[str, list[str]] = {}
    inside = set()  # parts of `podium up` itself, which has nothing to renew
    for lease in leases:
        spec, metadata = lease.get("spec") or {}, lease["metadata"]
        if not spec.get("holderIdentity"):
            continue
        within = HELD_INSIDE in (metadata.get("annotations") or {})
        if within or now - parse_time(spec.get("renewTime")) < _FRESH_SECONDS:
            fresh.setdefault(metadata["name"], []).append(f"{metadata['namespace']}/{metadata['name']}")
            inside |= {metadata["name"]} if within else set()
    findings = []
    for name in _OWN:
        places = fresh.get(name, [])
        if len(places) > 1:
            sentence = f"{len(places)} of them are at work, and do not know of each other: {', '.join(places)}"
            todo = "stop all but one, or give them one --leader-elect-resource-namespace"
            findings.append(Finding(name, Level.BROKEN, sentence, todo))
        elif name in inside:
            findings.append(Finding(name, Level.GOOD, "at work: inside podium up, which has its own"))
        elif places:
            findings.append(Finding(name, Level.GOOD, f"at work: lease {places[0]} is renewed"))
        else:
            command = "podium scheduler" if "scheduler" in name else "podium controllers"
            findings.append(Finding(name, Level.WARNING, "nobody renews its lease", f"start it: {command}"))
    served = set(built_in_profiles())
    found = ((name, place) for name, places in fresh.items() for place in places)
    others = [place for name, place in found if name not in _OWN and _schedules(name)]
    spoken = [dialect.name for dialect in speaking()]
    rivals = [
        place for place in others if place.rpartition("/")[2] in served or any(name in place for name in spoken)
    ]
    if rivals:
        findings.append(
            Finding(
                "other schedulers",
                Level.BROKEN,
                f"{', '.join(rivals)} may serve the same scheduler names",
                "stop it, or give podium's profiles other names",
            )
        )
    elif others:
        findings.append(
            Finding(
                "other schedulers",
                Level.WARNING,
                f"{', '.join(others)} place pods on the same nodes: two schedulers may take the same room",
                "keep GPU pods with one of them, for example by a taint on the GPU nodes",
            )
        )
    else:
        findings.append(Finding("other schedulers", Level.GOOD, "none is at work"))
    return findings


async def _clashes(client: Client) -> list[Finding]:
    """Pods of podium's names that somebody else has bound, as podium itself has said of late."""
    try:
        events = await client.list(EVENTS, field_selector=f"reason={ANOTHER_SCHEDULER}")
    except ApiError as error:
        return [Finding("clashes", Level.WARNING, f"events may not be read: {error}")]
    recent = [each for each in events if time.time() - parse_time(each.get("lastTimestamp")) < _RECENT_SECONDS]
    if not recent:
        return []
    last = max(recent, key=lambda each: parse_time(each.get("lastTimestamp")))
    return [Finding("clashes", Level.BROKEN, last.get("message", ""), "see the alert PodiumAnotherScheduler")]


def _schedules(name: str) -> bool:
    return "scheduler" in name or name in built_in_profiles()


def _refused(pods: list[dict[str, Any]]) -> list[Finding]:
    """What the scheduler was told when it bound pods that still wait: its rights are not the asker's."""
    conditions = [
        condition
        for pod in pods
        if not pod["spec"].get("nodeName")
        for condition in pod.get("status", {}).get("conditions") or ()
    ]
    said = [each["message"] for each in conditions if _NOT_BOUND in (each.get("message") or "")]
    if not said:
        return []
    sentence = f"{len(said)} pods could not be bound; one of them says: {said[0]}"
    return [
        Finding("binds", Level.BROKEN, sentence, "see whether the scheduler's account may create pods/binding")
    ]


async def _waiting(client: Client) -> list[Finding]:
    """Pods that nobody serves."""
    pods = await client.list(PODS)
    nodes = await client.list(NODES)
    served = set(built_in_profiles()) | {"default-scheduler"}
    strays = Counter(
        pod["spec"].get("schedulerName", "")
        for pod in pods
        if not pod["spec"].get("nodeName") and pod["spec"].get("schedulerName", "") not in served
    )
    findings = _refused(pods)
    if not nodes:
        findings.append(Finding("nodes", Level.WARNING, "there are none: nothing can run", "add some"))
    else:
        findings.append(Finding("nodes", Level.GOOD, f"{len(nodes)} nodes, {len(pods)} pods"))
    for name, number in sorted(strays.items()):
        sentence = f"{number} pods wait for scheduler {name}, which podium has no profile for"
        findings.append(Finding("pods", Level.WARNING, sentence, f"podium scheduler --scheduler-name {name}"))
    return findings
