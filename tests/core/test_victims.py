"""Who has to go: the order of victims, dry runs, budgets, fresh tasks, and whole gangs."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.framework.plugin import Plugin
from podium.core.framework.session import Session
from podium.core.model.constraints import Constraints, Port
from podium.core.model.model import State, Task
from podium.core.plugins import BUILT_IN
from podium.core.profiles.profile import Profile
from podium.reasons import PLUGIN, Refusal, refuse
from tests.core.world import GIB, HOST, NOW, World, near, profile

PLUGINS = ["conformance", "gang", "priority", "predicates", "nodeorder"]


def preempt(**arguments: Any) -> Profile:
    return profile(PLUGINS, actions="preempt", arguments={"preempt": arguments})


def dry_run(**arguments: Any) -> Profile:
    return preempt(enableTopologyAwarePreemption=True, **arguments)


def reclaim(*more: str, **arguments: Any) -> Profile:
    return profile(
        ["gang", "proportion", "predicates", *more], actions="reclaim", arguments={"reclaim": arguments}
    )


def victim(world: World, name: str, at: str, **more: Any) -> Task:
    """A running task that its gang can spare."""
    return world.task(name, at=at, **more)


# --- plain preemption ------------------------------------------------------------------------------------------


def test_the_best_node_is_taken_and_no_more_go_than_needed() -> None:
    world = World()
    for name in "ab":
        world.node(name, cpu=4000)
        for index in range(4):
            victim(world, f"{name}-{index}", name, gang_priority=index)
    world.task("t", cpu=2000, gang_priority=10)
    world.run(preempt())
    assert world.evicted == {"a-0", "a-1"}
    assert world.promised == {"t": "a"}


def test_rows_where_even_all_victims_would_not_do_are_left_alone() -> None:
    world = World()
    world.node("a", cpu=1000)
    world.node("b", cpu=3000)
    victim(world, "small", "a")
    victim(world, "one", "b")
    victim(world, "two", "b", cpu=2000)
    world.task("t", cpu=3000, gang_priority=10)
    world.run(preempt())
    assert world.evicted == {"one", "two"}


def test_a_gang_preempts_for_all_of_its_minimum_or_for_nothing() -> None:
    world = World()
    for name in "ab":
        world.node(name, cpu=1000)
        victim(world, name, name)
    gang = world.gang("g", minimum=3, priority=10)
    for index in range(3):
        world.task(f"g-{index}", gang=gang)
    assert world.run(preempt()).evicted == set()
    world.node("c", cpu=1000)
    victim(world, "c", "c")
    assert world.run(preempt()).evicted == {"a", "b", "c"}


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
@pytest.mark.parametrize("state", [State.BINDING, State.BOUND, State.RUNNING, State.RELEASING])
def test_victims_have_been_bound_and_for_reclaim_run(action: str, state: State) -> None:
    world = World()
    world.node("a", cpu=2000)
    world.queue("other")
    for index in range(2):
        world.task(f"v-{index}", at="a", state=state, queue="q" if "preempt" in action else "other")
    world.task("t", gang_priority=10)
    plugins = ["gang", "predicates", "priority" if "preempt" in action else "proportion"]
    world.run(profile(plugins, actions=action))
    possible = {State.RUNNING} if action == "reclaim" else {State.BOUND, State.RUNNING}
    assert len(world.evicted) == int(state in possible)


def test_a_port_is_freed_by_its_holder() -> None:
    world = World()
    world.node("a")
    victim(world, "holder", "a", priority=5, wanted=Constraints(ports=(Port(80),)))
    victim(world, "other", "a", priority=1)
    world.task("t", Constraints(ports=(Port(80),)), gang_priority=10)
    world.run(dry_run())
    assert world.evicted == {"holder"}


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
@pytest.mark.parametrize(("minimum", "evicted"), [("1m", {"older"}), ("", {"recent"}), ("1h", set())])
@pytest.mark.argument("preempt", "minRuntime")
@pytest.mark.argument("reclaim", "minRuntime")
@pytest.mark.argument("gangpreempt", "minRuntime")
@pytest.mark.argument("gangreclaim", "minRuntime")
def test_min_runtime_protects_fresh_victims(action: str, minimum: str, evicted: set[str]) -> None:
    world = World()
    world.node("a", cpu=1000)
    world.node("b", cpu=1000)
    world.queue("other")
    queue = "other" if "reclaim" in action else "q"
    world.task("recent", at="a", queue=queue, started=NOW - 30)
    world.task("older", at="b", queue=queue, started=NOW - 300)
    world.task("t", gang_priority=10)
    plugins = ["gang", "priority", "predicates", *(["proportion"] if "reclaim" in action else [])]
    reported = {"minRuntime": minimum} if minimum else {}
    if "reclaim" in action:
        plugins.remove("priority")
    world.run(profile(plugins, actions=action, arguments={action: reported}))
    assert world.evicted == evicted


# --- dry runs --------------------------------------------------------------------------------------------------


@pytest.mark.argument("preempt", "enableTopologyAwarePreemption")
def test_the_conflicting_neighbour_goes_not_the_least_important_one() -> None:
    def build() -> World:
        world = World()
        world.node("a")
        alone = Constraints(anti_affinity=(near(HOST, app="x"),))
        victim(world, "free", "a", priority=1)
        victim(world, "conflict", "a", wanted=alone, priority=5, labels={"app": "x"})
        world.task("t", alone, gang_priority=10, labels={"app": "x"})
        return world

    assert build().run(dry_run()).evicted == {"conflict"}
    # In a fixed order all before the conflicting one go with it.
    assert build().run(preempt()).evicted == {"free", "conflict"}


def loss(world: World, name: str, *victims: tuple[int, float, dict[str, str]], cpu: int = 1000) -> None:
    """A node on which these would have to go: each with priority, start and labels."""
    world.node(name, cpu=cpu * len(victims))
    for index, (priority, started, labels) in enumerate(victims):
        victim(world, f"{name}-{index}", name, cpu=cpu, priority=priority, started=started, labels=labels)


X, NONE = {"app": "x"}, dict[str, str]()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([(0, 1, X)], [(9, 1, NONE)]),  # a broken budget outweighs priorities
        ([(3, 1, NONE)], [(2, 1, NONE)]),  # the lowest highest priority
        ([(3, 1, NONE), (3, 1, NONE)], [(3, 1, NONE), (2, 1, NONE)]),  # the lowest sum
        ([(0, 1, NONE), (0, 1, NONE)], [(0, 1, NONE)]),  # the fewest victims
        ([(3, 1, NONE)], [(3, 2, NONE)]),  # who started last
    ],
)
def test_the_choice_of_a_node_by_dry_run(first: list[Any], second: list[Any]) -> None:
    world = World()
    wanted = 2000
    world.budget("pdb", 0, app="x")
    loss(world, "a", *first, cpu=wanted // len(first))
    loss(world, "b", *second, cpu=wanted // len(second))
    world.task("t", cpu=wanted, gang_priority=10)
    world.run(dry_run(minCandidateNodesPercentage=100))
    assert world.promised == {"t": "b"}


def test_equal_losses_go_by_name() -> None:
    world = World()
    for name in "ba":
        loss(world, name, (1, 1, NONE))
    world.task("t", gang_priority=10)
    assert world.run(dry_run(minCandidateNodesPercentage=100)).promised == {"t": "a"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"minCandidateNodesPercentage": 100}, "n09"),
        ({"minCandidateNodesPercentage": 10}, "n00"),
        ({"minCandidateNodesPercentage": 50}, "n04"),
        ({"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 7}, "n06"),
        ({"minCandidateNodesPercentage": 100, "maxCandidateNodesAbsolute": 3}, "n02"),
    ],
)
@pytest.mark.argument("preempt", "minCandidateNodesPercentage")
@pytest.mark.argument("preempt", "minCandidateNodesAbsolute")
@pytest.mark.argument("preempt", "maxCandidateNodesAbsolute")
def test_how_many_nodes_are_tried(arguments: dict[str, int], expected: str) -> None:
    """The further one looks, the cheaper the victim: ten nodes with falling priorities of theirs."""
    world = World()
    for index in range(10):
        loss(world, f"n{index:02}", (20 - index, 1, NONE))
    world.task("t", gang_priority=10)
    assert world.run(dry_run(**arguments)).promised == {"t": expected}


class Moody(Plugin):
    """Refuses whoever asks first, and nobody after that."""

    name = "moody"
    asked = 0

    def on_session_open(self, session: Session) -> None:
        self.asked = 0

    def predicate(self, task: Task, row: int) -> Refusal | None:
        self.asked += 1
        return refuse(PLUGIN, plugin=self.name, message="not now") if self.asked == 1 else None


@pytest.mark.parametrize("action", ["allocate", "backfill"])
@pytest.mark.parametrize(("cached", "placed"), [(True, 0), (False, 1)])
@pytest.mark.argument("allocate", "predicateErrorCacheEnable")
@pytest.mark.argument("backfill", "predicateErrorCacheEnable")
def test_answers_are_kept_or_asked_for_again(
    action: str, cached: bool, placed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILT_IN, "moody", Moody)
    world = World()
    world.node("a")
    gang = world.gang("g", minimum=0)
    for index in range(2):
        size = 0 if action == "backfill" else 1000
        world.task(f"g-{index}", gang=gang, cpu=size, memory=size)
    world.run(profile(["moody"], actions=action, arguments={action: {"predicateErrorCacheEnable": cached}}))
    assert len(world.placed) == placed


@pytest.mark.argument("preempt", "predicateErrorCacheEnable")
@pytest.mark.argument("reclaim", "predicateErrorCacheEnable")
@pytest.mark.parametrize("action", ["preempt", "reclaim"])
@pytest.mark.parametrize(("cached", "promised"), [(True, 0), (False, 1)])
def test_nothing_is_tried_again_for_a_task_like_one_that_failed(
    action: str, cached: bool, promised: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILT_IN, "moody", Moody)
    world = World()
    world.node("a", cpu=2000)
    world.queue("other")
    world.task("v", at="a", queue="q" if action == "preempt" else "other")
    world.task("w", at="a", queue="other")
    gang = world.gang("g", minimum=1, priority=10)
    for index in range(2):
        world.task(f"g-{index}", gang=gang)
    plugins = ["gang", "priority" if action == "preempt" else "proportion", "moody"]
    by = profile(plugins, actions=action, arguments={action: {"predicateErrorCacheEnable": cached}})
    assert len(world.run(by).promised) == promised


# --- budgets ---------------------------------------------------------------------------------------------------


def test_victims_under_a_used_up_budget_go_last() -> None:
    world = World()
    world.node("a", cpu=2000)
    victim(world, "guarded", "a", priority=1, labels=X)
    victim(world, "free", "a", priority=5)
    world.budget("pdb", 0, app="x")
    world.task("t", gang_priority=10)
    assert world.run(preempt()).evicted == {"free"}


def test_a_budget_breaks_only_when_nothing_else_helps_and_never_with_pdb() -> None:
    def build() -> World:
        world = World()
        world.node("a", cpu=2000)
        victim(world, "guarded", "a", labels=X)
        victim(world, "free", "a")
        world.budget("pdb", 0, app="x")
        world.task("t", cpu=2000, gang_priority=10)
        return world

    assert build().run(preempt()).evicted == {"guarded", "free"}
    assert build().run(profile([*PLUGINS, "pdb"], actions="preempt")).evicted == set()


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
@pytest.mark.parametrize(("allowed", "gone"), [(0, 0), (1, 1), (2, 2), (5, 3)])
def test_pdb_counts_through_the_whole_cycle(action: str, allowed: int, gone: int) -> None:
    world = World()
    world.queue("other")
    for name in "abc":
        world.node(name, cpu=1000)
        victim(world, name, name, queue="other" if action == "reclaim" else "q", labels=X)
    world.budget("pdb", allowed, app="x")
    for index in range(3):
        world.task(f"t{index}", gang_priority=10)
    plugins = ["gang", "pdb", *(["proportion"] if action == "reclaim" else ["priority"])]
    # A queue with twice the weight gets two of three nodes back, however many the budget would allow.
    world.queue("q", weight=2)
    gone = min(gone, 2) if action == "reclaim" else gone
    assert len(world.run(profile(plugins, actions=action)).evicted) == gone


def test_only_the_budgets_that_select_a_task_count() -> None:
    world = World()
    world.node("a", cpu=1000)
    victim(world, "v", "a", labels={"app": "y"})
    world.budget("pdb", 0, app="x")
    world.task("t", gang_priority=10)
    assert world.run(profile([*PLUGINS, "pdb"], actions="preempt")).evicted == {"v"}


# --- whole gangs -----------------------------------------------------------------------------------------------

GANGS = ["gang", "priority", "predicates", "nodeorder"]


def running_gang(world: World, name: str, nodes: str, *, minimum: int, priority: int = 0, cpu: int = 1000) -> None:
    gang = world.gang(name, minimum=minimum, priority=priority)
    for index, node in enumerate(nodes):
        world.task(f"{name}-{index}", at=node, gang=gang, cpu=cpu)


def gangpreempt(**arguments: Any) -> Profile:
    return profile(GANGS, actions="gangpreempt", arguments={"gangpreempt": arguments})


def one_job_of_two() -> World:
    """Two gangs at their minimum, two nodes each; a third of higher priority wants two nodes."""
    world = World()
    for name in "abcd":
        world.node(name, cpu=1000)
    running_gang(world, "one", "ac", minimum=2, priority=2)
    running_gang(world, "two", "bd", minimum=2, priority=1)
    gang = world.gang("g", minimum=2, priority=10)
    for index in range(2):
        world.task(f"g-{index}", gang=gang)
    return world


def test_one_whole_gang_goes_instead_of_half_of_two() -> None:
    world = one_job_of_two()
    world.run(gangpreempt())
    assert world.evicted == {"two-0", "two-1"}
    assert set(world.promised.values()) == {"b", "d"}


def test_plain_preemption_cannot_touch_gangs_at_their_minimum() -> None:
    assert one_job_of_two().run(preempt()).evicted == set()


@pytest.mark.argument("gangpreempt", "allowWholeBundle")
def test_without_whole_bundles_only_surplus_goes() -> None:
    assert one_job_of_two().run(gangpreempt(allowWholeBundle=False)).evicted == set()
    world = World()
    for name in "abc":
        world.node(name, cpu=1000)
    running_gang(world, "elastic", "abc", minimum=1)
    gang = world.gang("g", minimum=2, priority=10)
    for index in range(2):
        world.task(f"g-{index}", gang=gang)
    assert world.run(gangpreempt(allowWholeBundle=False)).evicted == {"elastic-1", "elastic-2"}


def test_surplus_goes_before_whole_gangs() -> None:
    world = World()
    for name in "abc":
        world.node(name, cpu=1000)
    running_gang(world, "elastic", "ab", minimum=1, priority=5)
    running_gang(world, "fixed", "c", minimum=1, priority=1)
    world.task("t", gang_priority=10)
    assert world.run(gangpreempt()).evicted == {"elastic-1"}


def test_among_equal_gangs_the_better_return_goes() -> None:
    world = World()
    for name in "abc":
        world.node(name, cpu=1000)
    running_gang(world, "big", "ab", minimum=2)
    running_gang(world, "small", "c", minimum=1)
    world.task("t", gang_priority=10)
    assert world.run(gangpreempt()).evicted == {"small-0"}


def test_a_gang_that_turns_out_not_to_be_needed_is_spared() -> None:
    world = World()
    world.node("a", cpu=1000)
    world.node("b", cpu=4000)
    running_gang(world, "low", "a", minimum=1, priority=1)
    running_gang(world, "high", "b", minimum=1, priority=2, cpu=4000)
    world.task("t", cpu=4000, gang_priority=10)
    world.run(gangpreempt())
    assert world.evicted == {"high-0"}


def test_gangpreempt_needs_a_strictly_higher_priority_and_all_or_nothing() -> None:
    world = one_job_of_two()
    world.gang("g", minimum=2, priority=1)
    assert world.run(gangpreempt()).evicted == set()
    world = one_job_of_two()
    world.gang("g", minimum=5, priority=10)
    for index in range(2, 5):
        world.task(f"g-{index}", gang="ns/g")
    assert world.run(gangpreempt()).evicted == set()


def test_a_gang_with_a_task_that_may_not_be_evicted_never_goes_whole() -> None:
    world = one_job_of_two()
    world.task("two-0", at="b", gang="ns/two", preemptable=False)
    assert world.run(gangpreempt()).evicted == {"one-0", "one-1"}


@pytest.mark.parametrize(("whole", "evicted"), [(True, {"lent-0", "lent-1"}), (False, set())])
@pytest.mark.argument("gangreclaim", "allowWholeBundle")
def test_gangreclaim_takes_whole_gangs_of_queues_beyond_their_share(whole: bool, evicted: set[str]) -> None:
    world = World()
    world.queue("other")
    for name in "abcd":
        world.node(name, cpu=1000)
    for gang_name, nodes in (("kept", "ab"), ("lent", "cd")):
        gang = world.gang(gang_name, queue="other", minimum=2, priority=5 if gang_name == "kept" else 0)
        for index, node in enumerate(nodes):
            world.task(f"{gang_name}-{index}", at=node, gang=gang)
    gang = world.gang("g", minimum=2)
    for index in range(2):
        world.task(f"g-{index}", gang=gang)
    by = profile(
        ["gang", "proportion", "predicates", {"name": "priority", "enablePreemptable": False}],
        actions="gangreclaim",
        arguments={"gangreclaim": {"allowWholeBundle": whole}},
    )
    assert world.run(by).evicted == evicted


def test_gangreclaim_leaves_queues_alone_that_do_not_lend() -> None:
    world = World()
    world.queue("other", reclaimable=False)
    for name in "ab":
        world.node(name, cpu=1000)
        world.task(name, at=name, queue="other", memory=GIB)
    world.task("t")
    by = profile(["gang", "proportion", "predicates"], actions="gangreclaim")
    assert world.run(by).evicted == set()


def test_no_list_of_victims_takes_more_of_a_gang_than_it_can_spare() -> None:
    """Of two members one is enough; a task that needs both their places gets none of them."""
    world = World()
    world.node("a", cpu=2000)
    running_gang(world, "elastic", "aa", minimum=1)
    world.task("t", cpu=2000, gang_priority=10)
    assert world.run(preempt()).evicted == set()
    world.task("t", cpu=1000, gang_priority=10)
    assert world.run(preempt()).evicted == {"elastic-1"}


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize(("guarantee", "evicted"), [(1000, 1), (2000, 1), (3000, 0), (4000, 0)])
def test_reclaim_does_not_cut_into_a_guarantee(action: str, guarantee: int, evicted: int) -> None:
    """Two tasks of two CPUs: without one of them two are left, and that must not be less than the guarantee."""
    world = World()
    world.queue("q", deserved={"cpu": 4000})
    world.queue("other", guarantee={"cpu": guarantee}, deserved={"cpu": 1})
    world.node("a", cpu=4000)
    for index in range(2):
        world.task(f"v-{index}", at="a", queue="other", cpu=2000)
    world.task("t", cpu=2000)
    world.run(profile(["gang", "capacity", "predicates"], actions=action))
    assert len(world.evicted) == evicted


def test_gangreclaim_leaves_out_a_queue_that_has_its_share() -> None:
    """It comes to an end, and the other queues have their turn."""
    world = World()
    world.queue("full", priority=5)
    world.queue("lends")
    for name in "abc":
        world.node(name, cpu=1000)
    world.task("held", at="a", queue="full")
    for name in "bc":
        world.task(f"lent-{name}", at=name, queue="lends")
    world.task("more", queue="full")
    world.task("t")
    by = profile(["gang", "proportion", "predicates"], actions="gangreclaim")
    assert len(world.run(by).evicted) == 1
    assert list(world.promised) == ["t"]


@pytest.mark.parametrize("order", ["efs", "esf", "fes", "fse", "sef", "sfe"])
def test_surplus_of_any_gang_goes_before_any_whole_gang(order: str) -> None:
    """Of three gangs two can spare a member: those go, whoever is the least important."""
    world = World()
    for name in "abcde":
        world.node(name, cpu=1000)
    for priority, name in enumerate(order):
        nodes, minimum = {"e": ("ab", 1), "s": ("cd", 1), "f": ("e", 1)}[name]
        running_gang(world, name, nodes, minimum=minimum, priority=priority)
    gang = world.gang("g", minimum=2, priority=10)
    for index in range(2):
        world.task(f"g-{index}", gang=gang)
    assert world.run(gangpreempt()).evicted == {"e-1", "s-1"}


def test_a_dry_run_by_sums_counts_what_is_free_and_what_the_task_takes() -> None:
    """One CPU is free: of three victims of one CPU two must go for a task of three, and the least important do."""
    world = World()
    world.node("a", cpu=4000)
    for index in range(3):
        victim(world, f"v-{index}", "a", gang_priority=index)
    world.task("t", cpu=3000, gang_priority=10)
    assert world.run(dry_run()).evicted == {"v-0", "v-1"}
    world.task("t", cpu=5000, gang_priority=10)
    assert world.run(dry_run()).evicted == set()


# --- gangs that go as one ----------------------------------------------------------------------------------------


def elastic_as_one(*, as_one: bool) -> World:
    """A gang with one member more than it needs, and somebody of higher priority who needs one place."""
    world = World()
    for name in "abc":
        world.node(name, cpu=1000)
    gang = world.gang("low", minimum=2, as_one=as_one)
    for index, node in enumerate("abc"):
        world.task(f"low-{index}", at=node, gang=gang)
    world.task("t", gang_priority=10)
    return world


def test_of_a_gang_that_goes_as_one_all_members_go() -> None:
    assert elastic_as_one(as_one=False).run(gangpreempt()).evicted == {"low-2"}
    world = elastic_as_one(as_one=True)
    assert world.run(gangpreempt()).evicted == {"low-0", "low-1", "low-2"}
    assert len(world.promised) == 1


def test_where_gangs_are_not_taken_whole_one_that_goes_as_one_stays() -> None:
    assert elastic_as_one(as_one=True).run(gangpreempt(allowWholeBundle=False)).evicted == set()
    single = profile(["priority"], ["predicates", "nodeorder"], actions="preempt")
    assert len(elastic_as_one(as_one=False).run(single).evicted) == 1
    assert elastic_as_one(as_one=True).run(single).evicted == set()


def test_a_gang_that_goes_as_one_stays_when_one_member_may_not_go() -> None:
    world = elastic_as_one(as_one=True)
    world.task("low-1", at="b", gang="ns/low", preemptable=False)
    assert world.run(gangpreempt()).evicted == set()
