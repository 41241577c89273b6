"""Kubelets that are started anew at any time go on as if they had never stopped."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.embedded.nodes.kubelets import simulated_kubelets
from podium.embedded.nodes.shapes import Shape
from podium.kube.changes import Patch
from podium.kube.resources import NODES, PODS
from podium.kube.times import parse_time
from tests.embedded.server import Document
from tests.embedded.world import World

SECONDS = st.integers(0, 25)


class Life(msgspec.Struct, frozen=True):
    """One pod, as it is made."""

    run_seconds: int | None
    exit_code: int | None
    policy: str
    deadline: int | None
    termination: int | None

    def annotations(self) -> dict[str, str]:
        orders = {
            "run-seconds": self.run_seconds,
            "exit-code": self.exit_code,
            "termination-seconds": self.termination,
        }
        return {f"podium.dev/{key}": str(value) for key, value in orders.items() if value is not None}


LIVES = st.builds(
    Life,
    run_seconds=st.none() | st.integers(0, 40),
    exit_code=st.none() | st.sampled_from((0, 1)),
    policy=st.sampled_from(("Always", "OnFailure", "Never")),
    deadline=st.none() | st.integers(1, 60),
    termination=st.none() | st.integers(0, 40),
)
# What users do, and how long they wait after it.
ACTS = st.tuples(
    st.sampled_from(("wait", "delete", "end", "longer", "fail", "heal", "finalize")), st.integers(0, 2), SECONDS
)


def play(lives: list[Life], acts: list[tuple[str, int, int]], restarts: list[int] | None) -> World:
    """The same story, with or without restarts of the kubelets between the acts."""
    world = World(lambda: simulated_kubelets(start_seconds=1.0, events=False))
    world.node(shape=Shape(cpu="2"))
    for number, life in enumerate(lives):
        more: dict[str, Any] = {}
        if life.deadline is not None:
            more["activeDeadlineSeconds"] = life.deadline
        world.pod(
            f"p{number}",
            requests={"cpu": "1"},
            annotations=life.annotations(),
            restartPolicy=life.policy,
            finalizers=["example.com/hold"],
            **more,
        )
    world.settle()
    for index, (act, number, seconds) in enumerate(acts):
        name = f"p{number}"
        if world.exists(name):
            perform(world, act, name)
        if restarts is not None and index in restarts:
            world.restart()
        world.pass_seconds(seconds)
        check(world)
    return world


def perform(world: World, act: str, name: str) -> None:
    match act:
        case "delete":
            world.delete(name)
        case "end":
            world.annotate(PODS, name, run_seconds=None, exit_code="0")
        case "longer":
            world.annotate(PODS, name, run_seconds="50")
        case "fail":
            world.annotate(NODES, "node-0", fail="true")
        case "heal":
            world.annotate(NODES, "node-0", fail=None)
        case "finalize":
            world.patch(PODS, name, {"metadata": {"finalizers": None}})


def check(world: World) -> None:
    """What must hold at any moment."""
    alive = [pod for pod in pods(world).values() if pod["status"]["phase"] in ("Running", "Pending")]
    begun = [pod for pod in alive if "startTime" in pod["status"]]
    assert len(begun) <= 2, "two CPUs, one for each"
    addresses = [pod["status"]["podIP"] for pod in begun if "podIP" in pod["status"]]
    assert len(addresses) == len(set(addresses))
    for pod in begun:
        for status in pod["status"].get("containerStatuses", ()):
            (state,) = status["state"]
            assert status["ready"] == (state == "running")
            last = status["lastState"].get("terminated")
            assert (last is not None) == (status["restartCount"] > 0 or state == "waiting") or state != "running"
            if last and state == "running":
                assert parse_time(status["state"]["running"]["startedAt"]) >= parse_time(last["finishedAt"])


def pods(world: World) -> dict[str, Document]:
    return {f"p{n}": world.get(PODS, f"p{n}") for n in range(3) if world.exists(f"p{n}")}


def story(world: World) -> dict[str, Document]:
    """Each pod's status, without the order of conditions and the address, which only has to be unique."""
    found = {}
    for name, pod in pods(world).items():
        conditions = {each["type"]: each for each in pod["status"].get("conditions", ())}
        found[name] = {**pod["status"], "conditions": conditions, "podIP": "", "podIPs": []}
    return found


@settings(max_examples=50, deadline=None)
@given(
    lives=st.lists(LIVES, min_size=1, max_size=3),
    acts=st.lists(ACTS, min_size=1, max_size=8),
    restarts=st.lists(st.integers(0, 7), max_size=8),
)
def test_a_restart_changes_nothing(
    lives: list[Life], acts: list[tuple[str, int, int]], restarts: list[int]
) -> None:
    assert story(play(lives, acts, restarts)) == story(play(lives, acts, None))


@settings(max_examples=40, deadline=None)
@given(life=LIVES, away=st.integers(0, 2000))
def test_nothing_happens_twice_after_a_time_away(life: Life, away: int) -> None:
    """However long nobody drove the pod, at most one run begins when somebody does again."""
    world = World(lambda: simulated_kubelets(events=False))
    world.node()
    world.pod(annotations=life.annotations(), restartPolicy=life.policy)
    world.settle()
    before = world.status()["containerStatuses"][0]["restartCount"]
    world.now += away
    world.restart()
    world.settle()
    after = world.status()["containerStatuses"][0]["restartCount"]
    assert after - before <= 1
    world.restart()
    world.writes.clear()
    world.settle()
    assert [change for change in world.writes if isinstance(change, Patch)] == []
