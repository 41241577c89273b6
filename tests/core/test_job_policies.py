"""Plugins that place each job as it asks for it: their numbers, whom they are for, and how they stand in line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import yaml

from podium.core.framework.plugin import MAX_NODE_SCORE
from podium.core.framework.session import Session
from podium.core.model.decisions import LookAgain, Refuse
from podium.core.model.labels import Taint
from podium.core.model.model import State, Task
from podium.core.profiles.profile import Profile, read_profile
from podium.dialects import built_in_profiles, unnamed_profile
from podium.reasons import GIVEN_UP, NEVER_FITS
from tests.core.world import GIB, NOW, World, profile

GPU = "nvidia.com/gpu"


def amounts(cpu: float = 0, memory: float = 0, gpu: float = 0) -> dict[str, Any]:
    """CPUs, GiB and GPUs, for nodes and tasks."""
    more = {GPU: int(gpu)} if gpu else {}
    return {"cpu": int(cpu * 1000), "memory": int(memory * GIB), "more": more}


def node(world: World, name: str, has: tuple[float, ...], used: tuple[float, ...] = ()) -> None:
    """A node, and a stranger's task on it that takes what is used."""
    world.node(name, **amounts(*has))
    if any(used):
        world.task(f"used-{name}", at=name, **amounts(*used))


def scores(world: World, plugin: str, task: Task, by: Profile) -> dict[str, float]:
    """What one plugin says of each node, from 0 to 1."""
    session = Session(world.cluster, by.plugins(), NOW, by.arguments, by.actions)
    names = [world.cluster.nodes.name(row) for row in range(world.cluster.nodes.count)]
    values = session.candidates(task)._now
    return {
        name: value / MAX_NODE_SCORE for name, value in zip(names, values.tolist(), strict=True) if value > -np.inf
    }


def with_arguments(name: str, **arguments: object) -> dict[str, Any]:
    return {"name": name, "arguments": {f"{name}.{key}": value for key, value in arguments.items()}}


BINPACK = {"name": "binpack", "arguments": {"binpack.resources": GPU}}


# --- the numbers of the formulas ---------------------------------------------------------------------------------


def test_binpack_takes_the_mean_of_what_the_task_asks_for() -> None:
    world = World()
    node(world, "n1", (8, 16), (4, 8))
    node(world, "n2", (8, 16))
    task = world.task("t", **amounts(2, 4))
    found = scores(world, "binpack", task, profile([BINPACK]))
    assert found == pytest.approx({"n1": 0.75, "n2": 0.25}, abs=1e-3)


def test_binpack_passes_over_a_fuller_node_without_room() -> None:
    world = World()
    node(world, "n1", (8, 16), (7, 8))
    node(world, "n2", (8, 16), (1, 1))
    task = world.task("t", **amounts(2, 4))
    assert scores(world, "binpack", task, profile([BINPACK])).keys() == {"n2"}
    assert world.run(profile([BINPACK])).placed == {"t": "n2"}


def leaders(world: World) -> None:
    node(world, "n1", (32, 64, 8), (4, 8, 4))
    node(world, "n2", (32, 64, 8), (24, 16, 0))


def test_leaderfirst_puts_the_leader_where_gpus_are_idle() -> None:
    world = World()
    leaders(world)
    gang = world.gang("j", minimum=1)
    task = world.task("l", gang=gang, role="leader", **amounts(4, 8, 1))
    found = scores(world, "leaderfirst", task, profile(["leaderfirst"]))
    assert {name: 1 - value for name, value in found.items()} == pytest.approx(
        {"n1": 0.518, "n2": 0.268}, abs=1e-3
    )
    assert world.run(profile(["leaderfirst"])).placed == {"l": "n2"}


def test_leaderfirst_puts_workers_where_cpus_are_busy() -> None:
    world = World()
    leaders(world)
    gang = world.gang("j", minimum=1)
    world.task("l", gang=gang, role="leader", at="n2", **amounts(4, 8, 1))
    task = world.task("w", gang=gang, role="worker", **amounts(4, 4))
    found = scores(world, "leaderfirst", task, profile(["leaderfirst"]))
    assert found == pytest.approx({"n1": 0.277, "n2": 0.795}, abs=1e-3)


@pytest.mark.argument("leaderfirst", "leaderfirst.leader")
def test_with_equal_weights_the_leader_goes_elsewhere() -> None:
    world = World()
    leaders(world)
    gang = world.gang("j", minimum=1)
    task = world.task("l", gang=gang, role="leader", **amounts(4, 8, 1))
    equal = profile([with_arguments("leaderfirst", leader=f"cpu=1, memory=1, {GPU}=1")])
    found = scores(world, "leaderfirst", task, equal)
    assert {name: 1 - value for name, value in found.items()} == pytest.approx(
        {"n1": 0.375, "n2": 0.4583}, abs=1e-3
    )
    assert world.run(equal).placed == {"l": "n1"}


@pytest.mark.argument("leaderfirst", "leaderfirst.worker")
def test_weights_of_workers() -> None:
    placed = {}
    for weights in ("cpu=5, memory=1", "cpu=1, memory=5"):
        world = World()
        node(world, "n1", (8, 16), (4, 0))
        node(world, "n2", (8, 16), (0, 8))
        gang = world.gang("j", minimum=1)
        world.task("w", gang=gang, role="worker", **amounts(1, 1))
        placed[weights] = world.run(profile([with_arguments("leaderfirst", worker=weights)])).placed["w"]
    assert placed == {"cpu=5, memory=1": "n1", "cpu=1, memory=5": "n2"}


@pytest.mark.argument("leaderfirst", "leaderfirst.role")
def test_who_leads_is_told_by_the_role() -> None:
    placed = {}
    for role in ("leader", "master"):
        world = World()
        node(world, "n1", (8, 16), (4, 8))
        node(world, "n2", (8, 16))
        gang = world.gang("j", minimum=1)
        world.task("m", gang=gang, role="master", **amounts(1, 1))
        placed[role] = world.run(profile([with_arguments("leaderfirst", role=role)])).placed["m"]
    assert placed == {"leader": "n1", "master": "n2"}


def test_minfragment_keeps_cpu_and_memory_close() -> None:
    world = World()
    node(world, "n1", (8, 16), (4, 2))
    node(world, "n2", (8, 16), (2, 6))
    task = world.task("t", **amounts(2, 4))
    assert scores(world, "binpack", task, profile([BINPACK])) == pytest.approx(
        {"n1": 0.5625, "n2": 0.5625}, abs=1e-3
    )
    found = scores(world, "minfragment", task, profile(["minfragment"]))
    assert found == pytest.approx({"n1": 0.625 * 0.5625, "n2": 0.875 * 0.5625}, abs=1e-3)
    assert world.run(profile(["minfragment"])).placed == {"t": "n2"}


def test_minfragment_is_binpack_where_both_are_equally_used() -> None:
    world = World()
    node(world, "n1", (8, 16), (3, 6))
    task = world.task("t", **amounts(1, 2))
    assert scores(world, "minfragment", task, profile(["minfragment"])) == pytest.approx({"n1": 0.5}, abs=1e-3)


@pytest.mark.argument("minfragment", "minfragment.resources")
@pytest.mark.argument("jobaffinity", "jobaffinity.resources")
@pytest.mark.argument("jobantiaffinity", "jobantiaffinity.resources")
@pytest.mark.parametrize("plugin", ["minfragment", "jobaffinity", "jobantiaffinity"])
def test_which_resources_count(plugin: str) -> None:
    placed = {}
    for resources in ("cpu=1", "memory=1"):
        world = World()
        node(world, "n1", (8, 16), (4, 6))
        node(world, "n2", (8, 16), (3, 8))
        world.task("t", **amounts(1, 2))
        placed[resources] = world.run(profile([with_arguments(plugin, resources=resources)])).placed["t"]
    assert placed == {"cpu=1": "n1", "memory=1": "n2"}


# --- jobs together and apart -------------------------------------------------------------------------------------


def job(world: World, name: str, tasks: int, **facts: Any) -> list[Task]:
    gang = world.gang(name, minimum=tasks, **facts)
    return [world.task(f"{name}-{index}", gang=gang, **amounts(1, 1)) for index in range(tasks)]


def per_node(world: World, prefix: str = "") -> list[int]:
    nodes = [name for task, name in world.placed.items() if task.startswith(prefix)]
    return sorted(nodes.count(name) for name in set(nodes))


def test_jobaffinity_stays_with_its_job_though_another_node_is_fuller() -> None:
    world = World()
    node(world, "n1", (8, 16), (5, 10))
    node(world, "n2", (8, 16))
    gang = world.gang("j", minimum=1)
    world.task("j-leader", gang=gang, at="n2", **amounts(1, 1))
    for index in range(3):
        world.task(f"j-{index}", gang=gang, **amounts(1, 1))
    assert set(world.run(profile(["gang"], ["jobaffinity"])).placed.values()) == {"n2"}


def test_jobaffinity_is_a_wish() -> None:
    world = World()
    for name in ("n1", "n2"):
        node(world, name, (2, 16))
    job(world, "j", 3)
    assert per_node(world.run(profile(["gang"], ["jobaffinity"]))) == [1, 2]


@pytest.mark.parametrize(("tasks", "expected"), [(3, [1, 1, 1]), (4, [1, 1, 2])])
def test_jobantiaffinity_uses_another_node_while_it_can(tasks: int, expected: list[int]) -> None:
    world = World()
    for name in ("n1", "n2", "n3"):
        node(world, name, (8, 16))
    job(world, "j", tasks)
    assert per_node(world.run(profile(["gang"], ["jobantiaffinity"]))) == expected


def test_jobantiaffinity_minds_its_own_job_only() -> None:
    world = World()
    for name in ("n1", "n2"):
        node(world, name, (8, 16))
    other = world.gang("other", minimum=0)
    for index in range(2):
        world.task(f"other-{index}", gang=other, at="n1", **amounts(1, 1))
    job(world, "j", 2)
    assert per_node(world.run(profile(["gang"], ["jobantiaffinity"])), "j-") == [1, 1]


@pytest.mark.parametrize("plugin", ["jobaffinity", "jobantiaffinity", "minfragment", "leaderfirst"])
def test_many_at_once_are_placed_as_one_by_one(plugin: str) -> None:
    """A batch equals greedy: the scores of a row with some of the job imagined on it are what they would be."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        shapes = rng.integers(2, 12, size=(5, 2))
        found = []
        for batch in (True, False):
            world = World()
            for index, (cpu, memory) in enumerate(shapes.tolist()):
                node(world, f"n{index}", (cpu, memory))
            gang = world.gang("j", minimum=10 if batch else 1)
            for index in range(10):
                world.task(f"j-{index}", gang=gang, **amounts(1, 1))
            found.append(world.run(profile(["gang"], [plugin])).placed)
        assert found[0] == found[1] or len(found[0]) == 0


# --- whom a plugin is for ----------------------------------------------------------------------------------------


def _policies(plugin: str, policy: str) -> dict[str, str]:
    """Where a task goes whose job names a policy, with a plugin for `mine`, beside one that spreads."""
    world = World()
    node(world, "n1", (8, 16), (4, 8))
    node(world, "n2", (8, 16))
    gang = world.gang("j", minimum=1, attributes={"placementPolicy": policy} if policy else {})
    world.task("t", gang=gang, role="worker", **amounts(1, 2))
    chosen = {"name": plugin, "arguments": {f"{plugin}.for": "mine", f"{plugin}.weight": 50}}
    spreading = {"name": "nodeorder", "arguments": {"leastrequested.weight": 5}}
    return world.run(profile([chosen, spreading])).placed


@pytest.mark.argument("binpack", "binpack.for")
@pytest.mark.argument("leaderfirst", "leaderfirst.for")
@pytest.mark.argument("minfragment", "minfragment.for")
@pytest.mark.argument("jobaffinity", "jobaffinity.for")
@pytest.mark.argument("jobantiaffinity", "jobantiaffinity.for")
@pytest.mark.parametrize("plugin", ["binpack", "leaderfirst", "minfragment", "jobaffinity", "jobantiaffinity"])
def test_a_plugin_may_be_for_the_jobs_that_name_it(plugin: str) -> None:
    mine, others, nobody = (_policies(plugin, policy) for policy in ("mine", "theirs", ""))
    assert (mine, others, nobody) == ({"t": "n1"}, {"t": "n2"}, {"t": "n2"})


def test_jobs_that_name_no_policy_are_the_others() -> None:
    world = World()
    node(world, "n1", (8, 16), (4, 8))
    node(world, "n2", (8, 16))
    world.task("t", **amounts(1, 2))
    chosen = {"name": "binpack", "arguments": {"binpack.for": "mine, others", "binpack.weight": 10}}
    spreading = {"name": "nodeorder", "arguments": {"leastrequested.weight": 5}}
    assert world.run(profile([chosen, spreading])).placed == {"t": "n1"}


@pytest.mark.argument("leaderfirst", "leaderfirst.weight")
@pytest.mark.argument("minfragment", "minfragment.weight")
@pytest.mark.argument("jobaffinity", "jobaffinity.weight")
@pytest.mark.argument("jobantiaffinity", "jobantiaffinity.weight")
@pytest.mark.parametrize("plugin", ["leaderfirst", "minfragment", "jobaffinity", "jobantiaffinity"])
def test_weights_beside_other_plugins(plugin: str) -> None:
    placed = {}
    for weight in (0, 50):
        world = World()
        node(world, "n1", (8, 16), (4, 8))
        node(world, "n2", (8, 16))
        world.task("t", role="worker", **amounts(1, 2))
        chosen = {"name": plugin, "arguments": {f"{plugin}.weight": weight}}
        placed[weight] = world.run(profile([chosen, "nodeorder"])).placed["t"]
    assert placed == {0: "n2", 50: "n1"}


@pytest.mark.parametrize(("further", "expected"), [((), [2]), (("jobantiaffinity",), [1, 1])])
def test_a_policy_changes_placements_in_the_profile_of_another_dialect(
    further: tuple[str, ...], expected: list[int]
) -> None:
    """Two pods of a gang, one node that is idler: alone Volcano's own scores put both there."""
    world = World()
    node(world, "n1", (8, 16), (4, 8))
    node(world, "n2", (8, 16))
    job(world, "j", 2)
    built_in = yaml.safe_load(built_in_profiles()[unnamed_profile()].text)
    more = [{"name": each, "arguments": {f"{each}.weight": 5}} for each in further]
    built_in["tiers"][-1]["plugins"] += more
    assert per_node(world.run(read_profile(built_in))) == expected


# --- all or nothing ----------------------------------------------------------------------------------------------


@pytest.mark.argument("wholegang", "wholegang.for")
@pytest.mark.parametrize(("policy", "expected"), [("Gang", 0), ("BinPack", 3)])
def test_a_whole_gang_is_placed_as_a_whole(policy: str, expected: int) -> None:
    world = World()
    node(world, "n1", (3, 16))
    gang = world.gang("j", minimum=2, attributes={"placementPolicy": policy})
    for index in range(4):
        world.task(f"j-{index}", gang=gang, **amounts(1, 1))
    by = profile(["gang", {"name": "wholegang", "arguments": {"wholegang.for": "Gang"}}])
    assert len(world.run(by).placed) == expected
    node(world, "n2", (3, 16))
    assert len(world.run(by).placed) == 4 - expected


# --- in line -----------------------------------------------------------------------------------------------------


def line(world: World, *, created: Mapping[str, float] | None = None, **arguments: object) -> list[str]:
    """The order in which jobs get their places, one after the other."""
    queueing = with_arguments("queuepolicy", **arguments)
    by = profile([queueing])
    session = Session(world.cluster, by.plugins(), NOW, by.arguments, by.actions)
    return [gang.name for gang in sorted(session.own, key=session.job_key)]


def waiting(world: World, name: str, policy: str = "", *tasks: tuple[float, ...], **facts: Any) -> None:
    gang = world.gang(name, attributes={"queuePolicy": policy} if policy else {}, **{"created": NOW, **facts})
    for index, each in enumerate(tasks or ((1, 1),)):
        world.task(f"{name}-{index}", gang=gang, **amounts(*each))


def test_the_larger_priority_goes_first_and_among_equals_the_older_then_the_name() -> None:
    world = World()
    node(world, "n", (10, 20))
    for name, priority, age in (("j3", 3, 0), ("j9", 9, 0), ("b", 5, 0), ("a", 5, 0), ("old", 5, 1)):
        waiting(world, name, "Priority", priority=priority, created=NOW - age)
    assert line(world) == ["j9", "old", "a", "b", "j3"]


@pytest.mark.parametrize(
    ("cluster", "jobs", "shares"),
    [
        pytest.param(
            (10, 20),
            {"job2": [(2, 2), (3, 2)], "job1": [(1, 4), (1, 4)]},
            {"job1": 0.4, "job2": 0.5},
            id="memory before cpu",
        ),
        pytest.param(
            (10, 20),
            {"a": [(3, 1, 1)], "b": [(1, 1)]},
            {"b": 0.1, "a": 0.3},
            id="what there is none of is left out",
        ),
        pytest.param(
            (100, 200, 8), {"g": [(10, 20, 2)], "c": [(20, 20)]}, {"c": 0.2, "g": 0.25}, id="gpus dominate"
        ),
    ],
)
def test_drf_goes_by_what_jobs_ask_for(
    cluster: tuple[float, ...], jobs: dict[str, list[tuple[float, ...]]], shares: dict[str, float]
) -> None:
    world = World()
    node(world, "n", cluster)
    for name, tasks in jobs.items():
        waiting(world, name, "DRF", *tasks)
    by = profile(["queuepolicy"])
    session = Session(world.cluster, by.plugins(), NOW, by.arguments, by.actions)
    (plugin,) = session._all("job_key")
    found = {gang.name: plugin.share(gang) for gang in session.own}  # type: ignore[attr-defined]
    assert found == pytest.approx(shares, abs=1e-3)
    assert line(world) == list(shares)


@pytest.mark.argument("queuepolicy", "queuepolicy.policy")
def test_two_policies_in_one_line() -> None:
    world = World()
    node(world, "n", (10, 20))
    waiting(world, "small", "DRF", (1, 1), priority=9)
    waiting(world, "large", "DRF", (5, 5), priority=10)
    waiting(world, "low", "Priority", priority=1)
    waiting(world, "plain", priority=2)
    assert line(world) == ["plain", "low", "small", "large"], "Priority before DRF, each in its own order"
    assert line(world, policy="Priority") == ["large", "small", "plain", "low"]
    assert line(world, policy="DRF") == ["low", "plain", "small", "large"]


@pytest.mark.argument("queuepolicy", "queuepolicy.drfBase")
def test_shares_may_be_of_what_jobs_hold() -> None:
    world = World()
    node(world, "n", (10, 20))
    waiting(world, "large", "DRF", (5, 5))
    waiting(world, "holding", "DRF", (1, 1))
    world.task("holding-too", gang="ns/holding", at="n", **amounts(1, 1))
    assert line(world) == ["holding", "large"]
    assert line(world, drfBase="allocated") == ["large", "holding"]


@pytest.mark.argument("queuepolicy", "queuepolicy.ageing")
def test_a_large_job_does_not_wait_for_ever() -> None:
    world = World()
    node(world, "n", (10, 20))
    waiting(world, "large", "DRF", (5, 5), created=NOW - 300)
    waiting(world, "small", "DRF", (1, 1))
    assert line(world) == ["small", "large"]
    assert line(world, ageing="5m") == ["large", "small"]


def test_its_order_is_never_taken_for_priority_and_age() -> None:
    assert not profile(["queuepolicy"]).plain_order
    assert profile(["priority", "roleorder", "wholegang", "binpack", "giveup"]).plain_order


def test_roles_go_in_the_order_of_the_job() -> None:
    world = World()
    node(world, "n", (10, 20))
    gang = world.gang("j", minimum=1, attributes={"roles": "leader,b,a"})
    for role in ("a", "b", "leader", "else"):
        world.task(f"j-{role}-0", gang=gang, role=role, **amounts(1, 1))
    session = Session(world.cluster, profile(["roleorder"]).plugins(), NOW)
    ordered = session.sorted_tasks(world.cluster.gangs[gang].tasks.values())
    assert [task.role for task in ordered] == ["leader", "b", "a", "else"]


# --- when it is no use to wait -----------------------------------------------------------------------------------


def refusal(world: World, **arguments: object) -> tuple[str, float | None]:
    """The code of what the job is told, and when it is looked at again."""
    world.run(profile(["gang", with_arguments("giveup", **arguments)], ["predicates"]))
    codes = [each.refusal.code for each in world.decisions if isinstance(each, Refuse) and each.gang == "ns/j"]
    again = next((each.at for each in world.decisions if isinstance(each, LookAgain)), None)
    return codes[0] if codes else "", again


def hopeless(*sizes: float, minimum: int = 2, since: float = NOW) -> World:
    world = World()
    for name in ("n1", "n2"):
        node(world, name, (8, 16))
    gang = world.gang("j", minimum=minimum, attributes={"waitingSince": str(since)})
    for index, size in enumerate(sizes):
        world.task(f"j-{index}", gang=gang, **amounts(size, 1))
    return world


def test_a_job_is_given_up_when_too_few_of_its_tasks_fit_on_an_empty_node() -> None:
    assert refusal(hopeless(1, 64)) == (GIVEN_UP.code, None)
    assert refusal(hopeless(1, 64, 1)) == ("", None), "two of three are enough"


def test_room_that_is_taken_is_no_reason_to_give_up() -> None:
    world = hopeless(8, 8)
    world.task("other", at="n1", **amounts(4, 1))
    code, _ = refusal(world)
    assert code not in ("", GIVEN_UP.code, NEVER_FITS.code)


@pytest.mark.argument("giveup", "giveup.after")
def test_a_job_may_wait_for_so_long() -> None:
    assert refusal(hopeless(1, 64), after="10m") == (NEVER_FITS.code, NOW + 600), "a node may come"
    assert refusal(hopeless(1, 64, since=NOW - 600), after="10m") == (GIVEN_UP.code, None)
    full = hopeless(8, 8, since=NOW - 600)
    full.task("other", at="n1", **amounts(4, 1))
    assert refusal(full, after="10m") == (GIVEN_UP.code, None)
    full = hopeless(8, 8, since=NOW - 599)
    full.task("other", at="n1", **amounts(4, 1))
    code, again = refusal(full, after="10m")
    assert code != GIVEN_UP.code
    assert again == NOW + 1


def test_nodes_that_may_come_back_count() -> None:
    for facts in (
        {"ready": False},
        {"unschedulable": True},
        {"taints": [Taint("node.kubernetes.io/disk-pressure", "NoSchedule", "")]},
    ):
        world = hopeless(1, 64)
        world.node("large", **amounts(64, 64), **facts)
        assert refusal(world)[0] != GIVEN_UP.code, facts
    world = hopeless(1, 64)
    world.node("other's", **amounts(64, 64), taints=[Taint("team", "NoSchedule", "other")])
    assert refusal(world)[0] == GIVEN_UP.code


def test_nobody_is_given_up_while_no_node_is_ready() -> None:
    world = World()
    world.node("n1", **amounts(8, 16), ready=False)
    gang = world.gang("j", minimum=1)
    world.task("j-0", gang=gang, **amounts(64, 1))
    assert refusal(world)[0] != GIVEN_UP.code


def test_a_job_that_has_enough_is_not_given_up() -> None:
    world = hopeless(1, 1, 64)
    world.task("j-running", gang="ns/j", at="n1", **amounts(1, 1))
    world.run(profile(["gang", "giveup"], ["predicates"]))
    codes = {each.refusal.code for each in world.decisions if isinstance(each, Refuse)}
    assert GIVEN_UP.code not in codes
    assert world.cluster.tasks["ns/j-running"].state is State.RUNNING
