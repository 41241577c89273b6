"""The test of the interface: a dialect that is one module and one line lives everywhere that podium does."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from podium.cli.cluster import cluster_settings
from podium.cli.main import podium
from podium.cli.progress import observe
from podium.dialects.dialect import State
from podium.dialects.volcano.names import QUEUE_NAME
from podium.dialects.workloads import Ask, template
from podium.embedded.cluster import EmbeddedCluster
from podium.embedded.nodes.shapes import Shape
from podium.kube.client import Client
from podium.kube.resources import PODS
from podium.runtime.configuration import embedded_profiles
from podium.sim.histories import population
from podium.sim.histories.faults import FAULTS
from podium.sim.histories.run import run_history
from podium.sim.scenario import play, read_scenario
from tests.dialects import toy

SEEDS = range(200 if os.environ.get("PODIUM_SOAK") else 5)
PATIENCE = 20.0


@pytest.fixture(autouse=True)
def spoken() -> Iterator[None]:
    with toy.registered():
        yield


@pytest.mark.parametrize("number", FAULTS)
def test_it_lives_through_every_fault(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mostly teams, of all manners: places before pods, places that are held, partners, and those that grow."""
    kinds = population.workloads()
    teams = dict.fromkeys(("team", "crew", "squad"), kinds["team"])
    monkeypatch.setattr(population, "workloads", lambda: {**teams, "pod": kinds["pod"], "group": kinds["group"]})
    profiles = embedded_profiles()
    failed = [result for seed in SEEDS if (result := run_history(number, seed, profiles)).violation]
    assert not failed, "\n".join(f"seed {each.seed}: {each.violation}" for each in failed)


def test_teams_of_every_manner_in_a_scenario(tmp_path: Path) -> None:
    """Places before pods, places that are held, partners that start together, and a team that grows."""
    ask = template(Ask(cpu=1, seconds=60, scheduler=toy.SCHEDULER))
    wide = template(Ask(cpu=4, seconds=60, scheduler=toy.SCHEDULER))
    apply = [
        toy.team("placed", ask, count=2, minimum=2, reserve=True),
        toy.team("grown", ask, count=1, minimum=1, most=3),
        toy.team("one", ask, count=1, minimum=1, partners=["other"]),
        toy.team("patient", wide, count=2, minimum=2, patient=True),
        toy.pool("rich", 0, "m-000"),
        toy.team("rich", wide, count=1, minimum=1, pool="rich"),
    ]
    events = [
        {"at": 0, "apply": apply},
        {"at": 200, "apply": [toy.team("other", ask, count=1, minimum=1, partners=["one"])]},
    ]
    nodes = [{"name": "n", "count": 1, "cpu": 10}, {"name": "m", "count": 1, "cpu": 4}]
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump({"nodes": nodes, "events": events}))
    result = play(read_scenario(path), path, embedded_profiles())
    started: dict[str, list[int]] = {}
    for pod in result.pods:
        assert pod.phase == "Succeeded", pod
        started.setdefault(pod.name.rpartition("-")[0], []).append(round(pod.started))
    assert {name: len(each) for name, each in started.items()} == {
        "placed": 2, "grown": 3, "one": 1, "other": 1, "patient": 2, "rich": 1,
    }  # fmt: skip
    assert min(started["one"]) == min(started["other"]) >= 200, "they start together"
    assert len(set(started["patient"])) == 1
    first, second, third = sorted(started["grown"])
    assert first < second < third
    assert {pod.node for pod in result.pods if pod.name.startswith("rich")} == {"m-000"}
    assert "m-000" not in {pod.node for pod in result.pods if not pod.name.startswith("rich")}


def test_its_objects_can_be_in_a_scenario(tmp_path: Path) -> None:
    """Two teams of a pool that holds one of them at a time; the pool's limit is all that keeps them apart."""
    teams = [
        toy.team(name, template(Ask(seconds=60, scheduler=toy.SCHEDULER)), count=2, minimum=2, pool="narrow")
        for name in ("first", "second")
    ]
    events = [{"at": 0, "apply": [toy.pool("narrow", 3), *teams]}]
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump({"nodes": [{"name": "n", "count": 1, "cpu": 16}], "events": events}))
    result = play(read_scenario(path), path, embedded_profiles())
    assert [pod.phase for pod in result.pods] == ["Succeeded"] * 4
    starts = sorted((pod.name.rpartition("-")[0], round(pod.started)) for pod in result.pods)
    assert Counter(name for name, _ in starts) == {"first": 2, "second": 2}
    first, second = {at for name, at in starts if name == "first"}, {at for name, at in starts if name == "second"}
    assert len(first) == len(second) == 1
    assert abs(first.pop() - second.pop()) >= 60


def test_its_definitions_are_printed() -> None:
    printed = CliRunner().invoke(podium, ["crds", "--dialect", "toy"])
    names = [document["metadata"]["name"] for document in yaml.safe_load_all(printed.output)]
    assert names == ["teams.toy.example.com", "pools.toy.example.com"]


async def test_it_runs_on_an_embedded_cluster() -> None:
    """A team in a pool, one that waits for the pool, and one in a queue of another dialect."""
    settings = cluster_settings(nodes=(Shape(count=2, cpu=16),), in_memory=True)
    pattern = template(Ask(seconds=None, scheduler=toy.SCHEDULER))
    async with EmbeddedCluster(settings) as cluster:
        client = Client(cluster.transport)
        await client.create(toy.POOLS, "", toy.pool("narrow", 3))
        lent = toy.team("lent", pattern, count=2, minimum=2)
        lent["metadata"]["annotations"] = {QUEUE_NAME: "default"}
        for each in (
            toy.team("first", pattern, count=2, minimum=2, pool="narrow"),
            toy.team("second", pattern, count=2, minimum=2, pool="narrow"),
            lent,
        ):
            await client.create(toy.TEAMS, "default", each)
        placed = await _placed(client, 4)
        assert placed["lent"] == 2
        (late,) = {"first", "second"} - placed.keys()  # three CPUs are not enough for both
        pods = await client.list(PODS, "default")
        (waiting,) = (each for each in pods if each["metadata"]["name"] == f"{late}-0")
        (reported,) = (each for each in waiting["status"]["conditions"] if each["type"] == "PodScheduled")
        assert "narrow" in reported["message"]
        picture = await observe(client, [(toy.TEAMS, late)])
        assert [(each.state, each.message) for each in picture.workloads] == [
            (State.GOING, "0 of 2 have done their work")
        ]


async def _placed(client: Client, count: int) -> Counter[str]:
    """The pods that have a node, by team, once there are so many."""
    end = time.monotonic() + PATIENCE
    while True:
        pods = [each for each in await client.list(PODS, "default") if each["spec"].get("nodeName")]
        if len(pods) >= count or time.monotonic() > end:
            return Counter(each["metadata"]["name"].rpartition("-")[0] for each in pods)
        await asyncio.sleep(0.1)
