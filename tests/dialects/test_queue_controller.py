"""The queue controller: a table of orders and states, over a cache."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from podium.dialects.volcano.names import CLOSED_BY_PARENT, COMMANDS, PODGROUPS, QUEUES
from podium.dialects.volcano.queue_controller import QueueController
from podium.dialects.volcano.types import (
    Command,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    Queue,
    QueueSpec,
    QueueStatus,
)
from podium.kube.cache import Cache
from podium.kube.changes import Create, Delete, Patch
from podium.kube.controller import Outcome
from podium.kube.resources import Resource
from podium.kube.wire import Metadata, Object, OwnerReference

_versions = itertools.count(1)


def metadata(name: str, namespace: str = "", **more: Any) -> Metadata:
    return Metadata(name, namespace, f"uid-{name}", str(next(_versions)), **more)


class Story:
    """A few objects, and what the controller makes of one queue."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.controller = QueueController()
        self.queue("root", state="Open")

    def queue(self, name: str, state: str = "", parent: str = "root", by_parent: bool = False) -> None:
        marks = {CLOSED_BY_PARENT: "true"} if by_parent else None
        spec = QueueSpec(parent="" if name == "root" else parent)
        self.cache.apply(QUEUES, Queue(metadata(name, annotations=marks), spec=spec, status=QueueStatus(state)))

    def group(self, name: str, queue: str, phase: str = "") -> None:
        group = PodGroup(
            metadata(name, "team"), spec=PodGroupSpec(1, queue=queue), status=PodGroupStatus(phase=phase)
        )
        self.cache.apply(PODGROUPS, group)

    def command(self, action: str, queue: str, created: str = "2027-01-15T08:00:00Z") -> None:
        target = OwnerReference("Queue", queue, f"uid-{queue}", "scheduling.volcano.sh/v1beta1")
        name = f"{queue}-{action.lower()}-{next(_versions)}"
        self.cache.apply(
            COMMANDS, Command(metadata(name, "default", creation_timestamp=created), action=action, target=target)
        )

    def look(self, name: str) -> Outcome:
        return self.controller.reconcile(("", name), self.cache, 0.0)

    def status(self, name: str) -> dict[str, Any]:
        for change in self.look(name).changes:
            if isinstance(change, Patch) and change.subresource == "status":
                reported: dict[str, Any] = change.patch["status"]
                return reported
        return {}

    def mark(self, name: str) -> object:
        """What is written about the parent's part in it; a dot if nothing is."""
        for change in self.look(name).changes:
            if isinstance(change, Patch) and "annotations" in change.patch.get("metadata", {}):
                return change.patch["metadata"]["annotations"][CLOSED_BY_PARENT]
        return "."


@pytest.mark.parametrize(
    ("state", "orders", "groups", "wanted"),
    [
        ("", [], 0, "Open"),
        ("Open", [], 1, "Open"),
        ("Open", ["CloseQueue"], 0, "Closed"),
        ("Open", ["CloseQueue"], 2, "Closing"),
        ("Closing", [], 1, "Closing"),
        ("Closing", [], 0, "Closed"),
        ("Closed", [], 1, "Closed"),
        ("Closed", ["CloseQueue"], 1, "Closed"),
        ("Closing", ["CloseQueue"], 1, "Closing"),
        ("Closed", ["OpenQueue", "CloseQueue"], 1, "Closing"),
        ("Closed", ["OpenQueue"], 0, "Open"),
        ("Closing", ["OpenQueue"], 1, "Open"),
        ("Open", ["CloseQueue", "OpenQueue"], 0, "Open"),
        ("Unknown", [], 0, "Unknown"),
        ("Unknown", ["OpenQueue"], 0, "Open"),
        ("Open", ["Explode"], 0, "Open"),
    ],
)
def test_states(state: str, orders: list[str], groups: int, wanted: str) -> None:
    story = Story()
    story.queue("q", state)
    for number in range(groups):
        story.group(f"g{number}", "q")
    for number, order in enumerate(orders):
        story.command(order, "q", f"2027-01-15T08:00:0{number}Z")
    assert story.status("q").get("state", state) == wanted


def test_an_order_is_deleted_before_it_is_obeyed() -> None:
    story = Story()
    story.queue("q", "Open")
    story.command("CloseQueue", "q")
    first, second = story.look("q").changes
    assert isinstance(first, Delete)
    assert first.resource == COMMANDS
    assert isinstance(second, Patch)


def test_what_was_ordered_and_done_is_told() -> None:
    story = Story()
    story.queue("q", "Open")
    story.command("OpenQueue", "q", "2027-01-15T08:00:00Z")
    story.command("CloseQueue", "q", "2027-01-15T08:00:01Z")
    (note,) = story.look("q").notes
    assert (note.reason, note.type) == ("CloseQueue", "Normal")


def test_groups_are_counted_by_phase() -> None:
    story = Story()
    story.queue("q", "Open")
    for number, phase in enumerate(["", "Pending", "Inqueue", "Running", "Running", "Unknown", "Completed"]):
        story.group(f"g{number}", "q", phase)
    story.group("other", "elsewhere", "Running")
    assert story.status("q") == {"pending": 2, "inqueue": 1, "running": 2, "unknown": 1, "completed": 1}


def test_nothing_new_is_not_written() -> None:
    story = Story()
    story.queue("q", "Open")
    assert story.look("q").changes == ()


def test_the_parent_is_filled_in() -> None:
    story = Story()
    story.queue("q", "Open", parent="")
    (change,) = story.look("q").changes
    assert isinstance(change, Patch)
    assert change.patch == {"spec": {"parent": "root"}}
    assert story.look("root").changes == ()


def test_what_is_closed_closes_what_is_below() -> None:
    story = Story()
    story.queue("team", "Closed")
    story.queue("child", "Open", parent="team")
    story.queue("shut", "Closed", parent="team")
    assert (story.status("child")["state"], story.mark("child")) == ("Closed", "true")
    assert (story.status("shut"), story.mark("shut")) == ({}, ".")


def test_and_opens_those_alone_that_it_had_closed() -> None:
    story = Story()
    story.queue("team", "Open")
    story.queue("child", "Closed", parent="team", by_parent=True)
    story.queue("shut", "Closed", parent="team")
    assert (story.status("child")["state"], story.mark("child")) == ("Open", None)
    assert (story.status("shut"), story.mark("shut")) == ({}, ".")


def test_nothing_is_opened_below_what_is_closed() -> None:
    story = Story()
    story.queue("team", "Closing")
    story.queue("child", "Closed", parent="team", by_parent=True)
    story.command("OpenQueue", "child")
    assert story.status("child") == {}
    (note,) = story.look("child").notes
    assert "the queue above it, team, is closed" in note.message


def test_the_root_stays_open() -> None:
    story = Story()
    story.command("CloseQueue", "root")
    assert story.status("root") == {}
    assert "cannot be closed" in story.look("root").notes[0].message


def test_queues_that_must_be_there_come_back() -> None:
    story = Story()
    (change,) = story.look("default").changes
    assert isinstance(change, Create)
    assert change.document["metadata"]["name"] == "default"
    assert story.look("mine").changes == ()


def test_a_queue_costs_the_same_among_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what becomes of it nor whom its change concerns is looked for among all queues and groups."""

    def searched(cache: Cache, resource: Resource) -> list[Object]:
        raise AssertionError(f"all {resource.plural} are looked at")

    monkeypatch.setattr(Cache, "all", searched)
    story = Story()
    for number in range(30):
        story.queue(f"q{number}", state="Open", parent="q0" if number % 3 else "root")
        story.group(f"g{number}", f"q{number % 5}", "Running")
    story.command("CloseQueue", "q4")
    outcome = story.look("q4")
    assert [type(each) for each in outcome.changes] == [Delete, Patch]
    assert outcome.changes[1].patch["status"] == {"state": "Closing", "running": 6}  # type: ignore[union-attr]
    parent = story.cache.find(QUEUES, Queue, ("", "q0"))
    assert parent is not None
    concerned = list(story.controller.watches[QUEUES](parent, story.cache))
    assert concerned == [("", "q0"), *(("", f"q{number}") for number in range(30) if number % 3)]


def test_a_queue_without_groups_is_looked_at_at_once_and_a_busy_one_now_and_then() -> None:
    story = Story()
    story.queue("q", state="Open")
    assert story.look("q").rest == 0.0
    story.group("g", "q", "Running")
    assert story.look("q").rest > 0.0
