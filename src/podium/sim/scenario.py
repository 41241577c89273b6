"""Scenarios: a cluster, what its users do and what goes wrong, in one YAML file, played in virtual time.

    nodes:                        # as in a nodes file: groups of nodes that are alike
    - {name: gpu, count: 4, gpus: 8}
    until: 3600                   # seconds; without it until nothing more is due
    events:
    - at: 0
      apply: [ ... ]              # manifests, of any kind that podium serves
    - at: 10
      file: job.yaml              # the same, from a file beside this one
    - at: 60
      delete: {apiVersion: v1, kind: Pod, name: a, namespace: default}
    - at: 90
      fail: gpu-001               # a node falls silent
    - at: 600
      recover: gpu-001
    - at: 700
      restart: true               # the scheduler and all controllers end and begin anew
    - at: 800
      binds: {fail: 0.3, lose: 0.1, seconds: 2}   # from now on binds fail, are not answered, and take their time

Pods run as long as their annotation podium.dev/run-seconds says, or until they are deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.core.profile import Profile
from podium.dialects import DIALECTS
from podium.embedded.nodes.node_status import FAIL
from podium.embedded.nodes.nodes_file import check_shape
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.errors import ApiError, UsageError
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.wire import Object, Pod
from podium.sim.binds import Binds, BindTrouble
from podium.sim.virtual import VirtualCluster

Document = dict[str, Any]


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An object that is named."""

    api_version: str
    kind: str
    name: str
    namespace: str = "default"


class Happening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens at one time; several things of one entry happen in this order."""

    at: float
    apply: list[Document] = []
    file: str = ""
    delete: Target | None = None
    fail: str = ""
    recover: str = ""
    restart: bool = False
    binds: Binds | None = None


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole file."""

    nodes: list[Shape] = []
    events: list[Happening] = []
    until: float | None = None
    seed: int = 42  # of everything random in it


class PodResult(msgspec.Struct):
    """What became of a pod; times in seconds, -1 for what has not happened."""

    namespace: str
    name: str
    node: str = ""
    phase: str = "Pending"
    created: float = -1.0
    bound: float = -1.0
    started: float = -1.0
    ended: float = -1.0
    gone: bool = False


class Play(msgspec.Struct, frozen=True):
    """What came of a run."""

    nodes: int
    seconds: float
    pods: list[PodResult]
    turns: int
    trace_hash: str


def read_scenario(path: Path) -> Scenario:
    """A scenario from a file.  UsageError says what is wrong and where."""
    documents = _yaml(path)
    if len(documents) != 1:
        raise UsageError(f"{path}: a scenario is one YAML document with nodes and events, got {len(documents)}")
    try:
        scenario = msgspec.convert(documents[0], Scenario, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from None
    for number, shape in enumerate(scenario.nodes):
        complaint = check_shape(shape)
        if complaint:
            raise UsageError(f"{path}: $.nodes[{number}].{complaint}")
    for number, each in enumerate(scenario.events):
        if each.at < 0:
            raise UsageError(f"{path}: $.events[{number}].at: want seconds that are not negative, got {each.at:g}")
        wrong = each.binds.complaint() if each.binds is not None else ""
        if wrong:
            raise UsageError(f"{path}: $.events[{number}].binds.{wrong}")
    return scenario


def _yaml(path: Path) -> list[Any]:
    try:
        return [each for each in yaml.safe_load_all(path.read_text()) if each is not None]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {' '.join(str(error).split())}") from None


def play(scenario: Scenario, path: Path, profiles: Mapping[str, Profile]) -> Play:
    """Plays a scenario; files that it names lie beside `path`."""
    return Stage(scenario, path, profiles).run()


class Stage:
    """A scenario under way."""

    def __init__(self, scenario: Scenario, path: Path, profiles: Mapping[str, Profile]) -> None:
        self._scenario = scenario
        self._path = path
        self.cluster = VirtualCluster(profiles, DIALECTS)
        self._trouble = BindTrouble(scenario.seed)
        self._pods: dict[str, PodResult] = {}
        self.cluster.listeners.append(self._heard)
        for document in node_documents(scenario.nodes, self.cluster.now):
            self.cluster.apply(document)
        for number, each in enumerate(scenario.events):
            manifests = list(each.apply)
            if each.file:
                manifests += _yaml(path.parent / each.file)
            place = f"{path}: $.events[{number}]"
            self.cluster.at(each.at, partial(self._happen, each, manifests, place))

    def run(self) -> Play:
        until = self._scenario.until
        if until is None:
            self.cluster.run()
        else:
            self.cluster.run(until)
        return Play(
            nodes=sum(shape.count for shape in self._scenario.nodes),
            seconds=round(self.cluster.elapsed, 3),
            pods=list(self._pods.values()),
            turns=self.cluster.scheduler.tally.turns,
            trace_hash=self.cluster.digest,
        )

    def _happen(self, each: Happening, manifests: list[Document], place: str) -> None:
        try:
            for manifest in manifests:
                self.cluster.apply(manifest)
            if each.delete is not None:
                target = each.delete
                self.cluster.delete(
                    self.cluster.served(target.api_version, target.kind), target.namespace, target.name
                )
            if each.fail:
                self._mark(each.fail, "true")
            if each.recover:
                self._mark(each.recover, None)
        except (ApiError, UsageError) as error:
            raise UsageError(f"{place}: {error}") from None
        if each.restart:
            self.cluster.restart()
        if each.binds is not None:
            self._trouble.binds = each.binds
            self.cluster.bind_trouble = self._trouble

    def _mark(self, node: str, value: str | None) -> None:
        self.cluster.patch(NODES, "", node, {"metadata": {"annotations": {FAIL: value}}})

    def _heard(self, resource: Resource, obj: Object, gone: bool) -> None:
        if resource != PODS or not isinstance(obj, Pod):
            return
        now = round(self.cluster.elapsed, 3)
        result = self._pods.get(obj.uid)
        if result is None:
            result = self._pods[obj.uid] = PodResult(obj.namespace, obj.name, created=now)
        result.phase, result.gone = obj.status.phase, gone
        if obj.spec.node_name and result.bound < 0:
            result.node, result.bound = obj.spec.node_name, now
        if obj.status.phase == "Running" and result.started < 0:
            result.started = now
        if (obj.finished or gone) and result.ended < 0:
            result.ended = now
