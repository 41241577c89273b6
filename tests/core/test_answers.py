"""Plugins that answer nonsense: the gang they were asked about is refused with their name, and others go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.core.framework.answers import CHECKS
from podium.core.framework.hooks import HOOKS, Rule
from podium.core.framework.plugin import Placed, Plugin
from podium.core.model.decisions import Failure, Refuse
from podium.core.model.model import Gang, Phase, Task
from podium.core.plugins import BUILT_IN
from podium.numbers import Nothing
from podium.queue_reasons import QUEUE_LIMIT
from podium.reasons import Refusal
from tests.core.world import World, profile

NONSENSE: list[tuple[str, Any]] = [
    ("job_valid", "no"),
    ("job_valid", Refusal(QUEUE_LIMIT, Nothing())),
    ("job_valid", True),
    ("job_ready", None),
    ("job_enqueueable", None),
    ("job_enqueueable", "permit"),
    ("shortfall", "two"),
    ("allocatable", "no"),
    ("headroom", 1.5),
    ("pre_predicate", "no"),
    ("predicate", False),
    ("mask", None),
    ("mask", [True]),
    ("mask", np.ones(7, dtype=bool)),
    ("mask", np.ones(1)),
    ("mask_rows", np.ones(7, dtype=bool)),
    ("batch_predicate", np.ones(7, dtype=bool)),
    ("score", None),
    ("score", [0.0]),
    ("score", np.zeros(7)),
    ("score", np.full(1, np.nan)),
    ("score", np.full(1, np.inf)),
    ("score_rows", None),
    ("score_rows", [0.0]),
    ("score_rows", np.zeros((1, 1))),
    ("score_rows", np.full(1, -np.inf)),
    ("node_order", None),
    ("node_order", float("nan")),
    ("batch_node_order", np.zeros(7)),
    ("best_node", 7),
    ("best_node", "n"),
    ("signature", []),
]
# Orders concern two: a wrong answer counts as not minding, and is told.
DISORDER: list[tuple[str, Any]] = [
    ("job_order", None),
    ("job_order", float("nan")),
    ("task_order", "first"),
    ("queue_order", []),
]


def asked_about(about: object) -> str:
    if isinstance(about, Placed | Task):
        return about.gang.name
    return about.name if isinstance(about, Gang) else ""


def answering(hook: str, answer: Any, always: bool) -> type[Plugin]:
    """A plugin that gives an answer when it is asked about the bad gang, or always; else a good one."""

    def asked(self: Plugin, *about: object) -> Any:
        if always or any(asked_about(each) == "bad" for each in about):
            return answer
        return _fine(hook, about)

    def kind(self: Plugin, task: Task) -> str:
        return task.gang.name

    return type("Nonsense", (Plugin,), {"name": "nonsense", "signature": kind, hook: asked})


def _fine(hook: str, about: tuple[Any, ...]) -> Any:
    return {
        "job_ready": True,
        "job_enqueueable": 0,
        "shortfall": 1,
        "mask": np.ones(1, dtype=bool),
        "batch_predicate": np.ones(1, dtype=bool),
        "score": np.zeros(1),
        "node_order": 0.0,
        "batch_node_order": np.zeros(1),
        "job_order": 0,
        "task_order": 0,
        "queue_order": 0,
        "kind": "",
    }.get(hook)


def play(monkeypatch: pytest.MonkeyPatch, plugin: type[Plugin]) -> World:
    world = World()
    world.node("n")
    for created, name in enumerate(("bad", "good")):
        gang = world.gang(name, minimum=2, created=created, phase=Phase.PENDING, minimum_resources={"cpu": 2000})
        for index in range(2):
            world.task(f"{name}-{index}", gang=gang)
    monkeypatch.setitem(BUILT_IN, "nonsense", plugin)
    world.run(profile(["gang", "nonsense"], ["predicates"], actions="enqueue, allocate, backfill"), failing=True)
    world.cluster.validate()
    return world


def shared(hook: str) -> bool:
    """Whether a hook does not say which gang it is about."""
    return hook in ("mask_rows", "score_rows", "headroom")


@pytest.mark.parametrize(("hook", "answer"), NONSENSE, ids=str)
def test_nonsense_is_refused_with_the_plugins_name(
    monkeypatch: pytest.MonkeyPatch, hook: str, answer: Any
) -> None:
    extra = {"headroom": "allocatable", "shortfall": "job_ready"}.get(hook)
    plugin = answering(hook, answer, always=shared(hook))
    if extra is not None:
        setattr(plugin, extra, lambda self, *about: None if extra == "allocatable" else True)
    world = play(monkeypatch, plugin)
    refused = {
        each.gang.removeprefix("ns/"): str(each.refusal) for each in world.decisions if isinstance(each, Refuse)
    }
    assert refused["bad"].startswith(f"plugin nonsense, asked for {hook}, failed: wrong answer: want ")
    if shared(hook):
        assert set(refused) == {"bad", "good"}
    else:
        assert set(world.placed) == {"good-0", "good-1"}


@pytest.mark.parametrize(("hook", "answer"), DISORDER, ids=str)
def test_an_order_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, hook: str, answer: Any) -> None:
    world = play(monkeypatch, answering(hook, answer, always=True))
    if hook == "queue_order":
        return  # one queue: there is nothing to compare
    (failure,) = [each for each in world.decisions if isinstance(each, Failure)]
    assert failure.who == f"plugin nonsense, asked for {hook},"
    assert set(world.placed) == {"bad-0", "bad-1", "good-0", "good-1"}


def test_every_hook_that_built_in_actions_ask_is_checked() -> None:
    silent = {
        name for name, hook in HOOKS.items() if hook.rule is Rule.NOTIFIED and name not in ("signature", "applies")
    }
    asked = {name for name, hook in HOOKS.items() if hook.asked_by}
    assert asked - silent <= CHECKS.keys()


def test_victims_must_be_of_those_that_were_asked_about() -> None:
    check = CHECKS["preemptable"]
    assert check("all", [None, []], 1) is not None
    assert check(None, [None, []], 1) is not None
    assert check([], [None, []], 1) is None
    world = World()
    world.node("n")
    one, other = world.task("a"), world.task("b")
    assert check([one], [None, [one]], 1) is None
    assert check([other], [None, [one]], 1) is not None


def test_a_refusal_without_its_facts_can_be_printed() -> None:
    assert str(Refusal(QUEUE_LIMIT, Nothing())) == QUEUE_LIMIT.sentence
