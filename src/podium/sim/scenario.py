"""Scenarios: a cluster, what its users do and what goes wrong, in one YAML file, played in virtual time.

    nodes:                        # as in a nodes file: groups of nodes that are alike
    - {name: gpu, count: 4, gpus: 8}
    until: 3600                   # seconds; without it until nothing more is due but restarts of containers
    events:
    - at: 0
      apply: [ ... ]              # manifests, of any kind that podium serves
    - at: 10
      file: job.yaml              # the same, from a file beside this one
    - at: 60
      delete: {apiVersion: v1, kind: Pod, name: a, namespace: default}
    - at: 70
      scale: {apiVersion: apps/v1, kind: Deployment, name: web, replicas: 5}
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

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from podium.core.profiles.profile import Profile
from podium.dialects import authoring, speaking
from podium.embedded.nodes.node_status import FAIL
from podium.embedded.nodes.nodes_file import check_shapes
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.errors import ApiError, UsageError, why_unreadable
from podium.kube.resources import NODES
from podium.kube.yaml_files import YamlText
from podium.sim.binds import Binds, BindTrouble
from podium.sim.following import Follower, Play
from podium.sim.manifests import check_manifest, unpacked
from podium.sim.replay import QueueShape, set_weight
from podium.sim.traces.tables import MOST_SECONDS, no_text
from podium.sim.virtual import VirtualCluster

Document = dict[str, Any]

_MORE = "what-if"  # the name of nodes that a scenario does not have


class Other(msgspec.Struct, frozen=True):
    """What is to be other than a scenario says."""

    more_nodes: int = 0  # of its largest group
    shapes: tuple[Shape, ...] = ()  # nodes of other kinds
    queues: tuple[QueueShape, ...] = ()  # with their weights


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An object that is named."""

    api_version: str
    kind: str
    name: str
    namespace: str = "default"


class Scaled(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An object that is to have another number of replicas."""

    api_version: str
    kind: str
    name: str
    replicas: int
    namespace: str = "default"


class Happening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens at one time; several things of one entry happen in this order."""

    at: float
    apply: list[Document] = []
    file: str = ""
    delete: Target | None = None
    scale: Scaled | None = None
    fail: str = ""
    recover: str = ""
    restart: bool = False
    binds: Binds | None = None


_ACTIONS = tuple(name for name in Happening.__struct_fields__ if name != "at")


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole file."""

    nodes: list[Shape] = []
    events: list[Happening] = []
    until: float | None = None
    seed: int = 42  # of everything random in it


def read_scenario(path: Path) -> Scenario:
    """A scenario from a file.  UsageError says what is wrong and where."""
    file = _yaml(path)
    if len(file.documents) != 1:
        count = len(file.documents)
        raise file.error(
            "$", f"a scenario is one YAML document with nodes and events, got {count}", max(0, count - 1)
        )
    try:
        scenario = msgspec.convert(file.documents[0], Scenario, strict=False)
    except msgspec.ValidationError as error:
        raise file.invalid(error) from None
    check_shapes(scenario.nodes, file, "$.nodes")
    times = {f"$.events[{number}].at": each.at for number, each in enumerate(scenario.events)}
    for place, at in (times | ({"$.until": scenario.until} if scenario.until is not None else {})).items():
        if not 0 <= at <= MOST_SECONDS:
            raise file.error(place, f"want seconds from 0 to {MOST_SECONDS:,.0f}, got {at:g}")
    for number, each in enumerate(scenario.events):
        if each == Happening(each.at) and file.documents[0]["events"][number].keys() == {"at"}:
            raise file.error(f"$.events[{number}]", f"nothing happens there: want one of {', '.join(_ACTIONS)}")
        wrong = each.binds.complaint() if each.binds is not None else ""
        if wrong:
            field, _, reported = wrong.partition(": ")
            raise file.error(f"$.events[{number}].binds.{field}", reported)
    return scenario


def _yaml(path: Path) -> YamlText:
    try:
        return YamlText(path.read_text("utf-8-sig"), str(path), strict=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}, {no_text(error)}") from None


def play(scenario: Scenario, path: Path, profiles: Mapping[str, Profile], other: Other | None = None) -> Play:
    """Plays a scenario; files that it names lie beside `path`."""
    return Stage(scenario, path, profiles, other or Other()).run()


class Manifest(msgspec.Struct, frozen=True):
    """An object of a scenario, and where it stands."""

    file: YamlText
    path: str
    document: Document
    number: int = 0  # of the document in its file

    @property
    def name(self) -> str:
        return _name(self.document)


class Stage:
    """A scenario under way."""

    def __init__(self, scenario: Scenario, path: Path, profiles: Mapping[str, Profile], other: Other) -> None:
        self._scenario = scenario
        self._weights = {queue.name: queue.weight for queue in other.queues}
        self._path = path
        self._file = _yaml(path)
        self.cluster = VirtualCluster(profiles, speaking(profiles=lambda: profiles))
        self._follower = Follower(self.cluster)
        self._trouble = BindTrouble(scenario.seed)
        shapes = [*scenario.nodes, *other.shapes, *_more(scenario.nodes, other.more_nodes)]
        if len({shape.name for shape in shapes}) < len(shapes):
            raise UsageError(f"--nodes: a group of nodes there has a name that {path} uses too")
        for document in node_documents(shapes, self.cluster.now):
            self.cluster.server.apply(document)
        reported = [list(self._manifests(number, each)) for number, each in enumerate(scenario.events)]
        own = {manifest.name for manifests in reported for manifest in manifests if _is_queue(manifest.document)}
        for queue in other.queues:
            if queue.name not in own:
                set_weight(self.cluster, queue)
        for number, each in enumerate(scenario.events):
            self.cluster.at(each.at, partial(self._happen, number, each, reported[number]))

    def _manifests(self, number: int, each: Happening) -> Iterator[Manifest]:
        """The objects of an event, each with where it stands."""
        for place, document in enumerate(each.apply):
            yield from self._unpacked(Manifest(self._file, f"$.events[{number}].apply[{place}]", document))
        if each.file:
            try:
                beside = _yaml(self._path.parent / each.file)
            except UsageError as error:
                raise self._file.error(f"$.events[{number}].file", str(error)) from None
            if not beside.documents:
                raise self._file.error(f"$.events[{number}].file", f"{beside.source} has nothing in it")
            for place, document in enumerate(beside.documents):
                if not isinstance(document, dict):
                    raise beside.error("$", "want an object with apiVersion and kind", place)
                yield from self._unpacked(Manifest(beside, "$", document, place))

    def _unpacked(self, manifest: Manifest) -> Iterator[Manifest]:
        with _given_at(manifest.file, manifest.path, manifest.number):
            found = list(unpacked(manifest.document, manifest.path))
        for path, document in found:
            weight = self._weights.get(_name(document)) if _is_queue(document) else None
            if weight is not None:
                document = {**document, "spec": {**(document.get("spec") or {}), "weight": weight}}
            yield Manifest(manifest.file, path, document, manifest.number)

    def run(self) -> Play:
        until = self._scenario.until
        if until is None:
            self.cluster.run()
        else:
            self.cluster.run(until)
        return self._follower.result()

    def _happen(self, number: int, each: Happening, manifests: list[Manifest]) -> None:
        place = f"$.events[{number}]"
        for manifest in manifests:
            with _given_at(manifest.file, manifest.path, manifest.number):
                check_manifest(manifest.document)
                self.cluster.server.apply(manifest.document)
        if each.delete is not None:
            with _given_at(self._file, f"{place}.delete"):
                target = each.delete
                resource = self.cluster.server.served(target.api_version, target.kind)
                self.cluster.server.delete(resource, target.namespace, target.name)
        if each.scale is not None:
            with _given_at(self._file, f"{place}.scale"):
                scaled = each.scale
                resource = self.cluster.server.served(scaled.api_version, scaled.kind)
                change = {"spec": {"replicas": scaled.replicas}}
                self.cluster.server.patch(resource, scaled.namespace, scaled.name, change)
        if each.fail:
            with _given_at(self._file, f"{place}.fail"):
                self._mark(each.fail, "true")
        if each.recover:
            with _given_at(self._file, f"{place}.recover"):
                self._mark(each.recover, None)
        if each.restart:
            self.cluster.restart()
        if each.binds is not None:
            self._trouble.binds = each.binds
            self.cluster.bind_trouble = self._trouble

    def _mark(self, node: str, value: str | None) -> None:
        self.cluster.server.patch(NODES, "", node, {"metadata": {"annotations": {FAIL: value}}})


def _name(document: Document) -> str:
    metadata = document.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _is_queue(document: Document) -> bool:
    queues = authoring().queues
    return document.get("apiVersion") == queues.api_version and document.get("kind") == queues.kind


def _more(shapes: Sequence[Shape], count: int) -> list[Shape]:
    """More nodes of the kind of which there are most."""
    if not count:
        return []
    if not shapes:
        raise UsageError(
            "--nodes N adds nodes of the scenario's largest group, and it has none: give --nodes FILE"
        )
    return [msgspec.structs.replace(max(shapes, key=lambda shape: shape.count), name=_MORE, count=count)]


@contextmanager
def _given_at(file: YamlText, path: str, document: int = 0) -> Iterator[None]:
    """What is wrong inside is reported with the place in the file."""
    try:
        yield
    except (ApiError, UsageError) as error:
        raise file.error(path, " ".join(str(error).split()), document) from None
