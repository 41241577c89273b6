"""A plugin or action that raises: its gang is refused with its name, others go on, nothing is left half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.framework.action import Action
from podium.core.framework.plugin import Placed, Plugin, Vote
from podium.core.framework.session import Session
from podium.core.model.decisions import Failure
from podium.core.model.model import Gang, Phase, State, Task
from podium.core.plugins import BUILT_IN
from tests.core.world import World, profile

# What a hook says of what is not bad.
FINE: dict[str, Any] = {
    "job_ready": True,
    "job_enqueueable": Vote.ABSTAIN,
    "mask": np.ones(1, dtype=bool),
    "score": np.zeros(1),
    "job_order": 0,
    "task_order": 0,
    "node_order": 0.0,
    "shortfall": 0,
    "job_key": 0.0,
    "task_key": 0.0,
    "job_starving": True,
    "preemptable": [],
}
TOLD = "ValueError: no idea what to say"


def bad(about: object) -> bool:
    """Whether a question is about the bad gang or one of its tasks."""
    if isinstance(about, Placed | Task):
        return bad(about.gang)
    return isinstance(about, Gang) and about.name == "bad"


def broken(*hooks: str, always: bool = False) -> type[Plugin]:
    """A plugin that raises in some hooks, when they are about the bad gang, or always."""

    def method(hook: str) -> Any:
        def asked(self: Plugin, *about: object) -> Any:
            if always or any(bad(each) for each in about):
                raise ValueError("no idea\n  what to say")
            return FINE.get(hook)

        asked.__code__ = asked.__code__.replace(co_name=hook)
        return asked

    return type(
        "Broken", (Plugin,), {"name": "broken", "signature": _kind, **{hook: method(hook) for hook in hooks}}
    )


def _kind(self: Plugin, task: Task) -> str:
    return task.gang.name  # so that what is said of one gang's kind does not stand for the other's


def build() -> World:
    """Two gangs of two: a bad one, which is older, and a good one."""
    world = World()
    world.node("n")
    for created, name in enumerate(("bad", "good")):
        gang = world.gang(name, minimum=2, created=created, phase=Phase.PENDING, minimum_resources={"cpu": 2000})
        for index in range(2):
            world.task(f"{name}-{index}", gang=gang)
    return world


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(world: World, plugin: type[Plugin], actions: str = "enqueue, allocate, backfill") -> World:
        monkeypatch.setitem(BUILT_IN, "broken", plugin)
        world.run(profile(["gang", "broken"], ["predicates"], actions=actions), failing=True)
        world.cluster.validate()
        return world

    return run


def failures(world: World) -> list[tuple[str, str]]:
    return [(each.who, each.error) for each in world.decisions if isinstance(each, Failure)]


@pytest.mark.parametrize(
    "hook",
    [
        *("job_valid", "job_enqueueable", "job_enqueued", "job_ready", "allocatable", "on_allocate"),
        *("pre_predicate", "mask", "score", "predicate", "node_order"),
    ],
)
def test_the_gang_it_is_about_is_refused_and_the_other_is_placed(hook: str, use: Any) -> None:
    world = use(build(), broken(hook))
    assert set(world.placed) == {"good-0", "good-1"}
    assert world.refusal("bad").startswith(f"plugin broken, asked for {hook}, failed: {TOLD}")
    assert failures(world) == [(f"plugin broken, asked for {hook},", TOLD)]


@pytest.mark.parametrize(
    "hooks", [["job_order"], ["task_order"], ["job_order", "job_key"], ["task_order", "task_key"]]
)
def test_an_order_that_fails_does_not_mind(hooks: list[str], use: Any) -> None:
    world = use(build(), broken(*hooks))
    assert len(world.placed) == 4
    assert failures(world) == [(f"plugin broken, asked for {hooks[-1]},", TOLD)]


def test_a_place_is_given_back_whoever_fails_to_take_note(use: Any) -> None:
    world = build()
    for index in range(2, 40):
        world.task(f"bad-{index}", gang="ns/bad", cpu=9000)
    world.gang("bad", minimum=40, phase=Phase.INQUEUE)  # some will be placed and taken back
    use(world, broken("on_deallocate"))
    assert set(world.placed) == {"good-0", "good-1"}
    assert failures(world) == [("plugin broken, asked for on_deallocate,", TOLD)]


@pytest.mark.parametrize("hook", ["on_session_open", "queue_order", "overused"])
def test_what_is_about_everything(hook: str, use: Any) -> None:
    """A turn without the plugin that knows the limits decides nothing; an order is only an order."""
    world = build()
    world.queue("other")
    world.task("alone", queue="other")
    use(world, broken(hook, always=True))
    assert len(world.placed) == (5 if hook == "queue_order" else 0)
    assert failures(world) == [(f"plugin broken, asked for {hook},", TOLD)]
    if hook == "on_session_open":
        assert "asked for on_session_open, failed" in world.refusal("good")


def test_the_end_of_a_turn_is_reached(use: Any) -> None:
    world = use(build(), broken("on_session_close", always=True))
    assert len(world.placed) == 4
    assert failures(world) == [("plugin broken, asked for on_session_close,", TOLD)]


@pytest.mark.parametrize(
    ("action", "hook"),
    [
        *((action, "preemptable") for action in ("preempt", "gangpreempt")),
        *((action, "reclaimable") for action in ("reclaim", "gangreclaim")),
        *((action, "on_allocate") for action in ("preempt", "reclaim", "gangpreempt", "gangreclaim")),
        *((action, "job_starving") for action in ("preempt", "reclaim", "gangpreempt", "gangreclaim")),
    ],
)
def test_evictions_are_undone(action: str, hook: str, use: Any) -> None:
    world = World()
    world.node("n", cpu=1000)
    world.queue("other")
    world.task("victim", at="n", queue="q" if "preempt" in action else "other")
    gang = world.gang("bad", minimum=1, priority=9)
    world.task("bad-0", gang=gang)
    use(world, broken(hook), actions=action)
    assert world.evicted == set()
    assert world.cluster.tasks["ns/victim"].state is State.RUNNING


class Careless(Action):
    """Changes something and then raises."""

    name = "careless"

    def run(self, session: Session) -> None:
        gang = next(gang for gang in session.own if gang.name == "good")
        task = next(iter(gang.tasks.values()))
        session.statement().place([task], [0])
        raise RuntimeError


def test_an_action_that_fails_ends_and_the_next_begins_with_what_it_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ACTIONS, "careless", Careless)
    world = build()
    world.task("large", cpu=90_000)
    world.run(profile(["gang"], ["predicates"], actions="careless, enqueue, allocate"), failing=True)
    assert len(world.placed) == 4
    assert "needs 90 cpu, and the cluster has 10 in all" in world.refusal("large")
    assert failures(world) == [("action careless", "RuntimeError")]


def test_what_still_waits_after_an_action_has_failed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACTIONS, "careless", Careless)
    world = build().run(profile(["gang"], ["predicates"], actions="enqueue, careless"), failing=True)
    assert world.placed == {}
    assert world.refusal("good") == "action careless failed: RuntimeError"


def test_the_trace_is_kept_for_the_log(use: Any) -> None:
    world = use(build(), broken("job_valid"))
    trace = next(each.trace for each in world.decisions if isinstance(each, Failure))
    assert "Traceback" in trace
    assert "no idea\n  what to say" in trace


def test_gangs_that_are_tried_together_are_undone_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found for one is given back when another one, that it starts with, cannot be asked about."""
    monkeypatch.setitem(BUILT_IN, "broken", broken("mask"))
    world = World()
    world.node("n")
    for created, name in enumerate(("good", "bad")):
        gang = world.gang(name, created=float(created), together=("ns/good", "ns/bad"))
        world.task(f"{name}-task", gang=gang)
    world.run(profile(["gang"], ["predicates", "broken"]), failing=True)
    assert world.placed == {}
    assert {(task.state, task.row) for task in world.cluster.tasks.values()} == {(State.PENDING, -1)}
