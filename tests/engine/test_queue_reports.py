"""What is on the nodes of a queue, counted again only where something has changed."""

from __future__ import annotations

from podium.engine.queue_reports import QueueReports
from tests.core.world import World, profile


def build() -> World:
    world = World()
    for name in ("mine", "theirs"):
        world.queue(name, lends=True, borrows=True)
    world.node("a", cpu=8000, queue="mine")
    world.node("b", cpu=4000, queue="mine")
    world.node("c", cpu=2000, queue="theirs")
    return world


def test_what_is_held_shared_borrowed_and_waited_for() -> None:
    world = build()
    world.task("own", at="a", queue="mine", cpu=1000)
    world.task("guest", at="a", queue="theirs", cpu=2000)
    world.task("out", at="c", queue="mine", cpu=500)
    world.task("waits", queue="mine", cpu=3000)
    report = QueueReports(world.cluster).all()["mine"]
    assert (report.nodes, report.pods) == (("a", "b"), 2)
    amounts = (report.allocatable, report.used, report.held, report.shared, report.borrowed, report.pending)
    assert [each.get("cpu", 0) for each in amounts] == [12_000, 3000, 1500, 2000, 500, 3000]


def test_it_follows_what_comes_and_goes() -> None:
    world = build()
    reports = QueueReports(world.cluster)
    seen = []
    for step in range(4):
        if step == 1:
            world.task("one", at="a", queue="mine")
        elif step == 2:
            world.task("two", at="a", queue="theirs")
        elif step == 3:
            world.cluster.remove_task("ns/one")
        report = reports.all()["mine"]
        seen.append((report.pods, report.used.get("cpu", 0), report.shared.get("cpu", 0)))
    assert seen == [(0, 0, 0), (1, 1000, 0), (2, 2000, 1000), (1, 1000, 1000)]


def test_pods_of_profiles_that_do_not_mind_owners_are_the_system_s() -> None:
    world = build()
    reports = QueueReports(world.cluster)
    reports.serve({"minding": profile(["nodeowner"]), "other": profile(["predicates"])})
    for name in ("minding", "other"):
        gang = world.gang(name, queue="mine", profile=name)
        world.task(f"{name}-0", at="a", gang=gang, cpu=1000)
    assert reports.all()["mine"].system.get("cpu", 0) == 1000
