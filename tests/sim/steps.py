"""Scenarios in steps: each step's objects are applied while the scheduler is held, then it runs to rest.

The same steps are taken in virtual time and on a whole embedded cluster, and must end the same.  Timing must have
no say in that, so the scheduler works in rounds: it starts, lists everything, looks once and writes; then
controllers and kubelets do what follows.  It is at rest when a round has changed nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import yaml

from podium.cli.dialects import hooks, objects
from podium.core.profiles.profile import Profile, read_profile
from podium.dialects import DIALECTS
from podium.dialects.dialect import views_of
from podium.dialects.volcano.names import GROUP_NAME
from podium.dialects.volcano.workloads import job as volcano_job
from podium.dialects.workloads import Ask
from podium.embedded.cluster import EmbeddedCluster, Settings
from podium.embedded.identities import CountedIdentities
from podium.embedded.nodes.node_status import FAIL
from podium.embedded.nodes.shapes import Shape, node_documents
from podium.errors import ApiError
from podium.kube.changes import Change, Create, Delete, Patch
from podium.kube.client import Client
from podium.kube.http_client import HttpTransport
from podium.kube.kubeconfig import resolve
from podium.kube.pod_script import RUN_SECONDS
from podium.kube.resources import NODES, PODS, Resource
from podium.runtime.configuration import default_profiles
from podium.runtime.metrics import Metrics
from podium.runtime.reloading import Configuration
from podium.runtime.scheduling import SchedulerPart
from podium.sim.histories import population as p
from podium.sim.virtual import VirtualCluster

Document = dict[str, Any]
# By pod: where it is, its phase, and where it has been promised a place.
Picture = dict[str, tuple[str, str, str]]

HERE = Path(__file__).parent / "scenarios"
_MOST_ROUNDS = 15
_EARLY = 0.6  # of a second: what is left of it is enough for a step's writes
_SETTLED = 2.0  # seconds within which whatever follows from a round has happened
_KINDS = {
    "Pod": "v1",
    "Node": "v1",
    "PodGroup": "scheduling.volcano.sh/v1beta1",
    "Queue": "scheduling.volcano.sh/v1beta1",
}


class Target(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    name: str
    grace: int | None = None
    patch: Document = {}


class Step(msgspec.Struct, forbid_unknown_fields=True):
    """What users do, and what is known of the outcome beyond that both clusters agree."""

    queues: dict[str, Document] = {}
    budgets: dict[str, Document] = {}
    gangs: dict[str, Document] = {}
    vcjobs: dict[str, Document] = {}
    pods: dict[str, Document] = {}
    nodes: list[Shape] = []
    patch: list[Target] = []
    delete: list[Target] = []
    finish: list[str] = []
    fail: str = ""
    recover: str = ""
    expect: dict[str, str] = {}  # the node of a pod, "" for none
    placed: dict[str, int] = {}  # members of a gang that have a node
    bound: int | None = None  # pods that have a node
    gone: list[str] = []
    each: int | None = None  # how many pods each used node has
    spread: bool = False  # only how many a node has counts in `expect`


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    nodes: list[Shape]
    steps: list[Step]
    scheduler: str = "podium"
    config: Document | None = None

    @property
    def profiles(self) -> dict[str, Profile]:
        profiles = default_profiles()
        if self.config is not None:
            profiles[self.scheduler] = read_profile(self.config, self.name)
        return profiles


def scenarios() -> list[Scenario]:
    return [
        msgspec.convert(each, Scenario, strict=False)
        for path in sorted(HERE.glob("*.yaml"))
        for each in yaml.safe_load(path.read_text())
    ]


# --- a step as changes -------------------------------------------------------------------------------------------


def documents(step: Step, scheduler: str) -> list[Document]:
    """The objects of a step, those that others name first."""
    found = [p.queue(name, **spec) for name, spec in step.queues.items()]
    found += [p.budget(name, **spec) for name, spec in step.budgets.items()]
    for name, given in step.gangs.items():
        given = dict(given)
        members, minimum, subgroups = given.pop("members"), given.pop("min", None), given.pop("subgroups", None)
        made = p.gang(name, members, _ask(given, scheduler), minimum)
        if subgroups:
            made[0]["spec"]["subGroupPolicy"] = subgroups
        found += made
    for name, given in step.vcjobs.items():
        given = dict(given)
        found.append(volcano_job(name, given.pop("tasks"), _ask_last(given, scheduler), given.get("min")))
    for name, given in step.pods.items():
        given = dict(given)
        group = given.pop("group", "")
        found.append(p.pod(name, _ask(given, scheduler), **({GROUP_NAME: group} if group else {})))
    return found


def _ask_last(given: Document, scheduler: str) -> Ask:
    return _ask({key: value for key, value in given.items() if key != "min"}, scheduler)


def _ask(given: Document, scheduler: str) -> Ask:
    """Pods run until they are told to finish."""
    return msgspec.convert({"seconds": None, "scheduler": scheduler, **given}, Ask)


def changes(
    step: Step, scheduler: str, served: Callable[[str, str], Resource], now: float, known: int
) -> list[Change]:
    """A step as writes, in order.  `known` is how many nodes there have been."""
    found: list[Change] = []
    shapes = list(node_documents(step.nodes, now, {f"-{each}": f"10.{each}" for each in range(known)}))
    for document in (*shapes, *documents(step, scheduler)):
        resource = served(document["apiVersion"], document["kind"])
        found.append(Create(resource, "default" if resource.namespaced else "", document))
    for target in step.patch:
        resource = served(_KINDS[target.kind], target.kind)
        found.append(Patch(resource, "default" if resource.namespaced else "", target.name, target.patch))
    for target in step.delete:
        resource = served(_KINDS[target.kind], target.kind)
        found.append(Delete(resource, "default" if resource.namespaced else "", target.name, grace=target.grace))
    for name in step.finish:
        found.append(Patch(PODS, "default", name, {"metadata": {"annotations": {RUN_SECONDS: "0"}}}))
    for name, silent in ((step.fail, "true"), (step.recover, None)):
        if name:
            found.append(Patch(NODES, "", name, {"metadata": {"annotations": {FAIL: silent}}}))
    return found


def beginning(scenario: Scenario, now: float) -> list[Document]:
    return [*p.priority_classes(), *node_documents(scenario.nodes, now)]


# --- the two clusters --------------------------------------------------------------------------------------------


def play_virtually(scenario: Scenario) -> list[Picture]:
    """What stands after each step, in virtual time."""
    cluster = VirtualCluster(scenario.profiles, DIALECTS, turns=0)
    for document in beginning(scenario, cluster.now):
        cluster.server.apply(document)
    pictures = []
    for number, step in enumerate(scenario.steps):
        cluster.restart(turns=0)
        for change in changes(step, scenario.scheduler, cluster.server.served, cluster.now, 10 + number):
            cluster.server.carry_out(change)
        cluster.run(cluster.elapsed + _SETTLED)
        picture = _picture(cluster)
        for _ in range(_MOST_ROUNDS):
            cluster.restart(turns=1)
            cluster.run(cluster.elapsed + _SETTLED)
            before, picture = picture, _picture(cluster)
            if before == picture:
                break
        else:
            raise AssertionError(f"{scenario.name}: not at rest after {_MOST_ROUNDS} rounds")
        pictures.append(picture)
    return pictures


def _picture(cluster: VirtualCluster) -> Picture:
    found = {}
    for record in cluster.server.store.scan(PODS):
        found[record.name] = _seen(record.document())
    return found


def _seen(pod: Document) -> tuple[str, str, str]:
    status = pod.get("status") or {}
    leaving = "Leaving" if pod["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return pod["spec"].get("nodeName", ""), leaving, status.get("nominatedNodeName", "")


@asynccontextmanager
async def _embedded() -> AsyncIterator[tuple[EmbeddedCluster, HttpTransport]]:
    settings = Settings(
        in_memory=True,
        hooks=hooks(),
        objects=objects(),
        controllers=tuple(make() for dialect in DIALECTS for make in dialect.controllers),
        views=views_of(DIALECTS),
        identities=CountedIdentities(),
    )
    async with EmbeddedCluster(settings) as cluster:
        transport = HttpTransport(resolve(cluster.kubeconfig))
        try:
            yield cluster, transport
        finally:
            await transport.close()


async def play_embedded(scenario: Scenario, directory: Path) -> list[Picture]:
    """The same on a whole embedded cluster, with a scheduler that speaks to it over its socket."""
    config = None
    if scenario.config is not None:
        config = directory / f"{scenario.name.replace(' ', '-')}.yaml"
        config.write_text(yaml.safe_dump(scenario.config))
    async with _embedded() as (cluster, transport):
        client = Client(transport)

        def served(api_version: str, kind: str) -> Resource:
            found = cluster.api.registry.of_kind(api_version, kind)
            assert found is not None, kind
            return found.resource

        async def look_once() -> None:
            configuration = Configuration(config, (scenario.scheduler,))
            await SchedulerPart(transport, DIALECTS, configuration, Metrics()).run_once()
            await cluster.driver.idle(within=_SETTLED)

        for document in beginning(scenario, time.time()):
            resource = served(document["apiVersion"], document["kind"])
            await client.carry_out(Create(resource, "", document))
        pictures, second = [], 0
        for number, step in enumerate(scenario.steps):
            second = await _new_second(second)
            for change in changes(step, scenario.scheduler, served, time.time(), 10 + number):
                await _tolerant(client.carry_out(change))
            await cluster.driver.idle(within=_SETTLED)
            pictures.append(await _to_rest(scenario, client, look_once))
    return pictures


async def _new_second(last: int) -> int:
    """Objects know the second of their creation: those of a step are of one age, and younger than those before."""
    now = time.time()
    if int(now) == last or now % 1.0 > _EARLY:
        await asyncio.sleep(1.0 - now % 1.0 + 0.01)
    return int(time.time())


async def _tolerant(change: Awaitable[object]) -> None:
    """An object that is gone already need not be deleted."""
    try:
        await change
    except ApiError as error:
        if error.code != 404:
            raise


async def _to_rest(scenario: Scenario, client: Client, look_once: Callable[[], Awaitable[None]]) -> Picture:
    async def picture() -> Picture:
        return {pod["metadata"]["name"]: _seen(pod) for pod in await client.list(PODS, "default")}

    now = await picture()
    for _ in range(_MOST_ROUNDS):
        await look_once()
        before, now = now, await picture()
        if before == now:
            return now
    raise AssertionError(f"{scenario.name}: not at rest after {_MOST_ROUNDS} rounds")


def check(step: Step, picture: Mapping[str, tuple[str, str, str]]) -> None:
    """What a step says of its outcome by itself."""
    nodes = {name: node for name, (node, _, _) in picture.items()}
    if step.spread:
        assert sorted(nodes[name] for name in step.expect) == sorted(step.expect.values())
    else:
        assert {name: nodes.get(name) for name in step.expect} == step.expect
    for gang, count in step.placed.items():
        assert sum(bool(node) for name, node in nodes.items() if name.rpartition("-")[0] == gang) == count, gang
    if step.bound is not None:
        assert sum(map(bool, nodes.values())) == step.bound, nodes
    for name in step.gone:
        assert name not in picture
    if step.each is not None:
        used = [node for node in nodes.values() if node]
        assert {used.count(node) for node in used} == {step.each}, nodes
