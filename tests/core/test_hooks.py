"""The table of hooks: complete, combined by their rules, and open to actions with hooks of their own."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.framework.action import Action
from podium.core.framework.hooks import HOOKS, SWITCHES, Hook, Rule, combine
from podium.core.framework.plugin import Plugin, Vote
from podium.core.framework.session import Session
from podium.core.model.model import Queue, Task
from podium.core.plugins import BUILT_IN
from podium.reasons import PLUGIN, Refusal, refuse
from tests.core.world import NOW, World, profile

# Every flag that Volcano's configuration file has, today or in 1.1.
VOLCANO_SWITCHES = (
    "enableJobOrder",
    "enableHierarchy",
    "enableJobReady",
    "enableJobPipelined",
    "enableTaskOrder",
    "enablePreemptable",
    "enableReclaimable",
    "enablePreemptive",
    "enableQueueOrder",
    "enabledClusterOrder",
    "enablePredicate",
    "enableBestNode",
    "enableNodeOrder",
    "enableTargetJob",
    "enableReservedNodes",
    "enableJobEnqueued",
    "enabledVictim",
    "enableJobStarving",
    "enabledOverused",
    "enabledAllocatable",
    "enabledHyperNodeOrder",
    "enabledSubJobReady",
    "enabledSubJobPipelined",
    "enabledSubJobOrder",
    "enabledHyperNodeGradient",
    "enableNamespaceOrder",
)

# Methods of the base class that are no questions.
_HELPERS = {"has", "node_order_maximum", "orders_plainly"}


def test_every_method_of_the_base_class_is_in_the_table_and_documented() -> None:
    methods = {name for name in vars(Plugin) if not name.startswith("_") and name.islower()} - {"name"} - _HELPERS
    assert methods == set(HOOKS)
    for name in methods:
        assert inspect.getdoc(getattr(Plugin, name)), name


def test_every_switch_of_volcano_is_known() -> None:
    assert set(VOLCANO_SWITCHES) == SWITCHES


class Voice:
    """Answers whatever it is asked with what it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def speak(self, *_: Any) -> Any:
        return self.answer


class Thing:
    def __init__(self, id: str) -> None:
        self.id = id

    def __repr__(self) -> str:
        return self.id


A, B, C = Thing("a"), Thing("b"), Thing("c")
NO, PERHAPS, YES = Vote.REJECT, Vote.ABSTAIN, Vote.PERMIT


@pytest.mark.parametrize(
    ("rule", "tiers", "expected"),
    [
        (Rule.NOTIFIED, [[1]], None),
        (Rule.FIRST, [[0, 2], [3]], 2),
        (Rule.FIRST, [[None], [0]], None),
        (Rule.FIRST, [], None),
        (Rule.ALL, [[True], [True]], True),
        (Rule.ALL, [[True], [False]], False),
        (Rule.ALL, [], True),
        (Rule.ANY, [[False], [True]], True),
        (Rule.ANY, [], False),
        (Rule.VOTES, [[PERHAPS, YES], [NO]], True),
        (Rule.VOTES, [[YES, NO]], False),
        (Rule.VOTES, [[PERHAPS], [NO]], False),
        (Rule.VOTES, [[PERHAPS]], True),
        (Rule.VOTES, [], True),
        (Rule.STARVING, [[True, False], [True]], False),
        (Rule.STARVING, [[True], [False]], True),
        (Rule.STARVING, [], False),
        (Rule.COMMON, [[[A, B], [B, C]], [[C]]], [B]),
        (Rule.COMMON, [[[A], [B]], [[C]]], [C]),
        (Rule.COMMON, [[[], [B]]], []),
        (Rule.UNION, [[[A], [B, A]], [[C]]], [A, B]),
        (Rule.UNION, [[[], []], [[C]]], [C]),
        (Rule.SUM, [[1.5, 2], [3]], 6.5),
        (Rule.SUM, [], 0),
        (Rule.BATCH, [[7], [3]], 3),
        (Rule.BATCH, [], None),
    ],
)
def test_rules(rule: Rule, tiers: Sequence[Sequence[Any]], expected: Any) -> None:
    voices: Any = [[Voice(answer) for answer in tier] for tier in tiers]
    assert combine(Hook("speak", rule), voices, ("anything",)) == expected


# --- an action with a hook of its own ----------------------------------------------------------------------------

WORTH = Hook("task_worth", Rule.SUM, "enableTaskWorth", "auction")


class Auction(Action):
    """Evicts what is worth least, by what plugins think of it."""

    name = "auction"
    HOOKS = (WORTH,)

    def run(self, session: Session) -> None:
        running = [task for task in session.cluster.tasks.values() if task.row >= 0]
        cheapest = min(running, key=lambda task: session.ask(WORTH, task))
        statement = session.statement()
        statement.evict(cheapest, "the cheapest")
        statement.commit()


class Appraiser(Plugin):
    name = "appraiser"
    worth: ClassVar[dict[str, float]] = {"a": 3, "b": 1, "c": 2}

    def task_worth(self, task: Task) -> float:
        return self.worth[task.name]


class Contrarian(Appraiser):
    name = "contrarian"
    worth: ClassVar[dict[str, float]] = {"a": 1, "b": 5, "c": 1}


@pytest.fixture
def auction(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setitem(ACTIONS, "auction", Auction)
    for plugin in (Appraiser, Contrarian):
        monkeypatch.setitem(BUILT_IN, plugin.name, plugin)
    world = World()
    world.node("n")
    for name in "abc":
        world.task(name, at="n")
    return world


@pytest.mark.parametrize(
    ("plugins", "gone"),
    [
        (["appraiser"], "b"),
        (["appraiser", "contrarian"], "c"),
        (["appraiser", {"name": "contrarian", "enableTaskWorth": False}], "b"),
        (["gang"], "a"),
    ],
)
def test_an_action_asks_a_hook_that_nobody_else_knows(auction: World, plugins: list[Any], gone: str) -> None:
    by = profile(plugins, actions="auction")
    assert by.warnings == ()
    assert auction.run(by).evicted == {gone}


def test_a_switch_of_an_action_that_is_not_in_the_profile_is_unknown(auction: World) -> None:
    by = profile([{"name": "appraiser", "enableTaskWorth": False}])
    assert by.warnings == (
        "the configuration: tiers[0].plugins[0].enableTaskWorth: unknown switch, did you mean enableTaskOrder",
    )


class Chooser(Plugin):
    """Has an opinion on what no built-in action asks yet."""

    name = "chooser"

    def cluster_order(self, left: str, right: str) -> float:
        return -1 if left > right else 1

    def victim_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        return list(tasks[:1])

    def target_job(self, gangs: Sequence[Any]) -> Any:
        return gangs[-1]

    def reserved_nodes(self) -> None:
        raise StopAsyncIteration  # to be seen to have been asked

    def hyper_node_order(self, group: Any, nodes: Sequence[str]) -> Any:
        return float(len(nodes))

    def hyper_node_gradient(self, group: Any, within: str) -> Any:
        return [["rack-1"], [within]]


@pytest.mark.parametrize(
    ("hook", "arguments", "on", "off"),
    [
        pytest.param(
            *("cluster_order", ("a", "b"), 1, None), marks=pytest.mark.argument("switch", "enabledClusterOrder")
        ),
        pytest.param(*("victim_tasks", ([A, B],), [A], []), marks=pytest.mark.argument("switch", "enabledVictim")),
        pytest.param(
            *("target_job", (["old", "new"],), "new", None),
            marks=pytest.mark.argument("switch", "enableTargetJob"),
        ),
        pytest.param(
            *("hyper_node_order", (None, ["a", "b"]), 2.0, 0),
            marks=pytest.mark.argument("switch", "enabledHyperNodeOrder"),
        ),
        pytest.param(
            *("hyper_node_gradient", (None, "all"), [["rack-1"], ["all"]], None),
            marks=pytest.mark.argument("switch", "enabledHyperNodeGradient"),
        ),
    ],
)
def test_hooks_for_actions_to_come_can_be_asked(
    hook: str, arguments: Sequence[Any], on: Any, off: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILT_IN, "chooser", Chooser)
    session = World().session(profile(["chooser", "gang"]))
    assert session.ask(HOOKS[hook], *arguments) == on
    silent = World().session(profile([{"name": "chooser", HOOKS[hook].switch: False}, "gang"]))
    assert silent.ask(HOOKS[hook], *arguments) == off


@pytest.mark.argument("switch", "enableReservedNodes")
def test_nodes_can_be_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN, "chooser", Chooser)
    hook = HOOKS["reserved_nodes"]
    with pytest.raises(StopAsyncIteration):
        World().session(profile(["chooser"])).ask(hook)
    assert World().session(profile([{"name": "chooser", "enableReservedNodes": False}])).ask(hook) is None


# --- the journal -------------------------------------------------------------------------------------------------


class Slow(Plugin):
    """One hook without a batch form at a time."""

    name = "slow"
    hook: ClassVar[str] = ""

    def has(self, hook: str) -> bool:
        return hook == self.hook and super().has(hook)

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        return None

    def job_ready(self, gang: Any) -> bool:
        return True

    def predicate(self, task: Task, row: int) -> Refusal | None:
        return refuse(PLUGIN, plugin=self.name, message="not here") if row == 0 else None

    def best_node(self, task: Task, rows: Any, scores: Any) -> int | None:
        return None


@pytest.mark.parametrize(
    ("hook", "path"),
    [
        ("", "batch"),
        ("predicate", "node by node: slow.predicate"),
        ("best_node", "one by one: slow.best_node"),
        ("allocatable", "one by one: slow.allocatable"),
        ("job_ready", "one by one: slow.job_ready"),
    ],
)
def test_the_journal_says_which_hook_made_a_gang_slow(
    hook: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILT_IN, "slow", Slow)
    monkeypatch.setattr(Slow, "hook", hook)
    world = World()
    for name in "abc":
        world.node(name)
    gang = world.gang("g", minimum=3)
    for index in range(3):
        world.task(f"g-{index}", gang=gang)
    by = profile(["gang", "slow"], ["nodeorder"])
    session = world.session(by)
    for action in by.actions:
        for _ in session.steps(action):
            pass
    assert dict(session.paths.items()) == {gang: path}


def test_an_order_and_its_key_say_the_same() -> None:
    """A panel asks for keys where all plugins have one, and for the order of two where one has none."""
    world = World()
    world.node("n")
    for index, (running, minimum) in enumerate([(0, 1), (1, 1), (2, 3), (3, 1)]):
        gang = world.gang(f"g{index}", minimum=minimum, priority=index % 2, created=float(-index))
        for number in range(running):
            world.task(f"g{index}-{number}", gang=gang, at="n")
        world.task(f"g{index}-waits", gang=gang)
    asked = 0
    for name, plugin in BUILT_IN.items():
        if "job_key" not in vars(plugin) or "job_order" not in vars(plugin):
            continue
        tiers = profile([name]).plugins()
        Session(world.cluster, tiers, NOW)
        (enabled,) = tiers[0]
        gangs = list(world.cluster.gangs.values())
        for left in gangs:
            for right in gangs:
                one, other = enabled.plugin.job_key(left), enabled.plugin.job_key(right)
                order = enabled.plugin.job_order(left, right)
                assert (order > 0) - (order < 0) == (one > other) - (one < other), name
                asked += 1
    assert asked
