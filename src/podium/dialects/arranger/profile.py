"""The profile of Arranger's scheduler, and its options."""

from __future__ import annotations

from typing import Any

from podium.core.framework.arguments import Argument, Arguments
from podium.core.model.durations import duration
from podium.dialects.arranger.types import BASIC_POLICIES, QUEUE_POLICIES
from podium.dialects.dialect import BuiltInProfile
from podium.errors import UsageError

Document = dict[str, Any]

_TEXT = """
period: 5s
actions: "allocate, backfill"
tiers:
- plugins:
  - name: queuepolicy
  - name: roleorder
  - name: gang
    enableJobOrder: false
  - name: wholegang
    arguments: {wholegang.for: Gang}
  - name: giveup
- plugins:
  - name: predicates
  - name: capacity
  - name: binpack
    arguments:
      binpack.for: "BinPack, Gang, others"
      binpack.resources: nvidia.com/gpu
  - name: leaderfirst
    arguments: {leaderfirst.for: LeaderFirst}
  - name: minfragment
    arguments: {minfragment.for: MinFragment}
  - name: jobaffinity
    arguments: {jobaffinity.for: JobAffinity}
  - name: jobantiaffinity
    arguments: {jobantiaffinity.for: JobAntiAffinity}
"""

PER_JOB = "perJob"
_CHOICES = {
    "queuePolicy": (PER_JOB, *QUEUE_POLICIES),
    "basicPolicy": (PER_JOB, *BASIC_POLICIES),
    "drfBase": ("demand", "allocated"),
    "gangScope": ("all", "min"),
}
NO_DEADLINE = "none"
_NOBODY = "nobody"
_RESOURCES = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}
_SCORING = ("minfragment", "jobaffinity", "jobantiaffinity")  # by the same weights as binpack

_OPTIONS = (
    Argument("queuePolicy", PER_JOB, "how jobs stand in line: as each says, or Priority or DRF for all"),
    Argument("basicPolicy", PER_JOB, "where the pods of jobs go: as each says, or one policy for all"),
    Argument("drfBase", "demand", "what a share of DRF is of: what a job asks for, or what it holds (allocated)"),
    Argument(
        "gangScope", "all", "what basicPolicy Gang places at once: all pods, or leader and minWorkersNum (min)"
    ),
    Argument(
        "binpackWeights", "", "how much each of cpu, memory and gpu counts, of BinPack and what builds on it"
    ),
    Argument("leaderFirst", "", "the same for leader and worker of LeaderFirst"),
    Argument("failAfter", NO_DEADLINE, "how long a job may wait for its places before it fails"),
)


def _configure(document: Document, options: Arguments) -> Document:
    """Works the options into the arguments of the plugins that they are about."""
    for name, known in _CHOICES.items():
        if options.text(name) not in known:
            raise UsageError(f"{name}: want {' or '.join(known)}, got {options.values[name]!r}")
    after = options.text("failAfter")
    if after != NO_DEADLINE and duration(after) is None:
        raise UsageError(f"failAfter: want {NO_DEADLINE} or a duration such as 30m, got {after!r}")
    plugins = [plugin for tier in document.get("tiers") or () for plugin in tier.get("plugins") or ()]

    def argue(plugin: str, **arguments: object) -> None:
        for each in plugins:
            if each.get("name") == plugin:
                each["arguments"] = {**(each.get("arguments") or {}), **arguments}

    given = options.values
    if "queuePolicy" in given:
        argue("queuepolicy", **{"queuepolicy.policy": options.text("queuePolicy")})
    if "drfBase" in given:
        argue("queuepolicy", **{"queuepolicy.drfBase": options.text("drfBase")})
    if "failAfter" in given:
        argue("giveup", **{"giveup.after": after})
    if "binpackWeights" in given:
        weights = _weights(given["binpackWeights"], "binpackWeights")
        for name in _SCORING:
            argue(name, **{f"{name}.resources": _written(weights)})
        gpu = _RESOURCES["gpu"]
        own = {f"binpack.{name}": weights[name] for name in ("cpu", "memory") if name in weights}
        argue("binpack", **own, **({f"binpack.resources.{gpu}": weights[gpu]} if gpu in weights else {}))
    if "leaderFirst" in given:
        table = given["leaderFirst"]
        if not isinstance(table, dict) or set(table) - {"leader", "worker"}:
            raise UsageError(f"leaderFirst: want weights for leader and worker, got {table!r}")
        for role, weights in table.items():
            argue("leaderfirst", **{f"leaderfirst.{role}": _written(_weights(weights, f"leaderFirst.{role}"))})
    basic = options.text("basicPolicy")
    if basic != PER_JOB:
        for each in plugins:
            if f"{each.get('name')}.for" in (each.get("arguments") or {}):
                listed = str(each["arguments"][f"{each['name']}.for"]).split(",")
                # Who speaks for the policy speaks for all, and the others for nobody.
                each["arguments"][f"{each['name']}.for"] = "" if basic in map(str.strip, listed) else _NOBODY
    if options.text("gangScope") == "min":
        for tier in document.get("tiers") or ():
            tier["plugins"] = [each for each in tier.get("plugins") or () if each.get("name") != "wholegang"]
    return document


def _weights(given: object, where: str) -> dict[str, float]:
    """Weights by resource.  Those that are left out stay 1."""
    if not isinstance(given, dict) or set(given) - set(_RESOURCES):
        raise UsageError(f"{where}: want numbers for {', '.join(_RESOURCES)}, got {given!r}")
    found = {}
    for name, resource in _RESOURCES.items():
        weight = given.get(name, 1)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < 1e9:
            raise UsageError(f"{where}.{name}: want a number from 0 on, got {weight!r}")
        found[resource] = float(weight)
    return found


def _written(weights: dict[str, float]) -> str:
    return ", ".join(f"{name}={weight:g}" for name, weight in weights.items())


PROFILE = BuiltInProfile(_TEXT, options=_OPTIONS, configure=_configure)
