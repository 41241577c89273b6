"""Pools at random: edits, labels, arrivals and lost nodes.  Sums hold throughout, and what was lent comes back."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from podium.core.cluster.ownership import Ownership
from podium.core.model import quorum
from podium.core.model.model import HOLDING, State, Task
from podium.kube.resources import NODES, PODS
from tests.dialects.pool_stage import PoolStage
from tests.dialects.test_pool_victims import gang

SOAK = bool(os.environ.get("PODIUM_SOAK"))
NAMES = ("a", "b", "c")
NODE_NAMES = tuple(f"n{number}" for number in range(4))

flags = st.fixed_dictionaries(
    {}, optional={name: st.booleans() for name in ("disablePreemption", "disableBorrowing", "disableSharing")}
)
steps = st.one_of(
    st.tuples(st.just("pod"), st.sampled_from((*NAMES, "gone")), st.integers(1, 4), st.sampled_from((0, 5, 9))),
    st.tuples(st.just("pod"), st.sampled_from(NAMES), st.integers(1, 2), st.just(0)),
    st.tuples(
        st.just("gang"),
        st.sampled_from((*NAMES, None)),
        st.integers(2, 9),
        st.integers(1, 3),
        st.sampled_from((0, 5, 9)),
    ),
    st.tuples(st.just("end"), st.integers(0, 30)),
    st.tuples(st.just("edit"), st.sampled_from(NAMES), flags),
    st.tuples(st.just("delete"), st.sampled_from(NAMES)),
    st.tuples(st.just("create"), st.sampled_from(NAMES), flags),
    st.tuples(st.just("relabel"), st.sampled_from(NODE_NAMES), st.sampled_from((*NAMES, "none"))),
    st.tuples(st.just("lose"), st.sampled_from(NODE_NAMES)),
    st.tuples(st.just("join"), st.sampled_from(NODE_NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("settle")),
)


class History:
    """A stage, and what is known to be there."""

    def __init__(self) -> None:
        self.stage = PoolStage()
        self.pools: set[str] = set()
        self.nodes: set[str] = set()
        self.count = 0
        for name, pool in zip(NODE_NAMES, ("a", "a", "b", "c"), strict=True):
            self.join(name, pool)
        for name in NAMES:
            self.create(name, {})

    def play(self, step: tuple[Any, ...]) -> None:
        getattr(self, step[0])(*step[1:])

    def pod(self, pool: str, cpu: int, priority: int) -> None:
        self.count += 1
        self.stage.task(f"p{self.count}", pool, cpu, priority=priority)

    def gang(self, pool: str | None, size: int, minimum: int, priority: int) -> None:
        self.count += 1
        gang(self.stage, f"g{self.count}", pool, [""] * size, min(size, minimum), priority)

    def end(self, which: int) -> None:
        placed = sorted(self.stage.placed)
        if placed:
            path = PODS.path("default", placed[which % len(placed)])
            self.stage.server.ok("DELETE", path, {"gracePeriodSeconds": 0})

    def edit(self, name: str, spec: dict[str, Any]) -> None:
        if name in self.pools:
            self.stage.edit_pool(name, **spec)

    def delete(self, name: str) -> None:
        if name in self.pools:
            self.pools.discard(name)
            self.stage.delete_pool(name)

    def create(self, name: str, spec: dict[str, Any]) -> None:
        if name not in self.pools:
            self.pools.add(name)
            self.stage.pool(name, **spec)

    def relabel(self, name: str, pool: str) -> None:
        if name in self.nodes:
            self.stage.relabel(name, {"pool": pool})

    def lose(self, name: str) -> None:
        """Its pods go with it, as the server's controllers would have it."""
        if name in self.nodes:
            self.nodes.discard(name)
            for pod, node in self.stage.placed.items():
                if node == name:
                    self.stage.server.ok("DELETE", PODS.path("default", pod), {"gracePeriodSeconds": 0})
            self.stage.server.ok("DELETE", NODES.path("", name))

    def join(self, name: str, pool: str) -> None:
        if name not in self.nodes:
            self.nodes.add(name)
            self.stage.add_node(name, pool, cpu=4)

    def settle(self) -> None:
        for name, node in list(self.stage.placed.items()):
            if node:
                self.stage.run_pod(name)
        self.stage.settle()
        self.stage.bury()

    def check(self) -> None:
        cluster = self.stage.world.cluster
        ownership = Ownership(cluster.queues, cluster.nodes.properties)
        for task in cluster.tasks.values():
            queue = cluster.queues[task.gang.queue]
            # Of a gang that lacks its minimum all must fit at once, which is not looked at here.
            if task.state is not State.PENDING or not queue.preempts or quorum.to_place(task.gang) > 1:
                continue
            for row, home in enumerate(ownership.home(queue.id).tolist()):
                guests = [each for each in cluster.on_row.get(row, {}).values() if ownership.borrows(each)]
                if home and guests:
                    assert not self._would_fit(task, row, guests), f"{task} waits, {guests[0]} borrows its room"

    def _would_fit(self, task: Task, row: int, guests: list[Task]) -> bool:
        nodes = self.stage.world.cluster.nodes
        return all(
            nodes.allocatable[row, column]
            - nodes.used[row, column]
            + sum(each.cls.request.amount(column) for each in guests if each.state in HOLDING)
            >= amount
            for column, amount in task.cls.request.pairs
        )


@settings(
    max_examples=200 if SOAK else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(steps, min_size=5, max_size=40))
@example([*[("pod", "b", 4, 0)] * 5, ("settle",), ("gang", "a", 6, 1, 0)])
def test_what_was_lent_comes_back(history: list[tuple[Any, ...]]) -> None:
    played = History()
    for step in history:
        played.play(step)
        played.stage.world.cluster.validate()
    for _ in range(3):
        played.settle()
    played.stage.settle(40)
    played.check()
