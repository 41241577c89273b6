"""Filters: which nodes take a task, in tables; and pod affinity and spread against a plain model of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.core.model.constraints import (
    Attachment,
    Claim,
    Constraints,
    NodeTerm,
    PodSelection,
    PodTerm,
    Port,
    Requirement,
    Spread,
    Toleration,
    VolumeOption,
)
from podium.core.model.labels import Taint
from podium.core.model.model import State, Task
from podium.core.placement import affinity, spread
from podium.core.plugins.predicates import eligible
from tests.core.world import HOST, ZONE, World, named, near, profile

FILTERS = profile(["predicates"])


def filters(**arguments: Any) -> Any:
    reported = {f"predicate.{name}Enable": value for name, value in arguments.items()}
    return profile([{"name": "predicates", "arguments": reported}])


def possible(world: World, task: Task, by: Any = FILTERS) -> set[str]:
    """The nodes that a task could go to now."""
    session = world.session(by)
    candidates, nodes = session.candidates(task), world.cluster.nodes
    return {name for name, row in nodes.rows.items() if candidates.fits(task, row)}


def any_of(*terms: NodeTerm) -> Constraints:
    return Constraints(required=terms)


def labels(*conditions: tuple[str, ...]) -> NodeTerm:
    return NodeTerm(labels=tuple(Requirement(each[0], each[1], each[2:]) for each in conditions))


def names(operator: str, *values: str) -> NodeTerm:
    return NodeTerm(names=(Requirement("metadata.name", operator, values),))


# --- properties of nodes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Constraints(), "abc"),
        (Constraints(selector=(("disk", "ssd"),)), "a"),
        (Constraints(selector=(("disk", "tape"),)), ""),
        (Constraints(selector=(("no-such", "label"),)), ""),
        (Constraints(selector=(("disk", "ssd"), ("size", "8"))), ""),
        (any_of(labels(("disk", "In", "ssd", "hdd"))), "ab"),
        (any_of(labels(("disk", "NotIn", "ssd"))), "bc"),
        (any_of(labels(("disk", "Exists"))), "ab"),
        (any_of(labels(("disk", "DoesNotExist"))), "c"),
        (any_of(labels(("size", "Gt", "4"))), "b"),
        (any_of(labels(("size", "Lt", "8"))), "a"),
        (any_of(labels(("size", "Gt", "word"))), ""),
        (any_of(labels(("disk", "Gt", "1"))), ""),
        (any_of(labels(("disk", "Like", "s"))), ""),
        (any_of(labels(("disk", "In", "ssd")), labels(("size", "In", "8"))), "ab"),
        (any_of(labels(("disk", "In", "ssd"), ("size", "In", "8"))), ""),
        (any_of(names("In", "a", "c")), "ac"),
        (any_of(names("NotIn", "a")), "bc"),
        (any_of(NodeTerm(labels(("size", "Exists")).labels, names("In", "b", "c").names)), "b"),
        (any_of(NodeTerm()), ""),
        (Constraints(required=()), ""),
        (Constraints(selector=(("disk", "ssd"),), required=(names("In", "b"),)), ""),
    ],
)
@pytest.mark.argument("predicates", "predicate.NodeAffinityEnable")
def test_node_selector_and_affinity(wanted: Constraints, expected: str) -> None:
    world = World()
    world.node("a", {"disk": "ssd", "size": "4"})
    world.node("b", {"disk": "hdd", "size": "8"})
    world.node("c")
    task = world.task("t", wanted)
    assert possible(world, task) == set(expected)
    assert possible(world, task, filters(NodeAffinity=False)) == set("abc")


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ((), "c"),
        ((Toleration("gpu", "Equal", "yes", "NoSchedule"),), "ac"),
        ((Toleration("gpu", "Equal", "no", "NoSchedule"),), "c"),
        ((Toleration("gpu", "Exists"),), "ac"),
        ((Toleration("gpu", "Exists", effect="NoExecute"),), "c"),
        ((Toleration("", "Exists"),), "abc"),
        ((Toleration("gpu", "Exists"), Toleration("old", "Exists", effect="NoExecute")), "abc"),
    ],
)
@pytest.mark.argument("predicates", "predicate.TaintTolerationEnable")
def test_taints(tolerations: tuple[Toleration, ...], expected: str) -> None:
    world = World()
    world.node("a", taints=[Taint("gpu", "NoSchedule", "yes")])
    world.node("b", taints=[Taint("gpu", "NoSchedule", "yes"), Taint("old", "NoExecute")])
    world.node("c", taints=[Taint("slow", "PreferNoSchedule")])
    task = world.task("t", Constraints(tolerations=tolerations))
    assert possible(world, task) == set(expected)
    assert possible(world, task, filters(TaintToleration=False)) == set("abc")


def test_a_cordoned_node_takes_only_who_tolerates_it() -> None:
    world = World()
    world.node("a", unschedulable=True)
    world.node("b")
    assert possible(world, world.task("t")) == {"b"}
    assert possible(world, world.task("u", Constraints(cordoned=True))) == {"a", "b"}


def test_new_labels_and_taints_count_at_once_and_old_ones_no_more() -> None:
    world = World()
    world.node("a", {"disk": "ssd"})
    task = world.task("t", Constraints(selector=(("disk", "ssd"),)))
    assert possible(world, task) == {"a"}
    world.node("a", {"disk": "hdd"})
    assert possible(world, task) == set()
    world.node("a", {"disk": "ssd"}, taints=[Taint("x", "NoSchedule")])
    assert possible(world, task) == set()
    world.node("a", {"disk": "ssd"})
    assert possible(world, task) == {"a"}
    world.cluster.remove_node("a")
    world.node("b", {"disk": "hdd"})  # takes the row that the other one has left
    assert possible(world, task) == set()


@pytest.mark.parametrize(
    ("held", "wanted", "conflict"),
    [
        (Port(80), Port(80), True),
        (Port(80), Port(81), False),
        (Port(80), Port(80, "UDP"), False),
        (Port(80, address="10.0.0.1"), Port(80, address="10.0.0.2"), False),
        (Port(80, address="10.0.0.1"), Port(80, address="10.0.0.1"), True),
        (Port(80, address="10.0.0.1"), Port(80), True),
    ],
)
@pytest.mark.argument("predicates", "predicate.NodePortsEnable")
def test_host_ports(held: Port, wanted: Port, conflict: bool) -> None:
    world = World()
    world.node("a")
    world.node("b")
    world.task("there", Constraints(ports=(held,)), at="a")
    task = world.task("t", Constraints(ports=(wanted,)))
    assert possible(world, task) == ({"b"} if conflict else {"a", "b"})
    assert possible(world, task, filters(NodePorts=False)) == {"a", "b"}


def test_a_gang_with_a_host_port_has_one_task_a_node() -> None:
    world = World()
    for name in "abc":
        world.node(name)
    gang = world.gang("g", minimum=3)
    for index in range(4):
        world.task(f"g-{index}", Constraints(ports=(Port(80),)), gang=gang)
    world.run(profile(["gang", "predicates"]))
    assert sorted(world.placed.values()) == ["a", "b", "c"]
    assert "host port 80" in world.refusal("g")


def test_the_number_of_pods_of_a_node_is_limited() -> None:
    world = World()
    world.node("a", pods=1)
    world.node("b", pods=2)
    world.task("there", at="a", cpu=0, memory=0)
    assert possible(world, world.task("t", cpu=0, memory=0)) == {"b"}


# --- volumes ---------------------------------------------------------------------------------------------------


def claim(*zones: str | None) -> Claim:
    return Claim(
        tuple(VolumeOption((labels((ZONE, "In", zone)),)) if zone else VolumeOption(None) for zone in zones)
    )


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ((claim("one"),), "a"),
        ((claim("one", "two"),), "ab"),
        ((claim("one"), claim("two")), ""),
        ((claim("one", None),), "abc"),
        ((claim(),), ""),
    ],
)
@pytest.mark.argument("predicates", "predicate.VolumeBindingEnable")
def test_volumes_within_reach(claims: tuple[Claim, ...], expected: str) -> None:
    world = World()
    world.node("a", {ZONE: "one"})
    world.node("b", {ZONE: "two"})
    world.node("c")
    task = world.task("t", Constraints(claims=claims))
    assert possible(world, task) == set(expected)
    assert possible(world, task, filters(VolumeBinding=False)) == set("abc")


@pytest.mark.argument("predicates", "predicate.VolumeZoneEnable")
def test_zones_of_volumes_bind_nodes_that_tell_theirs() -> None:
    world = World()
    world.node("a", {ZONE: "one"})
    world.node("b", {ZONE: "two"})
    world.node("c")
    task = world.task("t", Constraints(zones=(Requirement(ZONE, "In", ("one",)),), zone_labels=(ZONE,)))
    assert possible(world, task) == {"a", "c"}
    assert possible(world, task, filters(VolumeZone=False)) == set("abc")


@pytest.mark.argument("predicates", "predicate.NodeVolumeLimitsEnable")
def test_limits_of_a_volume_driver() -> None:
    world = World()
    world.node("a", volume_limits={"disk": 2})
    world.node("b", volume_limits={"disk": 1})
    world.node("c")
    own, shared = Attachment("disk"), Attachment("disk", "data")
    world.task("there", Constraints(attachments=(own,)), at="a")
    world.task("user", Constraints(attachments=(shared,)), at="b")
    two = world.task("two", Constraints(attachments=(own, own)))
    assert possible(world, two) == {"c"}
    assert possible(world, two, filters(NodeVolumeLimits=False)) == set("abc")
    assert possible(world, world.task("one", Constraints(attachments=(own,)))) == {"a", "c"}
    # A volume that is attached already needs no further place.
    assert possible(world, world.task("again", Constraints(attachments=(shared,)))) == set("abc")
    # Where it is not it needs one, like any other.
    assert possible(world, world.task("both", Constraints(attachments=(shared, own)))) == {"c"}
    world.task("full", Constraints(attachments=(own,)), at="a")
    assert possible(world, world.task("late", Constraints(attachments=(shared,)))) == {"b", "c"}


def test_a_gang_does_not_attach_more_than_the_limit() -> None:
    world = World()
    world.node("a", volume_limits={"disk": 2})
    world.node("b", volume_limits={"disk": 1})
    gang = world.gang("g", minimum=3)
    for index in range(4):
        world.task(f"g-{index}", Constraints(attachments=(Attachment("disk"),)), gang=gang)
    world.run(profile(["gang", "predicates", "binpack"]))
    assert sorted(world.placed.values()) == ["a", "a", "b"]
    assert "as many volumes" in world.refusal("g")


@pytest.mark.parametrize(
    ("wanted", "reported", "by"),
    [
        (Constraints(device_claims=("gpu",)), "claims on devices are not supported: gpu", FILTERS),
        (Constraints(unbound=("data",)), "volume claims cannot be used: data", FILTERS),
    ],
)
def test_what_no_node_can_help_with_is_refused_at_once(wanted: Constraints, reported: str, by: Any) -> None:
    world = World()
    world.node("a")
    world.task("t", wanted)
    assert reported in world.run(by).refusal("t")
    assert world.placed == {}


def test_unbound_claims_are_nobodys_matter_without_volume_binding() -> None:
    world = World()
    world.node("a")
    world.task("t", Constraints(unbound=("data",)))
    assert world.run(filters(VolumeBinding=False)).placed == {"t": "a"}


@pytest.mark.argument("predicates", "volumebinding.weight")
def test_the_weight_of_volumes_that_fit_closely() -> None:
    def run(weight: float) -> dict[str, str]:
        world = World()
        world.node("a", {ZONE: "one"})
        world.node("b", {ZONE: "two"}, cpu=5000)
        options = (
            VolumeOption((labels((ZONE, "In", "one")),), 0.1),
            VolumeOption((labels((ZONE, "In", "two")),), 0.9),
        )
        world.task("t", Constraints(claims=(Claim(options),)))
        arguments = {"volumebinding.weight": weight}
        return world.run(profile([{"name": "predicates", "arguments": arguments}, "nodeorder"])).placed

    assert run(1) == {"t": "b"}
    assert run(0) == {"t": "a"}


# --- pod affinity ----------------------------------------------------------------------------------------------


def zones() -> World:
    world = World()
    world.node("a1", {ZONE: "a"})
    world.node("a2", {ZONE: "a"})
    world.node("b1", {ZONE: "b"})
    world.node("x")
    return world


@pytest.mark.argument("predicates", "predicate.PodAffinityEnable")
def test_affinity_keeps_to_the_domain_of_its_company() -> None:
    world = zones()
    world.task("there", at="a1", labels={"app": "db"})
    task = world.task("t", Constraints(affinity=(near(ZONE, app="db"),)))
    assert possible(world, task) == {"a1", "a2"}
    assert possible(world, task, filters(PodAffinity=False)) == {"a1", "a2", "b1", "x"}


def test_company_must_match_every_term() -> None:
    world = zones()
    both = Constraints(affinity=(near(ZONE, app="db"), near(HOST, tier="hot")))
    task = world.task("t", both)
    world.task("one", at="a1", labels={"app": "db"})
    world.task("other", at="a2", labels={"tier": "hot"})
    assert possible(world, task) == set()
    world.task("both", at="a2", labels={"app": "db", "tier": "hot"})
    assert possible(world, task) == {"a2"}


def test_the_first_of_its_kind_may_go_anywhere_with_the_label() -> None:
    world = zones()
    wanted = Constraints(affinity=(near(ZONE, app="new"),))
    assert possible(world, world.task("t", wanted, labels={"app": "new"})) == {"a1", "a2", "b1"}
    assert possible(world, world.task("u", wanted, labels={"app": "old"})) == set()


def test_a_gang_with_affinity_to_itself_stays_in_the_zone_of_its_first() -> None:
    world = zones()
    gang = world.gang("g", minimum=3)
    for index in range(3):
        world.task(
            f"g-{index}", Constraints(affinity=(near(ZONE, app="g"),)), gang=gang, cpu=4000, labels={"app": "g"}
        )
    world.run(profile(["gang", "predicates", "nodeorder"]))
    assert len(world.placed) == 3
    assert set(world.placed.values()) == {"a1", "a2"}


def test_anti_affinity_keeps_apart_and_holds_both_ways() -> None:
    world = zones()
    world.task("loner", Constraints(anti_affinity=(near(ZONE, app="db"),)), at="a1", labels={"app": "web"})
    # The one that is there does not want databases near it, whatever they say themselves.
    assert possible(world, world.task("db", labels={"app": "db"})) == {"b1", "x"}
    assert possible(world, world.task("other", labels={"app": "cache"})) == {"a1", "a2", "b1", "x"}
    shy = world.task("shy", Constraints(anti_affinity=(near(HOST, app="web"),)), labels={"app": "shy"})
    assert possible(world, shy) == {"a2", "b1", "x"}
    assert possible(world, shy, filters(PodAffinity=False)) == {"a1", "a2", "b1", "x"}


def test_anti_affinity_within_a_gang_spreads_it() -> None:
    world = zones()
    gang = world.gang("g", minimum=4)
    for index in range(5):
        world.task(f"g-{index}", Constraints(anti_affinity=(near(HOST, app="g"),)), gang=gang, labels={"app": "g"})
    world.run(profile(["gang", "predicates", "nodeorder"]))
    assert sorted(world.placed.values()) == ["a1", "a2", "b1", "x"]
    assert "anti-affinity" in world.refusal("g")


def test_those_that_are_leaving_still_count_until_they_have_left() -> None:
    world = zones()
    world.task("leaver", at="b1", labels={"app": "db"}, state=State.RELEASING)
    task = world.task("t", Constraints(anti_affinity=(near(ZONE, app="db"),)))
    session = world.session(FILTERS)
    row = world.cluster.nodes.rows["b1"]
    assert not session.candidates(task).fits(task, row)
    assert session.candidates(task).fits(task, row, future=True)


def test_namespaces_are_chosen_by_name_or_label() -> None:
    world = zones()
    world.task("there", at="a1", labels={"app": "db"})
    elsewhere = PodSelection(("other",), named(app="db").labels)
    by_label = PodSelection((), named(app="db").labels, (Requirement("team", "In", ("red",)),))
    task = world.task("t", Constraints(affinity=(PodTerm(ZONE, elsewhere),)))
    other = world.task("u", Constraints(affinity=(PodTerm(ZONE, by_label),)))
    assert possible(world, task) == set()
    assert possible(world, other) == set()
    world.cluster.put_namespace("ns", {"team": "red"})
    assert possible(world, other) == {"a1", "a2"}
    world.cluster.put_namespace("ns", {"team": "blue"})
    assert possible(world, other) == set()


def test_a_term_without_a_selector_selects_nothing() -> None:
    world = zones()
    world.task("there", at="a1", labels={"app": "db"})
    nothing, everything = PodSelection(("ns",), None), PodSelection(("ns",), ())
    assert possible(world, world.task("t", Constraints(affinity=(PodTerm(ZONE, nothing),)))) == set()
    assert possible(world, world.task("u", Constraints(anti_affinity=(PodTerm(ZONE, everything),)))) == {"b1", "x"}


def test_labels_do_not_split_a_class_and_only_looked_at_ones_slow_it_down() -> None:
    world = zones()
    numbered = [world.task(f"t-{index}", labels={"index": str(index)}) for index in range(3)]
    assert len({task.cls for task in numbered}) == 1
    session = world.session(FILTERS)
    assert session.same_signature(numbered[0], numbered[1])
    assert session.candidates(numbered[0]).path == ("batch", [])
    world.task("loner", Constraints(anti_affinity=(near(ZONE, index="1"),)), at="a1")
    session = world.session(FILTERS)
    assert not session.same_signature(numbered[0], numbered[1])
    assert session.same_signature(numbered[0], numbered[2])
    assert session.candidates(numbered[0]).path == ("batch", [])
    assert session.candidates(numbered[1]).path == ("one by one", ["predicates.batch_predicate"])


def test_a_task_whose_labels_change_counts_anew() -> None:
    world = zones()
    world.task("there", at="a1", labels={"app": "web"}, gang=world.gang("there"))
    task = world.task("t", Constraints(affinity=(near(ZONE, app="db"),)))
    assert possible(world, task) == set()
    world.task("there", at="a1", labels={"app": "db"}, gang="ns/there")
    assert possible(world, task) == {"a1", "a2"}
    world.cluster.remove_task("ns/there")
    assert possible(world, task) == set()
    world.cluster.validate()


# --- topology spread -------------------------------------------------------------------------------------------


def spread_world(*counts: int) -> World:
    """Zones a, b, c ... with one node and so many tasks of app s each, and a node without a zone."""
    world = World()
    for zone, count in zip("abcdef", counts, strict=False):
        world.node(zone, {ZONE: zone})
        for index in range(count):
            world.task(f"{zone}-{index}", at=zone, labels={"app": "s"})
    world.node("x")
    return world


@pytest.mark.parametrize(
    ("counts", "how", "expected"),
    [
        ((1, 1, 1), {}, "abc"),
        ((2, 1, 1), {}, "bc"),
        ((2, 1, 1), {"max_skew": 2}, "abc"),
        ((3, 1, 1), {"max_skew": 2}, "bc"),
        ((1, 1), {"min_domains": 3}, ""),
        ((1, 0), {"min_domains": 3}, "b"),
        ((1, 0), {"min_domains": 2}, "b"),
        ((1, 1), {"min_domains": 2}, "ab"),
    ],
)
@pytest.mark.argument("predicates", "predicate.PodTopologySpreadEnable")
def test_hard_spread(counts: tuple[int, ...], how: dict[str, Any], expected: str) -> None:
    world = spread_world(*counts)
    task = world.task("t", Constraints(spread=(Spread(ZONE, named(app="s"), **how),)), labels={"app": "s"})
    assert possible(world, task) == set(expected)
    assert possible(world, task, filters(PodTopologySpread=False)) == {*"abcdef"[: len(counts)], "x"}


def test_a_task_that_does_not_count_itself_may_fill_up_to_the_limit() -> None:
    world = spread_world(1, 0)
    constraint = Spread(ZONE, named(app="s"))
    assert possible(world, world.task("t", Constraints(spread=(constraint,)))) == {"a", "b"}
    assert possible(world, world.task("u", Constraints(spread=(constraint,)), labels={"app": "s"})) == {"b"}


def test_tasks_that_are_leaving_do_not_count_for_spread() -> None:
    world = spread_world(1, 0)
    world.task("leaver", at="b", labels={"app": "s"}, state=State.RELEASING)
    task = world.task("t", Constraints(spread=(Spread(ZONE, named(app="s")),)), labels={"app": "s"})
    assert possible(world, task) == {"b"}


@pytest.mark.parametrize(("honor", "expected"), [(True, {"a", "b"}), (False, set())])
def test_node_affinity_policy(honor: bool, expected: set[str]) -> None:
    """An empty zone that the task cannot use anyway counts only when affinity is ignored."""
    world = spread_world(1, 1, 0)
    wanted = Constraints(
        required=(labels((ZONE, "In", "a", "b")),),
        spread=(Spread(ZONE, named(app="s"), honor_affinity=honor),),
    )
    assert possible(world, world.task("t", wanted, labels={"app": "s"})) == expected


@pytest.mark.parametrize(("honor", "expected"), [(True, {"a"}), (False, set())])
def test_node_taints_policy(honor: bool, expected: set[str]) -> None:
    world = spread_world(1)
    world.node("b", {ZONE: "b"}, taints=[Taint("t", "NoSchedule")])
    wanted = Constraints(spread=(Spread(ZONE, named(app="s"), honor_taints=honor),))
    assert possible(world, world.task("t", wanted, labels={"app": "s"})) == expected


def test_a_gang_spreads_itself_evenly() -> None:
    world = spread_world(2, 0, 0)
    gang = world.gang("g", minimum=7)
    for index in range(7):
        wanted = Constraints(spread=(Spread(ZONE, named(app="s")),))
        world.task(f"g-{index}", wanted, gang=gang, labels={"app": "s"})
    world.run(profile(["gang", "predicates", "nodeorder"]))
    found = list(world.placed.values())
    assert {zone: found.count(zone) for zone in "abc"} == {"a": 1, "b": 3, "c": 3}


# --- why nothing was found -------------------------------------------------------------------------------------


def test_a_refusal_counts_the_nodes_of_each_filter() -> None:
    world = World()
    world.node("a", taints=[Taint("gpu", "NoSchedule", "yes")])
    world.node("b", unschedulable=True)
    world.node("c", {"disk": "hdd"})
    world.node("d", {"disk": "ssd"}, cpu=500)
    world.node("e", {"disk": "ssd"}, taints=[Taint("gpu", "NoSchedule", "yes")])
    world.task("t", Constraints(selector=(("disk", "ssd"),)))
    reported = world.run(FILTERS).refusal("t")
    assert "0/5 nodes are available" in reported
    for part in (
        "1 Insufficient cpu",
        "1 node(s) were unschedulable",
        "2 node(s) didn't match the node selector or affinity",
        "1 node(s) had untolerated taint {gpu: yes}",
    ):
        assert part in reported


# --- vectors against a plain model ------------------------------------------------------------------------------

_keys = st.sampled_from(["zone", "rack"])
_selections = st.builds(
    lambda key, operator, values: PodSelection(("ns",), (Requirement(key, operator, values),)),
    st.sampled_from(["app", "tier"]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.sampled_from([("x",), ("y",), ("x", "y")]),
)
_terms = st.lists(st.builds(PodTerm, _keys, _selections), max_size=2).map(tuple)
_spreads = st.lists(
    st.builds(Spread, _keys, _selections, st.integers(1, 2), st.just(True), st.integers(1, 3)), max_size=2
).map(tuple)
_labels = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"]))
_nodes = st.lists(st.dictionaries(_keys, st.sampled_from(["1", "2", "3"])), min_size=1, max_size=6)


def _selects(selection: PodSelection, given: dict[str, str]) -> bool:
    assert selection.labels is not None
    (each,) = selection.labels
    value = given.get(each.key)
    return {
        "In": value in each.values,
        "NotIn": value not in each.values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[each.operator]


@settings(max_examples=200, deadline=None)
@given(_nodes, st.data())
def test_affinity_and_spread_equal_a_plain_model(nodes: list[dict[str, str]], data: st.DataObject) -> None:
    world = World()
    for index, given_labels in enumerate(nodes):
        world.node(f"n{index}", given_labels)
    running = data.draw(st.lists(st.tuples(st.integers(0, len(nodes) - 1), _labels, _terms), max_size=6))
    for index, (node, own, shuns) in enumerate(running):
        world.task(f"r{index}", Constraints(anti_affinity=shuns), at=f"n{node}", labels=own)
    own = data.draw(_labels)
    wanted = Constraints(affinity=data.draw(_terms), anti_affinity=data.draw(_terms), spread=data.draw(_spreads))
    task = world.task("t", wanted, labels=own)
    expected = {f"n{index}" for index in range(len(nodes)) if _allows(nodes, running, wanted, own, nodes[index])}
    assert possible(world, task) == expected


def _allows(
    nodes: list[dict[str, str]],
    running: list[tuple[int, dict[str, str], tuple[PodTerm, ...]]],
    wanted: Constraints,
    own: dict[str, str],
    here: dict[str, str],
) -> bool:
    def together(node: int, key: str) -> bool:
        return key in here and nodes[node].get(key) == here[key]

    for node, other, shuns in running:
        if any(_selects(term.selection, own) and together(node, term.key) for term in shuns):
            return False
        if any(_selects(term.selection, other) and together(node, term.key) for term in wanted.anti_affinity):
            return False
    if wanted.affinity:
        if any(term.key not in here for term in wanted.affinity):
            return False
        company = [
            node for node, other, _ in running if all(_selects(term.selection, other) for term in wanted.affinity)
        ]
        counted = any(term.key in nodes[node] for node in company for term in wanted.affinity)
        first = not counted and all(_selects(term.selection, own) for term in wanted.affinity)
        if not first and not all(any(together(node, term.key) for node in company) for term in wanted.affinity):
            return False
    counting = [node for node in nodes if all(each.key in node for each in wanted.spread)]
    for each in wanted.spread:
        if each.key not in here:
            return False
        domains = {
            value: sum(
                1
                for node, other, _ in running
                if nodes[node] in counting
                and nodes[node].get(each.key) == value
                and _selects(each.selection, other)
            )
            for value in {node[each.key] for node in counting}
        }
        least = min(domains.values()) if len(domains) >= each.min_domains and domains else 0
        mine = domains.get(here[each.key], 0) + _selects(each.selection, own)
        if mine - least > each.max_skew:
            return False
    return True


def test_the_pieces_agree_on_what_counts() -> None:
    """Who is refused by no part of affinity and spread is who passes the filter."""
    world = zones()
    world.task("there", at="a1", labels={"app": "db"})
    task = world.task("t", Constraints(affinity=(near(ZONE, app="db"),), spread=(Spread(ZONE, named(app="db")),)))
    world.cluster.settle()
    peers, properties = world.cluster.peers, world.cluster.nodes.properties
    refused = affinity.violates_affinity(peers, properties, task, later=False) | spread.exceeds_max_skew(
        peers, properties, task, lambda each: eligible(properties, task.cls.constraints, each)
    )
    names_of = [world.cluster.nodes.name(int(row)) for row in np.flatnonzero(~refused)]
    assert set(names_of) == possible(world, task)
